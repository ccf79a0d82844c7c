package once

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ratchet/internal/dynamo"
)

// Resolution says how work with an unknown outcome ended: StatusCompleted with its Result,
// StatusFailed with a Failure, or StatusReleased if it had no effect. The zero value means
// that the outcome is still unknown.
type Resolution struct {
	Status  Status
	Result  []byte
	Failure *Failure
}

// Resolve resolves a record whose outcome is unknown, whose lease has run out, or that was
// released although a former holder may have begun the work. The argument is the record as it
// was read. Resolve returns ErrStaleOwner if the record has changed since, unless the same
// resolution has changed it.
func (c *Claims) Resolve(ctx context.Context, r Record, to Resolution) error {
	return c.observe("resolve", r.Key, outcomeResolved, c.applyResolution(ctx, r, to))
}

func (c *Claims) applyResolution(ctx context.Context, r Record, to Resolution) error {
	// same recognizes the record that this very resolution leaves.
	same := func(now *Record) bool { return !now.MayHaveBegun }
	var name string
	var value types.AttributeValue

	switch {
	case to.Status == StatusReleased:
	case to.Status == StatusCompleted && len(to.Result) > c.cfg.Inline:
		return fmt.Errorf("%w: result: %d bytes, at most %d for a resolution", ErrInvalid, len(to.Result), c.cfg.Inline)
	case to.Status == StatusCompleted:
		same = func(now *Record) bool {
			return bytes.Equal(now.result, to.Result) && !now.lost && now.pointer.name == ""
		}

		if to.Result != nil {
			name, value = attrResult, dynamo.B(to.Result)
		}
	case to.Status == StatusFailed && to.Failure != nil && to.Failure.Code != "":
		text := to.Failure.encode()
		same = func(now *Record) bool { return bytes.Equal(now.failure, text) }
		name, value = attrFailure, dynamo.B(text)
	default:
		return fmt.Errorf("%w: resolution: must be completed, released, or failed with a failure", ErrInvalid)
	}

	// A resolution of a claim whose lease still runs could not be taken back.
	if err := c.learn(ctx); err != nil {
		return err
	}
	keyEnd := c.endOf(r)

	applied, s, err := c.apply(ctx, r.Key, func(now time.Time) *dynamo.Update {
		u := c.newUpdate(r.Key).
			If("#fence = :seen AND #payloadHash = :seenPrint AND (#status = :unknown OR (#status = :inProgress AND #leaseUntil <= :stale) OR (#status = :released AND attribute_exists(#mayHaveBegun)))").
			RemoveAttribute(attrBegun).
			Bind(":released", dynamo.S(string(StatusReleased))).
			Bind(":unknown", dynamo.S(string(StatusUnknown))).
			SetValue(attrStatus, dynamo.S(string(to.Status))).
			SetValue(attrUpdated, dynamo.Millis(now)).
			SetValue(ExpiryAttribute, dynamo.Seconds(c.keepUntil(now, keyEnd)))
		if name != "" {
			u.SetValue(name, value)
		}
		c.bindSeen(u, &r, now)

		return u
	})
	switch {
	case err != nil || applied:
		return err
	case s.record != nil && s.record.Fence == r.Fence && s.record.Status == to.Status && same(s.record):
		return nil // resolved before; the answer was lost
	}

	return ErrStaleOwner
}

// endOf returns the end that the record's key carries, zero for none. The record has it, so that an
// operator's claims keep it, too, whatever their Config.KeysExpire.
func (c *Claims) endOf(r Record) time.Time {
	if !r.keyEnd.IsZero() {
		return r.keyEnd
	}
	end, _ := c.keyEnd(r.Key)

	return end
}

// reconcile asks Config.Reconcile about one key. It returns nil if the outcome is no longer
// unknown.
func (c *Claims) reconcile(ctx context.Context, key string) error {
	r, _, err := c.Get(ctx, key)
	if err != nil || r.Status != StatusUnknown {
		return err
	}

	resolved, err := c.reconcileRecord(ctx, r)
	if err == nil && !resolved {
		return c.observe("claim", key, "", ErrUnknownOutcome)
	}

	return err
}

// reconcileRecord asks Config.Reconcile about a record and stores its resolution. It
// returns false if the outcome is still unknown.
func (c *Claims) reconcileRecord(ctx context.Context, r Record) (resolved bool, err error) {
	to, err := c.cfg.Reconcile(ctx, r)
	if err != nil {
		return false, fmt.Errorf("reconcile key#%s: %w", c.Ref(r.Key), err)
	}

	if to.Status == "" {
		return false, nil
	}

	err = c.Resolve(ctx, r, to)
	if errors.Is(err, ErrStaleOwner) {
		return true, nil // another caller has resolved it
	}

	return err == nil, err
}

// ForceRelease frees a key whatever its status. It is for an operator, whose name (1 to 256 bytes) and
// reason (1 to 1,024 bytes) are kept in the record. A former holder can no longer end its claim. If the key was
// in progress or its outcome unknown, the next caller is TakenOver. The caches of other
// processes replay a result until it expires.
func (c *Claims) ForceRelease(ctx context.Context, r Record, by, reason string) error {
	switch {
	case by == "" || reason == "":
		return c.observe("force-release", r.Key, "", fmt.Errorf("%w: name and reason must be given", ErrInvalid))
	case len(by) > maxBy:
		return c.observe("force-release", r.Key, "", fmt.Errorf("%w: name: %d bytes, at most %d", ErrInvalid, len(by), maxBy))
	case len(reason) > maxReason:
		return c.observe("force-release", r.Key, "", fmt.Errorf("%w: reason: %d bytes, at most %d", ErrInvalid, len(reason), maxReason))
	}

	if err := c.learn(ctx); err != nil {
		return c.observe("force-release", r.Key, "", err)
	}

	// Freeing the key says nothing about the effect of its holder. Resolve does.
	begun := r.Status == StatusInProgress || r.Status == StatusUnknown || r.MayHaveBegun
	keyEnd := c.endOf(r)

	applied, s, err := c.apply(ctx, r.Key, func(now time.Time) *dynamo.Update {
		u := c.newUpdate(r.Key).
			IfEquals(attrFence, dynamo.N(r.Fence)).
			IfEquals(attrStatus, dynamo.S(string(r.Status))).
			SetValue(attrStatus, dynamo.S(string(StatusReleased))).
			// The new fence makes every step of the former holder fail.
			SetValue(attrFence, dynamo.N(r.Fence+1)).
			SetValue(attrUpdated, dynamo.Millis(now)).
			SetValue(attrReleasedBy, dynamo.S(by)).
			SetValue(attrReason, dynamo.S(reason))

		if begun {
			u.SetValue(attrBegun, dynamo.N(1))
		}

		if begun && keyEnd.IsZero() {
			u.RemoveAttribute(ExpiryAttribute)
		} else {
			u.SetValue(ExpiryAttribute, dynamo.Seconds(c.keepUntil(now, keyEnd)))
		}

		for _, attribute := range []string{attrOwner, attrResult, attrSize, attrRef, attrRefHash, attrLost, attrFailure} {
			u.RemoveAttribute(attribute)
		}

		return u
	})
	c.cache.forget(r.Key) // also without an answer: the write may have been made

	if err == nil && !applied && (s.record == nil || s.record.Fence != r.Fence+1 || s.record.ReleasedBy != by || s.record.Reason != reason) {
		err = ErrStaleOwner
	}

	return c.observe("force-release", r.Key, outcomeReleased, err)
}
