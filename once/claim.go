package once

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base32"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"time"
	"unicode/utf8"

	"ratchet/internal/dynamo"
	"ratchet/once/keys"
)

// Claim is a key that this caller holds, or whose work was done before.
type Claim struct {
	// Outcome is Acquired, TakenOver, Replayed or Untracked. After TakenOver somebody
	// else, or the same request of [Claims.ClaimAs], may have begun the work before; ask
	// the far side what became of it.
	Outcome Outcome
	// Result is what the work gave, when it was Replayed.
	Result []byte

	key, owner string
	fence      int64
	lease      time.Duration
	print      []byte
	keyEnd     time.Time
	claims     *Claims
	state      atomic.Int32
	// end is when the lease ends, by the monotonic clock and from before the claim, or
	// the last extension that was answered, was sent. Nil for a resumed claim.
	end atomic.Pointer[time.Time]
}

// What has become of a claim in this process.
const (
	claimGiven int32 = iota // it was never held: a replay
	claimHeld
	claimEnded
)

// Key is the key that was claimed.
func (c *Claim) Key() string { return c.key }

// Fence is larger than that of every earlier claim of the key, also after the record
// was deleted: whoever guards a write with it refuses a former holder.
func (c *Claim) Fence() int64 { return c.fence }

// attempt is the identity of one call: computed once, before anything is sent.
type attempt struct {
	key, owner, operation string
	payload, print        []byte
	lease                 time.Duration
	keyEnd                time.Time // zero for keys that do not expire
	tookOver              bool      // a write was sent that takes the key from another holder
	named                 bool      // the owner names a request, which may come again
	began                 time.Time // just before the last write was sent, with the monotonic clock
}

func (c *Claims) newAttempt(key string, payload []byte, lease time.Duration) (*attempt, error) {
	end, err := c.endOf(key)
	if err != nil {
		return nil, err
	}
	a := &attempt{key: key, owner: rand.Text(), operation: c.cfg.Operation, payload: payload, lease: lease, keyEnd: end}
	a.print, err = fingerprint(c.cfg.Payload, c.cfg.Operation, payload)

	return a, err
}

// endOf checks a key and returns the end that it carries, zero for none.
func (c *Claims) endOf(key string) (end time.Time, err error) {
	if err = checkKey(key); err == nil && c.cfg.KeysExpire {
		if end, err = keys.Expiry(key); err != nil {
			err = fmt.Errorf("%w: %w", ErrInvalid, err)
		}
	}

	return end, err
}

func checkKey(key string) error {
	if key == "" || len(key) > keys.MaxBytes || !utf8.ValidString(key) {
		return fmt.Errorf("%w: key: 1 to %d bytes of UTF-8, got %d", ErrInvalid, keys.MaxBytes, len(key))
	}

	for _, own := range []string{lockPrefix, chunkPrefix, probePrefix} {
		if strings.HasPrefix(key, own) {
			return fmt.Errorf("%w: key: must not begin with %s", ErrInvalid, own)
		}
	}

	return nil
}

// Claim takes the key, or returns the result of who had completed it. The payload is
// what the work depends on; callers under one key must bring the same. It fails with
// a [Failure] when the work had failed for good, and with ErrInProgress, ErrMismatch,
// ErrUnknownOutcome, ErrKeyExpired or ErrClockSkew when the key cannot be had.
func (c *Claims) Claim(ctx context.Context, key string, payload []byte) (*Claim, error) {
	return c.claim(ctx, key, payload, c.cfg.Lease)
}

// ClaimAs is Claim for a request that may come again, because its answer was lost: while
// the lease lasts, whoever names the same request gets the same claim, as TakenOver,
// for its work may have begun. The name must be one that nobody guesses.
func (c *Claims) ClaimAs(ctx context.Context, request, key string, payload []byte) (*Claim, error) {
	a, err := c.newAttempt(key, payload, c.cfg.Lease)
	if err == nil && request == "" {
		err = fmt.Errorf("%w: request: must not be empty", ErrInvalid)
	}

	if err == nil {
		sum := sha256.Sum256([]byte(request)) // records and tickets do not tell the name
		a.owner, a.named = base32.StdEncoding.EncodeToString(sum[:])[:len(a.owner)], true
	}

	return c.claimBy(ctx, key, a, err)
}

func (c *Claims) claim(ctx context.Context, key string, payload []byte, lease time.Duration) (*Claim, error) {
	a, err := c.newAttempt(key, payload, lease)
	return c.claimBy(ctx, key, a, err)
}

