package ledger

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ratchet/internal/dynamo"
	"ratchet/once/txn"
)

// Release returns the rest of a hold to the account and closes the hold. A repeat succeeds,
// and so does the release of a hold that expired. Release returns ErrHoldClosed if the hold
// was settled. With parts it also returns ErrHoldClosed if another call has closed the hold, or
// if it has expired: the parts were not written.
func (l *Ledger) Release(ctx context.Context, account, id string, parts ...TxPart) (Hold, error) {
	if err := checkOwnID("hold", id); err != nil {
		return Hold{}, fmt.Errorf("release: %w", err)
	}

	return l.release(ctx, account, id, parts)
}

func (l *Ledger) release(ctx context.Context, account, id string, parts []TxPart) (Hold, error) {
	h, found, err := l.Hold(ctx, account, id)
	switch {
	case err != nil:
		return Hold{}, err
	case !found:
		return Hold{}, &RefusedError{Op: "release", ID: id, Account: account, Err: ErrUnknownHold}
	}

	h, _, err = l.endHold(ctx, h, HoldReleased, parts)

	return h, err
}

// endHold closes a hold, as it was read, and returns its rest to the account. after is the
// status that the hold gets: HoldReleased or HoldExpired. A release after the hold's end gives it
// HoldExpired, as a sweep would have done; an expiry before the end changes nothing. endHold
// reports whether this call closed the hold.
func (l *Ledger) endHold(ctx context.Context, h Hold, after HoldStatus, parts []TxPart) (now Hold, closed bool, err error) {
	account, id, call := h.Account, h.ID, rand.Text()

	if !h.ExpiresAt.IsZero() {
		if err := l.learn(ctx); err != nil {
			return Hold{}, false, fmt.Errorf("release hold %s: %w", id, err)
		}
	}

	for attempt := 1; ; attempt++ {
		at := l.clock.Now()
		expired := h.expired(at)

		switch {
		case h.Status == HoldSettled, h.Status != HoldActive && len(parts) > 0:
			return h, false, &RefusedError{Op: "release", ID: id, Account: account, Err: ErrHoldClosed}
		case h.Status != HoldActive, after == HoldExpired && !expired:
			return h, false, nil
		}

		next, with := after, parts
		if expired {
			next, with = HoldExpired, nil
		}

		err := l.writer.Write(ctx, l.endTransaction(h, next, at, call, with))
		var refused *txn.CanceledError
		switch {
		case err == nil:
			h.Status, h.Remaining, h.parts = next, 0, nil

			// The parts belong to a release, and the hold has expired before.
			if expired && len(parts) > 0 {
				continue
			}

			return h, true, nil
		case !errors.As(err, &refused) || !refused.Marker:
			return Hold{}, false, fmt.Errorf("release hold %s: %w", id, err)
		}

		// The hold has changed since it was read. The loop goes on with the present hold.
		old, err := readHold(refused.Old)
		if err != nil {
			return Hold{}, false, fmt.Errorf("release hold %s: %w", id, err)
		}

		// The stored call is this one: an earlier attempt was made and its answer lost.
		if old != nil && dynamo.Text(refused.Old, "call") == call && (old.Status != HoldExpired || len(parts) == 0) {
			return *old, true, nil
		}

		if attempt == l.cfg.attempts || !waitBeforeRetry(ctx, attempt) {
			return Hold{}, false, contended(ctx, "release", id)
		}

		if old == nil {
			return Hold{}, false, &RefusedError{Op: "release", ID: id, Account: account, Err: ErrUnknownHold}
		}

		h = *old
	}
}

// endTransaction closes the hold as it was last seen, together with the parts.
func (l *Ledger) endTransaction(h Hold, after HoldStatus, at time.Time, call string, parts []TxPart) *txn.Transaction {
	t := &txn.Transaction{}
	update := h.endUpdate(l.cfg.Tables.Holds, after, call)
	t.Marker("hold", types.TransactWriteItem{Update: update.Part()})

	if !h.ExpiresAt.IsZero() {
		l.eachAttempt(t, func(now time.Time) { update.Bind(":now", dynamo.N(now.UnixMilli())) })
	}

	for _, add := range parts {
		add(t)
	}

	h.deleteDueRow(l.cfg.Tables.Holds, t)

	for _, p := range h.parts {
		key := shardKey(h.Account, p.shard)
		// The marker pins the hold, so its account must hold its parts.
		t.Add(partAccount+key, returnHeld(l.cfg.Tables.Accounts, key, p.amount, at), txn.FailWith(ErrCorrupt))
	}

	return t
}

// endUpdate closes the hold as it was last seen. The end, if the hold has one, is compared with :now,
// which the caller sets: the hold expires only after its end, and is released only before it.
func (h Hold) endUpdate(table string, after HoldStatus, call string) *dynamo.Update {
	update := dynamo.NewUpdate(table, holdKey(h.Account, h.ID))
	status := update.Name("status")
	update.
		If(status+" = :active").
		If("remaining = :seen").
		Set(status+" = :status").
		Set("remaining = :zero").
		Set(update.Name("call")+" = :call").
		RemoveAttribute("parts").
		Bind(":active", dynamo.S(string(HoldActive))).
		Bind(":seen", dynamo.N(h.Remaining)).
		Bind(":status", dynamo.S(string(after))).
		Bind(":zero", dynamo.N(0)).
		Bind(":call", dynamo.S(call))

	switch {
	case after == HoldExpired:
		update.If("expiresAt <= :now")
	case !h.ExpiresAt.IsZero():
		update.If("expiresAt > :now")
	}

	return update
}

// returnHeld moves an amount from held to available.
func returnHeld(table, key string, amount int64, now time.Time) types.TransactWriteItem {
	update := dynamo.NewUpdate(table, accountKey(key)).
		If("held >= :rest").
		Set("held = held - :rest").
		Set("available = available + :rest").
		Set("revision = revision + :one").
		Set("updatedAt = :now").
		Bind(":rest", dynamo.N(amount)).
		Bind(":one", dynamo.N(1)).
		Bind(":now", dynamo.N(now.UnixMilli()))

	return types.TransactWriteItem{Update: update.Part()}
}
