package once

import (
	"context"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ratchet/internal/dynamo"
)

// claimUpdate is an update that claims a key, with the fence, the time and the end that the record
// has afterwards.
type claimUpdate struct {
	*dynamo.Update
	fence  int64
	at     time.Time
	keep   time.Time // zero if the record does not expire
	status Status
}

// target is the state that a claim gives the record: in progress, or completed at once.
type target struct {
	status Status
	result []byte // nil for none
}

var inProgress = target{status: StatusInProgress}

// newUpdate begins an update of the record under a key.
func (c *Claims) newUpdate(key string) *dynamo.Update {
	return dynamo.NewUpdate(c.cfg.Table, recordKey(key))
}

// claimNew claims a key without a record. The fence begins at the time in microseconds, so
// that it is larger than the fences of all deleted records of the key: no item takes a
// million writes per second.
func (c *Claims) claimNew(a *attempt, now time.Time, to target) claimUpdate {
	a.tookOver, a.isNew = false, true

	u := c.claimUpdate(a, now, now.UnixMicro(), to)
	u.IfAbsent(attrKey)

	return u
}

// seenCondition lets a claim replace only the record that was seen. The record must have
// expired; or it has the same payload, and was released or its lease has ended.
const seenCondition = "#fence = :seen AND ((#payloadHash = :seenPrint AND (#status = :released OR " +
	"(#status = :inProgress AND #leaseUntil <= :stale))) OR #expiresAt < :nowSeconds)"

// formerEnd are the attributes of a record that has ended.
var formerEnd = []string{
	attrResult, attrSize, attrRef, attrRefHash, attrLost, attrFailure, attrReleasedBy, attrReason, attrBegun,
}

// claimSeen claims the key from the holder that was seen. The condition contains the
// holder's fence, so a request that arrives a second time, however late, changes nothing.
func (c *Claims) claimSeen(a *attempt, now time.Time, seen *Record, to target) claimUpdate {
	a.tookOver, a.isNew = seen.begunBefore(now), false

	u := c.claimUpdate(a, now, seen.Fence+1, to)
	u.If(seenCondition).
		Bind(":released", dynamo.S(string(StatusReleased))).
		Bind(":nowSeconds", dynamo.Seconds(now))
	c.bindSeen(u.Update, seen, now)

	// A reader must not find the former holder's result beside the new claim.
	for _, attribute := range formerEnd {
		isSet := attribute == attrResult && to.result != nil || attribute == attrBegun && a.tookOver && to.status == StatusInProgress
		if !isSet { // one update cannot set and remove it
			u.RemoveAttribute(attribute)
		}
	}

	if c.stays(a) {
		u.RemoveAttribute(ExpiryAttribute)
	}

	return u
}

// claimAgain claims the key from this very call, which has claimed it with wrong times.
func (c *Claims) claimAgain(a *attempt, now time.Time, fence int64) claimUpdate {
	next := fence
	if a.isNew {
		next = now.UnixMicro() // the fence is one of the wrong times
	}

	u := c.claimUpdate(a, now, next, inProgress)
	u.IfEquals(attrOwner, dynamo.S(a.owner)).
		IfEquals(attrFence, dynamo.N(fence)).
		IfEquals(attrStatus, dynamo.S(string(StatusInProgress)))

	return u
}

// giveBack restores the record that this call has replaced because this machine's clock was wrong. It
// returns the record to decide on again.
func (c *Claims) giveBack(ctx context.Context, key string, seen snapshot, by claimUpdate) (snapshot, error) {
	old, refused, err := dynamo.UntilDecided(ctx, writeAttempts, func() error {
		_, err := c.cfg.DynamoDB.PutItem(ctx, &dynamodb.PutItemInput{
			TableName:                           &c.cfg.Table,
			Item:                                seen.item,
			ConditionExpression:                 aws.String("#fence = :fence AND #status = :status AND #updatedAt = :at"),
			ExpressionAttributeNames:            map[string]string{"#fence": attrFence, "#status": attrStatus, "#updatedAt": attrUpdated},
			ExpressionAttributeValues:           dynamo.Item{":fence": dynamo.N(by.fence), ":status": dynamo.S(string(by.status)), ":at": dynamo.Millis(by.at)},
			ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld,
		})

		return err
	})

	switch {
	case err != nil:
		return snapshot{}, unanswered(err)
	case !refused:
		return seen, nil
	}

	return c.snapshotOf(ctx, key, old)
}

