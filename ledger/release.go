package ledger

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ratchet/internal/dynamo"
	"ratchet/txn"
)

// Release gives back what a hold has left and closes it. A repeat succeeds; so does
// releasing a hold that expired. ErrHoldClosed when it was settled, and also when it was
// released before by another call and something should have been written beside it.
func (l *Ledger) Release(ctx context.Context, account, id string, beside ...Beside) (Hold, error) {
	if err := checkOwn("hold", id); err != nil {
		return Hold{}, fmt.Errorf("release: %w", err)
	}
	return l.release(ctx, account, id, beside)
}

func (l *Ledger) release(ctx context.Context, account, id string, beside []Beside) (Hold, error) {
	h, found, err := l.Hold(ctx, account, id)
	switch {
	case err != nil:
		return Hold{}, err
	case !found:
		return Hold{}, &Refusal{Op: "release", ID: id, Account: account, Err: ErrUnknownHold}
	}

	return l.giveUp(ctx, h, HoldReleased, beside)
}

// giveUp ends a hold that was read.
func (l *Ledger) giveUp(ctx context.Context, h Hold, status HoldStatus, beside []Beside) (Hold, error) {
	account, id, found := h.Account, h.ID, true
	now, call := l.cfg.Now(), rand.Text()
	for attempt := 1; ; attempt++ {
		switch {
		case !found:
			return Hold{}, &Refusal{Op: "release", ID: id, Account: account, Err: ErrUnknownHold}
		case h.Status == HoldSettled, h.Status != HoldActive && len(beside) > 0:
			return h, &Refusal{Op: "release", ID: id, Account: account, Err: ErrHoldClosed}
		case h.Status != HoldActive:
			return h, nil
		}
		var t txn.Transaction
		t.Marker("hold", h.end(l.cfg.Tables.Holds, status, now, call))

		for _, add := range beside {
			add(&t)
		}
		h.forgetDue(l.cfg.Tables.Holds, &t)

		for _, p := range h.parts {
			key := shardKey(account, p.shard)
			t.Add(partAccount+key, giveBack(l.cfg.Tables.Accounts, key, p.amount, now), txn.FailWith(ErrCorrupt))
		}

		err := l.writer.Write(ctx, &t)
		var refused *txn.Refused
		switch {
		case err == nil:
			h.Status, h.Remaining, h.parts = status, 0, nil
			return h, nil
		case !errors.As(err, &refused) || !refused.Marker:
			return Hold{}, fmt.Errorf("release hold %s: %w", id, err)
		}

		old := holdOf(refused.Old)
		if found = old != nil; found {
			h = *old
		}

		if dynamo.Text(refused.Old, "call") == call { // ours, and the answer was lost
			return h, nil
		}

		if attempt == l.cfg.Attempts || !pause(ctx, attempt) {
			return Hold{}, contended(ctx, "release", id)
		}
	}
}

// end closes the hold as it was last seen. A lapse needs the expiry to have passed.
func (h Hold) end(table string, status HoldStatus, now time.Time, call string) types.TransactWriteItem {
	condition := "#status = :active AND remaining = :seen"
	values := image{":active": dynamo.S(string(HoldActive)), ":seen": dynamo.N(h.Remaining), ":status": dynamo.S(string(status)),
		":zero": dynamo.N(0), ":call": dynamo.S(call)}
	if status == HoldLapsed {
		condition += " AND expiresAt <= :now"
		values[":now"] = dynamo.N(now.UnixMilli())
	}

	return types.TransactWriteItem{Update: &types.Update{
		TableName: &table, Key: holdKey(h.Account, h.ID), ConditionExpression: &condition,
		UpdateExpression:         aws.String("SET #status = :status, remaining = :zero, #call = :call REMOVE #parts"),
		ExpressionAttributeNames: map[string]string{"#status": "status", "#call": "call", "#parts": "parts"}, ExpressionAttributeValues: values,
	}}
}

// giveBack moves what a part of a hold has left to available.
func giveBack(table, key string, amount int64, now time.Time) types.TransactWriteItem {
	return types.TransactWriteItem{Update: &types.Update{
		TableName: &table, Key: accountKey(key), ConditionExpression: aws.String("held >= :rest"),
		UpdateExpression:          aws.String("SET held = held - :rest, available = available + :rest, revision = revision + :one, updatedAt = :now"),
		ExpressionAttributeValues: image{":rest": dynamo.N(amount), ":one": dynamo.N(1), ":now": dynamo.N(now.UnixMilli())},
	}}
}
