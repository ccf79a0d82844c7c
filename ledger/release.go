package ledger

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strings"
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
		h.forgetDue(l.cfg.Tables.Holds, &t)
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

// ReleaseExpired gives back what expired holds have left: up to limit (1 to 1,000) of
// them, and tells whether there may be more. It asks a few partitions for those that
// have ended, so its cost does not grow with the number of holds. Any number of sweeps
// may run at once.
func (l *Ledger) ReleaseExpired(ctx context.Context, limit int) (released int, more bool, err error) {
	if limit < 1 || limit > 1000 {
		return 0, false, fmt.Errorf("release expired holds: %w: limit %d: 1 to 1000", ErrInvalid, limit)
	}
	end := fmt.Sprintf("%015d#~", l.cfg.Now().UnixMilli())
	for shard := range dueShards {
		if limit == 0 {
			return released, true, nil
		}
		out, err := l.cfg.DynamoDB.Query(ctx, &dynamodb.QueryInput{TableName: &l.cfg.Tables.Holds, ConsistentRead: aws.Bool(true), Limit: aws.Int32(int32(limit)),
			KeyConditionExpression:    aws.String("accountId = :due AND holdId <= :end"),
			ExpressionAttributeValues: image{":due": attribute.S(duePartition(shard)), ":end": attribute.S(end)}})
		if err != nil {
			return released, false, fmt.Errorf("release expired holds: %w", err)
		}
		limit -= len(out.Items)
		for _, row := range out.Items {
			_, rest, _ := strings.Cut(attribute.Text(row, "holdId"), "#")
			account, id, _ := strings.Cut(rest, "#")
			_, err := l.release(ctx, account, id, HoldLapsed, nil)
			if err != nil && !errors.Is(err, ErrHoldClosed) { // settled in between
				return released, false, err
			}
			if err == nil {
				released++
			}
		}
	}
	return released, limit == 0, nil
}
