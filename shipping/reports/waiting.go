package reports

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"ratchet/internal/dynamo"
	"ratchet/shipping"
	"ratchet/transitions"
)

const (
	refusedKey = "refused"

	firstPause  = 15 * time.Second
	longestWait = time.Hour
	keepRefused = 30 * 24 * time.Hour
	// keepReturns is how long the report of a return waits at least: for a person, or for the capture of
	// the payment after the rest of the order has left.
	keepReturns = 30 * 24 * time.Hour
	sweepPage   = 100
	maxReason   = 300
)

// effectAttribute is the name of the attribute with the effect of a waiting report: Waiting or
// Attention. The other partitions have one effect each and no such attribute.
const effectAttribute = "effect"

// wait stores a report that waits, or needs a person. A repeat changes nothing but the effect and
// its reason.
func (d *Receiver) wait(ctx context.Context, r shipping.Report, found finding) error {
	text, err := json.Marshal(r)
	if err != nil {
		return err
	}
	now := d.now()

	err = d.put(ctx, r, waitingShard, "report", dynamo.S(string(text)), func(update *dynamo.Update) {
		found.set(update).
			// A repeat of the report must not begin its waiting time again.
			Set("since = if_not_exists(since, :now)").
			Bind(":now", dynamo.Millis(now)).
			Set("tries = if_not_exists(tries, :zero)").
			Bind(":zero", dynamo.N(0)).
			Set("nextTry = if_not_exists(nextTry, :next)").
			Bind(":next", dynamo.Millis(now.Add(firstPause)))
	})
	if err != nil {
		return fmt.Errorf("store report %s: %w", r.ID, err)
	}

	if found.effect == Attention {
		d.cfg.Log.WarnContext(ctx, "the carrier's report needs a person", "order", r.OrderID, "report", r.ID, "milestone", r.Milestone, "reason", found.reason)
	}

	return nil
}

// set adds the finding to the update of a row.
func (f finding) set(update *dynamo.Update) *dynamo.Update {
	return update.
		SetValue(effectAttribute, dynamo.S(string(f.effect))).
		SetValue("reason", dynamo.S(clip(f.reason))).
		SetValue("command", dynamo.S(f.command))
}

// refuse stores a report that was refused.
func (d *Receiver) refuse(ctx context.Context, r shipping.Report, reason string) error {
	text, err := json.Marshal(r)
	if err != nil {
		return err
	}
	now := d.now()

	err = d.put(ctx, r, func(string) string { return refusedKey }, "report", dynamo.S(string(text)), func(update *dynamo.Update) {
		update.
			SetValue("reason", dynamo.S(clip(reason))).
			SetValue("since", dynamo.Millis(now)).
			SetValue(ExpiryAttribute, dynamo.Seconds(now.Add(keepRefused)))
	})
	if err != nil {
		return fmt.Errorf("store report %s: %w", r.ID, err)
	}
	d.cfg.Log.WarnContext(ctx, "the carrier's report is refused", "order", r.OrderID, "report", r.ID, "milestone", r.Milestone, "reason", reason)

	return nil
}

// clip bounds a reason, which may contain a carrier's answer.
func clip(reason string) string {
	return strings.ToValidUTF8(reason[:min(len(reason), maxReason)], "")
}

// Sweep tries every waiting report that is due. A report that fails does not stop the others; Sweep
// returns every error. If the table cannot be read, Sweep ends. Any number of workers may sweep at the
// same time.
func (d *Receiver) Sweep(ctx context.Context) error {
	var faults []error

	for shard := range waitingShards {
		partition := "waiting#" + strconv.Itoa(shard)

		for after := ""; ; {
			page, next, err := d.read(ctx, partition, "", after, sweepPage)
			if err != nil {
				return errors.Join(append(faults, err)...)
			}

			for _, s := range page {
				if s.NextTry.After(d.now()) {
					continue
				}

				// The stored report cannot be read. It stays, and every sweep returns an error that names it.
				if s.Milestone == "" {
					faults = append(faults, fmt.Errorf("report %s: %s", s.Name, s.Reason))
					continue
				}

				if err := d.tryAgain(ctx, s); err != nil {
					faults = append(faults, fmt.Errorf("report %s of order %s: %w", s.ID, s.OrderID, err))
				}
			}

			if after = next; after == "" {
				break
			}
		}
	}

	return errors.Join(faults...)
}

