package reports

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"ratchet/internal/dynamo"
	"ratchet/shipping"
)

const (
	// waitingShards share the writes of waiting reports.
	waitingShards = 8
	refusedKey    = "refused"

	firstPause  = 15 * time.Second
	longestWait = time.Hour
	keepRefused = 30 * 24 * time.Hour
	sweepPage   = 100
	maxReason   = 300
)

// Stored is a report that waits or was refused.
type Stored struct {
	shipping.Report

	Effect Effect `json:"effect"`
	Reason string `json:"reason"`
	// Since is when the report was received, or refused.
	Since time.Time `json:"since"`
	// Tries is how often it was tried since then, NextTry when it is due. Both only for one
	// that waits.
	Tries   int64     `json:"tries,omitempty"`
	NextTry time.Time `json:"nextTry,omitzero"`
}

func waitingShard(id string) string {
	return "waiting#" + strconv.Itoa(dynamo.Shard(id, waitingShards))
}

func rowKey(partition, id string) dynamo.Item {
	return dynamo.Item{partitionKey: dynamo.S(partition), sortKey: dynamo.S(id)}
}

// wait stores a report that waits. A repeat changes nothing but the reason.
func (d *Desk) wait(ctx context.Context, r shipping.Report, reason string) error {
	text, err := json.Marshal(r)
	if err != nil {
		return err
	}
	now := d.cfg.Now()

	update := dynamo.NewUpdate(d.cfg.Table, rowKey(waitingShard(r.ID), r.ID)).
		SetValue("report", dynamo.S(string(text))).
		SetValue("reason", dynamo.S(clip(reason))).
		Set("since = if_not_exists(since, :now)").
		Bind(":now", dynamo.Millis(now)).
		Set("tries = if_not_exists(tries, :zero)").
		Bind(":zero", dynamo.N(0)).
		Set("nextTry = if_not_exists(nextTry, :next)").
		Bind(":next", dynamo.Millis(now.Add(firstPause)))
	if _, err := d.cfg.DynamoDB.UpdateItem(ctx, update.Input()); err != nil {
		return fmt.Errorf("store report %s: %w", r.ID, err)
	}

	return nil
}

// refuse stores a report that was refused.
func (d *Desk) refuse(ctx context.Context, r shipping.Report, reason string) error {
	text, err := json.Marshal(r)
	if err != nil {
		return err
	}
	now := d.cfg.Now()

	item := rowKey(refusedKey, r.ID)
	item["report"], item["reason"] = dynamo.S(string(text)), dynamo.S(clip(reason))
	item["since"], item[ExpiryAttribute] = dynamo.Millis(now), dynamo.Seconds(now.Add(keepRefused))

	if _, err := d.cfg.DynamoDB.PutItem(ctx, &dynamodb.PutItemInput{TableName: &d.cfg.Table, Item: item}); err != nil {
		return fmt.Errorf("store report %s: %w", r.ID, err)
	}
	d.cfg.Log.WarnContext(ctx, "the carrier's report is refused", "order", r.OrderID, "report", r.ID, "milestone", r.Milestone, "reason", reason)

	return nil
}

// clip bounds a reason: it may contain what a carrier answered.
func clip(reason string) string {
	return strings.ToValidUTF8(reason[:min(len(reason), maxReason)], "")
}