// bindSeen binds the fence and fingerprint that were seen, and the time before which the
// lease must have ended.
func (c *Claims) bindSeen(u *dynamo.Update, seen *Record, now time.Time) {
	u.Bind(":seen", dynamo.N(seen.Fence)).
		Bind(":seenPrint", dynamo.B(seen.fingerprint)).
		Bind(":inProgress", dynamo.S(string(StatusInProgress))).
		Bind(":stale", dynamo.Millis(now.Add(-2*c.cfg.margin)))
}

func (c *Claims) claimUpdate(a *attempt, now time.Time, fence int64, to target) claimUpdate {
	u := c.newUpdate(a.key).
		SetValue(attrStatus, dynamo.S(string(to.status))).
		SetValue(attrOwner, dynamo.S(a.owner)).
		SetValue(attrFence, dynamo.N(fence)).
		SetValue(attrLease, dynamo.Millis(now.Add(a.lease))).
		SetValue(attrFingerprint, dynamo.B(a.fingerprint)).
		SetValue(attrOperation, dynamo.S(a.operation)).
		SetValue(attrClaimed, dynamo.Millis(now)).
		SetValue(attrUpdated, dynamo.Millis(now))

	var keep time.Time
	if !c.stays(a) {
		keep = c.keepUntil(now, a.keyEnd)
		u.SetValue(ExpiryAttribute, dynamo.Seconds(keep))
	}

	if !a.keyEnd.IsZero() {
		u.SetValue(attrKeyEnd, dynamo.Seconds(a.keyEnd))
	}

	// The record keeps this for the case that the new holder releases the key, too.
	if a.tookOver && to.status == StatusInProgress {
		u.SetValue(attrBegun, dynamo.N(1))
	}

	if to.result != nil {
		u.SetValue(attrResult, dynamo.B(to.result))
	}

	return claimUpdate{Update: u, fence: fence, at: now, keep: keep, status: to.status}
}

// stays reports whether the record must not expire: work that must not be repeated may
// begin under the lease, or a former holder may have begun it. A record that is written
// together with its effect has no lease, and expires.
func (c *Claims) stays(a *attempt) bool {
	return a.lease > 0 && (c.cfg.ExpiredIsUnknown || a.tookOver && a.keyEnd.IsZero())
}

// markUnknown gives a claim whose lease ran out an unknown outcome. The record does not
// expire until it is resolved.
func (c *Claims) markUnknown(now time.Time, seen *Record) claimUpdate {
	u := c.newUpdate(seen.Key).
		If("#fence = :seen AND #payloadHash = :seenPrint AND #status = :inProgress AND #leaseUntil <= :stale").
		SetValue(attrStatus, dynamo.S(string(StatusUnknown))).
		SetValue(attrUpdated, dynamo.Millis(now)).
		RemoveAttribute(ExpiryAttribute)
	c.bindSeen(u, seen, now)

	return claimUpdate{Update: u, fence: seen.Fence, at: now, status: StatusUnknown}
}

// undo releases the key after a call that returns an error and may have claimed it, so that no
// caller has to wait for the lease to end. If undo fails, the lease ends by itself. The
// record's mark of a former holder stays.
func (c *Claims) undo(ctx context.Context, a *attempt) {
	if a.named {
		return // another sending of the request may work under the claim
	}

	// The end of the caller's context is one of the reasons for undo.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), endTimeout)
	defer cancel()

	_, _, _ = c.apply(ctx, a.key, func(now time.Time) *dynamo.Update {
		return c.newUpdate(a.key).
			IfEquals(attrOwner, dynamo.S(a.owner)).
			IfEquals(attrStatus, dynamo.S(string(StatusInProgress))).
			SetValue(attrStatus, dynamo.S(string(StatusReleased))).
			SetValue(attrUpdated, dynamo.Millis(now))
	})
}