// tryAgain judges a waiting report. A refused report is stored as refused before its waiting row is
// deleted.
func (d *Receiver) tryAgain(ctx context.Context, s Stored) error {
	found, err := d.judgeUnlessDone(ctx, s.Report)
	if err != nil {
		// After an error the report keeps its effect and waits like any other. Its reason is the error.
		found = finding{s.Effect, err.Error(), s.Command}
	}

	limit := waitFor
	if s.Milestone == shipping.Returned {
		limit = max(limit, keepReturns)
	}

	if found.effect == Waiting || found.effect == Attention {
		// Older than the limit, a report waits only for an order that can still take it: without a
		// deadline, because an order may be on hold for as long as a person wants.
		awaited, fault := true, error(nil)
		if d.now().Sub(s.Since) >= limit {
			awaited, fault = d.isAwaited(ctx, s.Report)
		}

		if awaited || fault != nil {
			return errors.Join(err, fault, d.postpone(ctx, s, found))
		}
		found = finding{effect: Refused, reason: "has waited for " + limit.String() + ": " + found.reason}
	}

	if found.effect == Refused {
		if err := d.refuse(ctx, s.Report, found.reason); err != nil {
			return err
		}
	}

	return d.remove(ctx, waitingShard(s.Name), s)
}

// isAwaited reports whether the order is in a state in which it can still take the report, or in which a
// person has something to do about it.
func (d *Receiver) isAwaited(ctx context.Context, r shipping.Report) (bool, error) {
	order, found, err := d.cfg.Orders.Get(ctx, transitions.OrderID(r.OrderID))
	if err != nil || !found || !isOf(r, order) {
		return false, err
	}

	if r.Milestone == shipping.Canceled || r.Milestone == shipping.Lost {
		def := d.definition()
		return def.AwaitsShipment(order.State) || def.HoldsShipment(order.State) || slices.Contains(def.Gone(), order.State), nil
	}

	return slices.ContainsFunc(d.moves(r.Milestone), func(m move) bool { return d.comesTo(order.State, m.targets) }), nil
}

// remove deletes the row of a stored report. If the row has another report by now, or none, remove does
// nothing.
func (d *Receiver) remove(ctx context.Context, partition string, s Stored) error {
	_, err := d.cfg.DynamoDB.DeleteItem(ctx, &dynamodb.DeleteItemInput{
		TableName:                 &d.cfg.Table,
		Key:                       rowKey(partition, s.Name),
		ConditionExpression:       aws.String("report = :report"),
		ExpressionAttributeValues: dynamo.Item{":report": dynamo.S(s.text)},
	})
	if _, changed := dynamo.FailedCondition(err); changed {
		return nil
	}

	return err
}

// postpone stores the next try of a report, unless another worker has stored it or has ended the
// report.
func (d *Receiver) postpone(ctx context.Context, s Stored, found finding) error {
	pause := longestWait
	if s.Tries < 8 { // 15 s doubled eight times is more than an hour
		pause = min(firstPause<<s.Tries, longestWait)
	}

	update := dynamo.NewUpdate(d.cfg.Table, rowKey(waitingShard(s.Name), s.Name)).
		IfEquals("report", dynamo.S(s.text)).
		// Two workers that tried the same report count one try.
		IfEquals("tries", dynamo.N(s.Tries)).
		SetValue("tries", dynamo.N(s.Tries+1)).
		SetValue("nextTry", dynamo.Millis(d.now().Add(pause)))

	_, err := d.cfg.DynamoDB.UpdateItem(ctx, found.set(update).Input())
	if _, changed := dynamo.FailedCondition(err); changed {
		return nil
	}

	return err
}
