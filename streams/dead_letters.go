package streams

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	ddbtypes "github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ratchet/internal/dynamo"
)

// DeadLetters gives operators and tools access to the dead letters of one group.
// DynamoDB and Table must be set.
type DeadLetters struct {
	DynamoDB dynamoAPI
	Table    string
	Group    string // as Config.Group

	clock *dynamo.Clock
	check *ddbtypes.ConditionCheck // of the worker that redrives a dead letter; nil for others
}

func (d DeadLetters) rows() *deadLetterTable {
	return &deadLetterTable{api: d.DynamoDB, table: d.Table, group: d.Group, clock: d.clock}
}

// List returns up to limit dead letters of a handler in the order of their ids, from the first id
// that is greater than after; "" begins at the first dead letter. A limit of 0 means no limit. next
// is the value of after for the next page, "" at the end. A dead letter that cannot be decoded is
// listed with the reason (Unreadable); Get returns it with an error, and Delete deletes it unless
// its format is newer.
func (d DeadLetters) List(ctx context.Context, handler, after string, limit int) (letters []DeadLetter, next string, err error) {
	in := &dynamodb.QueryInput{
		TableName:                 &d.Table,
		ConsistentRead:            aws.Bool(true),
		KeyConditionExpression:    aws.String("#s = :s"),
		FilterExpression:          aws.String("attribute_not_exists(#p)"), // no parts
		ExpressionAttributeNames:  map[string]string{"#s": deadLetterSource, "#p": deadLetterPart},
		ExpressionAttributeValues: dynamo.Item{":s": dynamo.S(d.rows().source(handler))},
	}
	// The query also starts behind a key that does not exist: the dead letter may have been
	// deleted.
	if after != "" {
		in.ExclusiveStartKey = d.rows().key(handler, after)
	}

	for {
		out, err := d.DynamoDB.Query(ctx, in)
		if err != nil {
			return nil, "", fmt.Errorf("streams: list dead letters of %s: %w", handler, err)
		}

		now := d.clock.Now()
		for _, row := range out.Items {
			// A dead letter that cannot be decoded is listed with the reason.
			letter, _ := decodeDeadLetter(row)
			// Time to live deletes a row up to days after it has expired.
			if letter.expired(now) {
				continue
			}

			letters = append(letters, letter)
			if len(letters) == limit {
				return letters, letter.ID, nil
			}
		}

		if len(out.LastEvaluatedKey) == 0 {
			return letters, "", nil
		}
		in.ExclusiveStartKey = out.LastEvaluatedKey
	}
}

// Get returns one dead letter with its record, or ErrDeadLetterNotFound.
func (d DeadLetters) Get(ctx context.Context, handler, id string) (DeadLetter, error) {
	row, err := d.rows().get(ctx, handler, id)
	if err != nil {
		return DeadLetter{}, err
	}

	letter, err := decodeDeadLetter(row)
	// As in List: the row may outlive its time by days.
	if letter.expired(d.clock.Now()) {
		return DeadLetter{}, fmt.Errorf("%w: %s of %s has expired", ErrDeadLetterNotFound, id, handler)
	}

	if err != nil || letter.Record != nil {
		return letter, err
	}

	body, err := d.rows().parts(nil).read(ctx, d.rows().source(handler), partsOf(row))
	if err != nil {
		if errors.Is(err, errPartMissing) {
			letter.Unreadable = err.Error()
			err = fmt.Errorf("%w: %w", ErrUnreadable, err)
		}

		return letter, err
	}

	r, err := decodeRecord(body)
	if err != nil {
		letter.Unreadable = err.Error()
		return letter, fmt.Errorf("%w: %s: %w", ErrUnreadable, id, err)
	}
	letter.Record = &r

	return letter, nil
}

// Delete deletes a dead letter without handling it. It returns nil if there is no such dead letter.
// It returns ErrUnreadable for a dead letter of a newer format, because this program cannot find
// the parts of such a dead letter.
func (d DeadLetters) Delete(ctx context.Context, handler, id string) error {
	row, err := d.rows().get(ctx, handler, id)
	if errors.Is(err, ErrDeadLetterNotFound) {
		return nil
	}

	if err == nil {
		err = checkDeadLetter(row)
	}

	if err != nil {
		return err
	}

	return d.rows().delete(ctx, handler, id, partsOf(row), d.check)
}

