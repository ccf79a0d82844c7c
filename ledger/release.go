package ledger

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ratchet/internal/attribute"
	"ratchet/txn"
)

// Release gives back what a hold has left and closes it. A repeat succeeds; so does
// releasing a hold that expired. ErrHoldClosed when it was settled, and also when it was
// released before by another call and something should have been written beside it.
func (l *Ledger) Release(ctx context.Context, account, id string, beside ...Beside) (Hold, error) {
	return l.release(ctx, account, id, HoldReleased, beside)
}

func (l *Ledger) release(ctx context.Context, account, id string, status HoldStatus, beside []Beside) (Hold, error) {
	h, found, err := l.Hold(ctx, account, id)
	if err != nil {
		return Hold{}, err
	}
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
		for _, p := range h.parts {
			key := shardKey(account, p.shard)
			t.Add(partAccount+key, giveBack(l.cfg.Tables.Accounts, key, p.amount, now), txn.Says(ErrCorrupt))
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
		if attribute.Text(refused.Old, "call") == call { // ours, and the answer was lost
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
	values := image{":active": attribute.S(string(HoldActive)), ":seen": attribute.N(h.Remaining), ":status": attribute.S(string(status)),
		":zero": attribute.N(0), ":call": attribute.S(call)}
	if status == HoldLapsed {
		condition += " AND expiresAt <= :now"
		values[":now"] = attribute.N(now.UnixMilli())
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
		ExpressionAttributeValues: image{":rest": attribute.N(amount), ":one": attribute.N(1), ":now": attribute.N(now.UnixMilli())},
	}}
}

// HoldRef names a hold; the zero value is before the first.
type HoldRef struct{ Account, ID string }

// ReleaseExpired gives back what expired holds have left: it looks at up to limit
// holds (1 to 1,000) after the one named and returns how many it released, and where
// to go on; the zero HoldRef at the end. Any number of sweeps may run at once.
func (l *Ledger) ReleaseExpired(ctx context.Context, after HoldRef, limit int) (released int, next HoldRef, err error) {
	if limit < 1 || limit > 1000 {
		return 0, HoldRef{}, fmt.Errorf("release expired holds: %w: limit %d: 1 to 1000", ErrInvalid, limit)
	}
	in := &dynamodb.ScanInput{TableName: &l.cfg.Tables.Holds, ConsistentRead: aws.Bool(true), Limit: aws.Int32(int32(limit)),
		FilterExpression: aws.String("#status = :active AND expiresAt <= :now"), ExpressionAttributeNames: map[string]string{"#status": "status"},
		ExpressionAttributeValues: image{":active": attribute.S(string(HoldActive)), ":now": attribute.N(l.cfg.Now().UnixMilli())}}
	if after != (HoldRef{}) {
		in.ExclusiveStartKey = holdKey(after.Account, after.ID)
	}
	out, err := l.cfg.DynamoDB.Scan(ctx, in)
	if err != nil {
		return 0, HoldRef{}, fmt.Errorf("release expired holds: %w", err)
	}
	for _, item := range out.Items {
		h := holdOf(item)
		_, err := l.release(ctx, h.Account, h.ID, HoldLapsed, nil)
		if err != nil && !errors.Is(err, ErrHoldClosed) { // settled in between
			return released, HoldRef{}, err
		}
		if err == nil {
			released++
		}
	}
	return released, HoldRef{attribute.Text(out.LastEvaluatedKey, "accountId"), attribute.Text(out.LastEvaluatedKey, "holdId")}, nil
}