// Sweep tries every waiting report that is due. Any number of workers may sweep at the same
// time. It tries all and returns every error.
func (d *Desk) Sweep(ctx context.Context) error {
	var faults []error

	for shard := range waitingShards {
		partition := "waiting#" + strconv.Itoa(shard)

		for after := ""; ; {
			page, next, err := d.read(ctx, partition, after, sweepPage)
			if err != nil {
				return errors.Join(append(faults, err)...)
			}

			for _, s := range page {
				if s.NextTry.After(d.cfg.Now()) {
					continue
				}

				if s.Milestone == "" {
					faults = append(faults, fmt.Errorf("report %s: %s", s.ID, s.Reason))
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

// tryAgain judges a waiting report. It is stored as refused before it stops waiting.
func (d *Desk) tryAgain(ctx context.Context, s Stored) error {
	effect, reason, err := d.judge(ctx, s.Report)
	if err != nil {
		effect, reason = Waiting, err.Error()
	}

	if effect == Waiting && d.cfg.Now().Sub(s.Since) >= d.cfg.WaitFor {
		effect, reason = Refused, "has waited for "+d.cfg.WaitFor.String()+": "+reason
	}

	if effect == Waiting {
		return errors.Join(err, d.postpone(ctx, s, reason))
	}

	if effect == Refused {
		if err := d.refuse(ctx, s.Report, reason); err != nil {
			return err
		}
	}

	_, err = d.cfg.DynamoDB.DeleteItem(ctx, &dynamodb.DeleteItemInput{TableName: &d.cfg.Table, Key: rowKey(waitingShard(s.ID), s.ID)})

	return err
}

// postpone stores the next try of a report, unless another worker has done so or has ended it.
func (d *Desk) postpone(ctx context.Context, s Stored, reason string) error {
	pause := longestWait
	if s.Tries < 8 { // 15 s doubled eight times is more than an hour
		pause = min(firstPause<<s.Tries, longestWait)
	}

	update := dynamo.NewUpdate(d.cfg.Table, rowKey(waitingShard(s.ID), s.ID)).
		IfEquals("tries", dynamo.N(s.Tries)).
		SetValue("tries", dynamo.N(s.Tries+1)).
		SetValue("reason", dynamo.S(clip(reason))).
		SetValue("nextTry", dynamo.Millis(d.cfg.Now().Add(pause)))

	_, err := d.cfg.DynamoDB.UpdateItem(ctx, update.Input())
	if _, changed := dynamo.FailedCondition(err); changed {
		return nil
	}

	return err
}

// List returns up to limit stored reports with the effect Waiting or Refused, in no useful
// order, after a position, "" for the first page. It returns the next position, "" at the end.
func (d *Desk) List(ctx context.Context, effect Effect, after string, limit int) (page []Stored, next string, err error) {
	if effect == Refused {
		return d.read(ctx, refusedKey, after, limit)
	}

	first, id, _ := strings.Cut(after, "/")
	shard, _ := strconv.Atoi(first) // "" is 0

	for ; shard < waitingShards && len(page) < limit; shard, id = shard+1, "" {
		found, rest, err := d.read(ctx, "waiting#"+strconv.Itoa(shard), id, limit-len(page))
		if err != nil {
			return nil, "", err
		}

		if page = append(page, found...); rest != "" {
			return page, strconv.Itoa(shard) + "/" + rest, nil
		}
	}

	if shard < waitingShards {
		next = strconv.Itoa(shard) + "/"
	}

	return page, next, nil
}

// read reads a page of a partition.
func (d *Desk) read(ctx context.Context, partition, after string, limit int) (page []Stored, next string, err error) {
	in := &dynamodb.QueryInput{
		TableName:                 &d.cfg.Table,
		ConsistentRead:            aws.Bool(true),
		Limit:                     aws.Int32(int32(limit)),
		KeyConditionExpression:    aws.String(partitionKey + " = :p"),
		ExpressionAttributeValues: dynamo.Item{":p": dynamo.S(partition)},
	}
	if after != "" {
		in.ExclusiveStartKey = rowKey(partition, after)
	}

	out, err := d.cfg.DynamoDB.Query(ctx, in)
	if err != nil {
		return nil, "", fmt.Errorf("read the stored reports: %w", err)
	}

	for _, row := range out.Items {
		s := Stored{
			Effect:  Waiting,
			Reason:  dynamo.Text(row, "reason"),
			Since:   dynamo.Time(row, "since"),
			Tries:   dynamo.Number(row, "tries"),
			NextTry: dynamo.Time(row, "nextTry"),
		}
		if partition == refusedKey {
			s.Effect = Refused
		}

		if err := json.Unmarshal([]byte(dynamo.Text(row, "report")), &s.Report); err != nil {
			// One row that was not written by this package must not hide the others.
			s.Report, s.Reason = shipping.Report{ID: dynamo.Text(row, sortKey)}, "the stored report cannot be read"
		}
		page = append(page, s)
	}

	return page, dynamo.Text(out.LastEvaluatedKey, sortKey), nil
}