func (c *Claims) claimBy(ctx context.Context, key string, a *attempt, err error) (*Claim, error) {
	if err != nil {
		return nil, c.tell("claim", key, "", err)
	}

	got, err := c.cached(a)
	if got == nil && err == nil {
		got, err = c.acquire(ctx, a)
	}

	if err == nil {
		return got, c.tell("claim", key, got.Outcome, nil)
	}

	return nil, c.tell("claim", key, "", err)
}

// rounds bounds how often one look at a key is followed by another because the key
// changed in between.
const rounds = 4

// acquire claims a key that is thought to be free, and waits when the caller has the
// patience.
func (c *Claims) acquire(ctx context.Context, a *attempt) (*Claim, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}

	got, err := c.look(ctx, a, sight{})
	if c.wait > 0 && errors.Is(err, ErrInProgress) {
		return c.await(ctx, a, err)
	}

	return got, err
}

// sight is a record as it was last seen, nil for none, and how far this clock is
// ahead of the service's, as far as the answer told.
type sight struct {
	record *Record
	ahead  time.Duration
}

// look does what the record calls for and follows what it meets.
func (c *Claims) look(ctx context.Context, a *attempt, s sight) (*Claim, error) {
	for range rounds {
		now := c.cfg.Now()
		if !a.keyEnd.IsZero() && !now.Before(a.keyEnd) {
			return nil, ErrKeyExpired
		}

		verdict := a.decide(s.record, now, c.cfg.Margin, c.cfg.ExpiredIsUnknown)
		var w write
		switch {
		case verdict == claimFree:
			w = c.claimNew(a, now)
		case verdict == takeOver && s.record.Status == StatusReleased:
			w = c.claimSeen(a, now, s.record)
		case (verdict == takeOver || verdict == suspect) && s.ahead > c.cfg.Margin:
			return nil, tooFarAhead(s.ahead, c.cfg.Margin)
		case verdict == takeOver:
			w = c.claimSeen(a, now, s.record)
		case verdict == suspect:
			w = c.doubt(now, s.record)
		default:
			return c.answer(ctx, a, s.record, verdict)
		}

		a.began = time.Now()
		won, next, err := c.apply(ctx, w)
		switch {
		case err != nil && ctx.Err() != nil:
			if !a.named { // else an earlier one of the same name may hold it
				c.undo(ctx, a) // it may have been carried out
			}
			return nil, err
		case err != nil:
			return nil, err
		case won && verdict == suspect:
			return nil, ErrUnknownOutcome
		case won && next.ahead < -c.cfg.Margin:
			c.undo(ctx, a) // others would see the lease end before we do
			return nil, fmt.Errorf("%w: %s behind, at most %s", ErrClockSkew, -next.ahead, c.cfg.Margin)
		case won:
			return c.holding(a, w.fence), nil
		}
		s = next
	}

	return nil, held{c.cfg.Now()} // the key changes hands faster than we look
}

// answer is what a record says that cannot be claimed.
func (c *Claims) answer(ctx context.Context, a *attempt, r *Record, verdict decision) (*Claim, error) {
	switch verdict {
	case ours:
		a.tookOver = a.tookOver || a.named
		return c.holding(a, r.Fence), nil
	case replay:
		result, err := c.resultOf(ctx, r)
		if err != nil {
			return nil, err
		}
		c.remember(a.key, finished{print: r.fingerprint, fence: r.Fence, result: result, until: r.ExpiresAt})

		return &Claim{Outcome: Replayed, Result: result, key: a.key, fence: r.Fence, claims: c}, nil
	case replayFailure:
		failure, err := decodeFailure(r.failure, c.cfg.Failures)
		if err != nil {
			return nil, err
		}
		c.remember(a.key, finished{print: r.fingerprint, failure: failure, until: r.ExpiresAt})

		return nil, failure
	case refuseUnknown:
		return nil, ErrUnknownOutcome
	case refuseHeld:
		return nil, held{r.LeaseUntil.Add(2 * c.cfg.Margin)}
	}

	return nil, ErrMismatch
}

func (c *Claims) holding(a *attempt, fence int64) *Claim {
	claim := &Claim{Outcome: Acquired, key: a.key, owner: a.owner, fence: fence, lease: a.lease, print: a.print, keyEnd: a.keyEnd, claims: c}
	if a.tookOver {
		claim.Outcome = TakenOver
	}
	claim.state.Store(claimHeld)
	claim.leasedFrom(a.began)

	return claim
}