// Redrive calls h once with the record of the dead letter. If h returns nil, Redrive deletes the
// dead letter; otherwise it stores the new error and returns it. While one Redrive of a dead letter
// runs, others return ErrRedriving. It returns ErrDeadLetterNotFound if there is no such dead
// letter of h.Name.
//
// Later records of the item have been handled before, and newer records may be handled at the same
// time. The record is marked as Late, so that h.Recheck can compare it with the item. If h.Recheck
// returns Skip, Redrive returns an error that wraps ErrSkipped and leaves the dead letter as it is.
// If stale is not nil, Redrive calls stale first. If stale returns an error, Redrive returns that
// error and does not call h. h must be idempotent, as for any delivery.
func (d DeadLetters) Redrive(ctx context.Context, id string, h Handler, stale func(context.Context, Record) error) error {
	h.Timeout, h.MaxAge = cmp.Or(h.Timeout, 30*time.Second), 0

	letter, err := d.Get(ctx, h.Name, id)
	if err != nil {
		return err
	}

	record := *letter.Record
	record.Handler, record.Group, record.Late = h.Name, d.Group, true
	record.Attempt = letter.Attempts + letter.Redrives + 1

	if stale != nil {
		if err := stale(ctx, record); err != nil {
			return fmt.Errorf("streams: redrive of %s refused: %w", id, err)
		}
	}

	// Claimed after stale, so that a redrive that stale refuses leaves no claim behind.
	if err := d.claim(ctx, h, id); err != nil {
		return err
	}
	handleErr := doCall(ctx, nil, &h, record)

	// The result is stored even if ctx ended during the call.
	ctx = context.WithoutCancel(ctx)
	if handleErr == nil {
		return d.Delete(ctx, h.Name, id)
	}

	if errors.Is(handleErr, ErrSkipped) {
		return errors.Join(fmt.Errorf("streams: redrive of %s refused: %w", id, handleErr), d.endClaim(ctx, h, id))
	}

	return errors.Join(
		fmt.Errorf("streams: redrive %s of %s: %w", id, h.Name, handleErr),
		d.storeFailedRedrive(ctx, h, letter, handleErr),
	)
}

// claim makes other calls of Redrive return ErrRedriving for as long as the call may take, and 10 s
// longer for the writes after it.
func (d DeadLetters) claim(ctx context.Context, h Handler, id string) error {
	now := time.Now()

	update := dynamo.NewUpdate(d.Table, d.rows().key(h.Name, id)).
		IfPresent(deadLetterID).
		If("attribute_not_exists(#claimedUntil) OR #claimedUntil < :now").
		Bind(":now", dynamo.Millis(now)).
		SetValue(deadLetterClaimedUntil, dynamo.Millis(now.Add(h.Timeout+10*time.Second)))

	row, applied, err := applyUpdate(ctx, d.DynamoDB, update)
	switch {
	case err != nil:
		return fmt.Errorf("streams: claim dead letter %s: %w", id, err)
	case !applied && row == nil:
		return fmt.Errorf("%w: %s of %s", ErrDeadLetterNotFound, id, h.Name)
	case !applied:
		return fmt.Errorf("%w: %s of %s", ErrRedriving, id, h.Name)
	}

	return nil
}

// endClaim lets others redrive the dead letter, which stays as it is.
func (d DeadLetters) endClaim(ctx context.Context, h Handler, id string) error {
	update := dynamo.NewUpdate(d.Table, d.rows().key(h.Name, id)).
		IfPresent(deadLetterID).
		RemoveAttribute(deadLetterClaimedUntil)
	_, _, err := applyUpdate(ctx, d.DynamoDB, update)

	return err
}

// storeFailedRedrive stores the new error and ends the claim.
func (d DeadLetters) storeFailedRedrive(ctx context.Context, h Handler, letter DeadLetter, cause error) error {
	update := dynamo.NewUpdate(d.Table, d.rows().key(h.Name, letter.ID)).
		IfPresent(deadLetterID).
		SetValue(deadLetterError, dynamo.S(errorText(cause))).
		SetValue(deadLetterPermanent, dynamo.Bool(IsPermanent(cause))).
		SetValue(deadLetterFailedAt, dynamo.Millis(d.clock.Now())).
		SetValue(deadLetterRedrives, dynamo.N(int64(letter.Redrives+1))).
		RemoveAttribute(deadLetterQueuedAt).
		RemoveAttribute(deadLetterClaimedUntil)
	_, _, err := fencedWrite(ctx, d.DynamoDB, d.check, ddbtypes.TransactWriteItem{Update: update.Part()})

	return err
}
