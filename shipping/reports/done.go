package reports

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ratchet/internal/dynamo"
	"ratchet/shipping"
	"ratchet/transitions"
)

// Errors of [Receiver.Find] and [Receiver.MarkDone].
var (
	// ErrUnknownReport means that no report with the name is stored.
	ErrUnknownReport = errors.New("there is no such stored report")
	// ErrNoAttention means that the report does not need a person, or no longer needs one.
	ErrNoAttention = errors.New("the report does not need a person")
)

const (
	doneKey = "done"
	// keepDone is how long a report that a person has closed stays closed for the carrier's repeats.
	keepDone = keepParcels
)

// Closing says who has dealt with a report that needed a person, when and why.
type Closing struct {
	// Cause has the Actor, the Source, and a Code or a Text.
	Cause transitions.Cause `json:"cause"`
	At    time.Time         `json:"at"`
}

// Find returns the stored report with the name, if the report needs a person or a person has dealt with
// it. It fails with ErrUnknownReport if no such report is stored, and with ErrNoAttention if the report
// only waits.
func (d *Receiver) Find(ctx context.Context, name string) (Stored, error) {
	for _, partition := range []string{waitingShard(name), doneKey} {
		row, err := d.get(ctx, rowKey(partition, name))
		if err != nil {
			return Stored{}, err
		}

		if row == nil {
			continue
		}

		s := decodeStored(partition, row)
		// A report that only waits for its order ends by itself.
		if s.Effect != Attention && s.Effect != Done {
			return Stored{}, fmt.Errorf("%w: %s waits", ErrNoAttention, name)
		}

		return s, nil
	}

	return Stored{}, fmt.Errorf("%w: %s", ErrUnknownReport, name)
}

// MarkDone ends a report that Find has returned: a person has dealt with it, or has decided that
// nothing is to be done. The report leaves the list and is not tried again; a try that runs at the same
// moment may still act. For 400 days a repeat of the carrier is answered with Done. If the report is
// already Done, MarkDone returns it with the first closing. It fails with ErrNoAttention if the report
// has left the list since Find, and with transitions.ErrInvalidRequest if the cause breaks a rule.
func (d *Receiver) MarkDone(ctx context.Context, s Stored, cause transitions.Cause) (Stored, error) {
	if cause.Actor == "" || cause.Code == "" && cause.Text == "" {
		return Stored{}, fmt.Errorf("%w: cause: must say who and why", transitions.ErrInvalidRequest)
	}

	if err := cause.Validate(); err != nil {
		return Stored{}, err
	}

	if s.Effect == Done {
		return s, nil
	}

	for _, name := range namesOf(s.Report) {
		closed, err := d.close(ctx, s, name, cause)
		if !errors.Is(err, errTaken) {
			return closed, err
		}
	}

	return Stored{}, fmt.Errorf("%w any more: %s", ErrNoAttention, s.Name)
}

// errTaken means that the name belongs to a closed report about something else.
var errTaken = errors.New("the name is taken")

// close moves a report to the list of Done reports, under the name. It fails with errTaken or
// ErrNoAttention.
func (d *Receiver) close(ctx context.Context, s Stored, name string, cause transitions.Cause) (Stored, error) {
	now := d.now()
	row := rowKey(doneKey, name)
	row["report"], row["reason"], row["command"] = dynamo.S(s.text), dynamo.S(s.Reason), dynamo.S(s.Command)
	row["since"], row["doneAt"], row[ExpiryAttribute] = dynamo.Millis(s.Since), dynamo.Millis(now), dynamo.Seconds(now.Add(keepDone))
	row["actor"], row["source"] = dynamo.S(cause.Actor), dynamo.S(cause.Source)
	row["code"], row["text"] = dynamo.S(cause.Code), dynamo.S(cause.Text)

	// One transaction, so that a report is always in exactly one of the lists, also after a crash.
	_, err := d.cfg.DynamoDB.TransactWriteItems(ctx, &dynamodb.TransactWriteItemsInput{TransactItems: []types.TransactWriteItem{
		{Put: &types.Put{
			TableName:                 &d.cfg.Table,
			Item:                      row,
			ConditionExpression:       aws.String("attribute_not_exists(" + partitionKey + ") OR " + ExpiryAttribute + " <= :now"),
			ExpressionAttributeValues: dynamo.Item{":now": dynamo.Seconds(now)},
		}},
		// Only the report that the person saw is deleted: a newer report may have the row by now.
		{Delete: &types.Delete{
			TableName:                 &d.cfg.Table,
			Key:                       rowKey(waitingShard(s.Name), s.Name),
			ConditionExpression:       aws.String(effectAttribute + " = :attention AND report = :report"),
			ExpressionAttributeValues: dynamo.Item{":attention": dynamo.S(string(Attention)), ":report": dynamo.S(s.text)},
		}},
	}})
	if refusedTransaction(err) {
		return d.closedBefore(ctx, s.Report, name)
	}

	if err != nil {
		return Stored{}, fmt.Errorf("mark report %s as done: %w", s.Name, err)
	}
	d.cfg.Log.InfoContext(ctx, "a person has dealt with the carrier's report", "order", s.OrderID, "report", s.ID, "actor", cause.Actor)

	return decodeStored(doneKey, row), nil
}

// closedBefore returns the report that is closed under the name. Another call has closed it, or this
// call has and lost the answer. It fails with errTaken, or with ErrNoAttention if no report is closed.
func (d *Receiver) closedBefore(ctx context.Context, r shipping.Report, name string) (Stored, error) {
	row, err := d.get(ctx, rowKey(doneKey, name))
	if err != nil {
		return Stored{}, err
	}

	switch s := decodeStored(doneKey, row); {
	case row == nil:
		return Stored{}, fmt.Errorf("%w any more: %s", ErrNoAttention, name)
	case !repeats(r, s.Report):
		return Stored{}, errTaken
	default:
		return s, nil
	}
}

// refusedTransaction reports whether a condition of the transaction has failed.
func refusedTransaction(err error) bool {
	canceled, is := errors.AsType[*types.TransactionCanceledException](err)

	return is && slices.ContainsFunc(canceled.CancellationReasons, func(r types.CancellationReason) bool {
		return aws.ToString(r.Code) == "ConditionalCheckFailed"
	})
}

// isDone reports whether a person has dealt with the report. Only returns and cancellations need one.
func (d *Receiver) isDone(ctx context.Context, r shipping.Report) (bool, error) {
	if r.Milestone != shipping.Returned && r.Milestone != shipping.Canceled {
		return false, nil
	}

	for _, name := range namesOf(r) {
		row, err := d.get(ctx, rowKey(doneKey, name))
		if err != nil {
			return false, err
		}

		if row != nil && repeats(r, decodeStored(doneKey, row).Report) {
			return true, nil
		}
	}

	return false, nil
}