const (
	claimed = "#status = :to, #owner = :owner, #fence = :fence, #lease = :lease, #print = :print, " +
		"#operation = :operation, #claimed = :now, #updated = :now"
	newCondition  = "attribute_not_exists(#key)"
	seenCondition = "#fence = :seen AND ((#print = :seenPrint AND (#status = :released OR " +
		"(#status = :inProgress AND #lease <= :stale))) OR #expires < :nowSeconds)"
	formerEnd = "#result, #size, #ref, #refHash, #lost, #failure, #releasedBy, #reason"
)

// claimNew claims a key without a record. Its fence begins at the time, so that it is
// larger than any that a deleted record had.
func (c *Claims) claimNew(a *attempt, now time.Time) write {
	return c.claimWith(a, now, now.Unix(), newCondition)
}

// claimSeen claims the key from the holder that was seen. The fence is pinned: a
// request that arrives a second time, however late, changes nothing.
func (c *Claims) claimSeen(a *attempt, now time.Time, r *Record) write {
	a.tookOver = a.tookOver || r.Status == StatusInProgress && !r.expired(now)
	w := c.claimWith(a, now, r.Fence+1, seenCondition)
	w.remove = formerEnd
	if c.stays(a) {
		w.remove += ", #expires"
	}
	c.pin(w.values, r, now)
	w.values[":released"] = dynamo.S(string(StatusReleased))
	w.values[":nowSeconds"] = dynamo.N(now.Unix())

	return w
}

// pin fills in the holder that was seen and the time until which its lease must have
// ended.
func (c *Claims) pin(values image, r *Record, now time.Time) {
	values[":seen"], values[":seenPrint"] = dynamo.N(r.Fence), dynamo.B(r.fingerprint)
	values[":inProgress"] = dynamo.S(string(StatusInProgress))
	values[":stale"] = dynamo.N(now.Add(-2 * c.cfg.Margin).UnixMilli())
}

func (c *Claims) claimWith(a *attempt, now time.Time, fence int64, condition string) write {
	w := write{key: a.key, condition: condition, set: claimed, fence: fence, values: image{
		":to": dynamo.S(string(StatusInProgress)), ":owner": dynamo.S(a.owner), ":fence": dynamo.N(fence),
		":lease": dynamo.N(now.Add(a.lease).UnixMilli()), ":print": dynamo.B(a.print), ":operation": dynamo.S(a.operation),
		":now": dynamo.N(now.UnixMilli()),
	}}
	if !c.stays(a) {
		w.set += ", #expires = :expires"
		w.values[":expires"] = dynamo.N(c.keepUntil(now, a.keyEnd).Unix())
	}

	return w
}

// stays reports that the record does not expire: work that must not be repeated may
// begin under the lease. What is written when it is done needs none, and expires.
func (c *Claims) stays(a *attempt) bool { return c.cfg.ExpiredIsUnknown && a.lease > 0 }

// keepUntil is when a record may count as absent: after the retention, and for a key
// that carries its end not before every clock has passed it.
func (c *Claims) keepUntil(now, keyEnd time.Time) time.Time {
	until := now.Add(c.cfg.Retention)
	if end := keyEnd.Add(2*c.cfg.Margin + time.Second); !keyEnd.IsZero() && end.After(until) {
		return end
	}

	return until
}

// doubt turns a claim whose lease ran out into one with an unknown outcome. It stays
// until somebody resolves it.
func (c *Claims) doubt(now time.Time, r *Record) write {
	w := write{key: r.Key,
		condition: "#fence = :seen AND #print = :seenPrint AND #status = :inProgress AND #lease <= :stale",
		set:       "#status = :unknown, #updated = :now", remove: "#expires",
		values: image{":unknown": dynamo.S(string(StatusUnknown)), ":now": dynamo.N(now.UnixMilli())}}
	c.pin(w.values, r, now)

	return w
}

// undo gives back what a cancelled call may have claimed, so that nobody has to wait
// for a lease that nobody holds. When it fails the lease ends by itself.
func (c *Claims) undo(ctx context.Context, a *attempt) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), settle)
	defer cancel()
	_, _, _ = c.apply(ctx, write{key: a.key, condition: "#owner = :owner AND #status = :inProgress",
		set: "#status = :released, #updated = :now",
		values: image{":owner": dynamo.S(a.owner), ":inProgress": dynamo.S(string(StatusInProgress)),
			":released": dynamo.S(string(StatusReleased)), ":now": dynamo.N(c.cfg.Now().UnixMilli())}})
}
