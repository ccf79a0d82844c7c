package deadletters

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	ddbtypes "github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ratchet/internal/dynamo"
	"ratchet/streams"
	"ratchet/streams/calls"
	"ratchet/streams/store"
)

// Letters gives operators and tools access to the dead letters of one group.
// DynamoDB and Table must be set.
type Letters struct {
	DynamoDB store.API
	Table    string
	Group    string // as Config.Group

	Clock *dynamo.Clock
	Check *ddbtypes.ConditionCheck // of the worker that redrives a dead letter; nil for others
}

// Rows returns the table with the rows of dead letters.
func (d Letters) Rows() *Table {
	return &Table{API: d.DynamoDB, Table: d.Table, Group: d.Group, Clock: d.Clock}
}

// List returns up to limit dead letters of a handler in the order of their ids, from the first id
// that is greater than after; "" begins at the first dead letter. A limit of 0 means no limit. next
// is the value of after for the next page, "" at the end. A dead letter that cannot be decoded is
// listed with the reason (Unreadable); Get returns it with an error, and Delete deletes it unless
// its format is newer.
func (d Letters) List(ctx context.Context, handler, after string, limit int) (letters []Letter, next string, err error) {
	return d.list(ctx, handler, "", after, limit)
}

// OfItem is List of the dead letters about one item, by its primary key. It reads only these.
func (d Letters) OfItem(
	ctx context.Context, handler string, keys map[string]ddbtypes.AttributeValue, after string, limit int,
) (letters []Letter, next string, err error) {
	return d.list(ctx, handler, idsOf(keys), after, limit)
}

// list is List of the dead letters whose ids begin with the prefix.
func (d Letters) list(ctx context.Context, handler, prefix, after string, limit int) (letters []Letter, next string, err error) {
	in := &dynamodb.QueryInput{
		TableName:                 &d.Table,
		ConsistentRead:            aws.Bool(true),
		KeyConditionExpression:    aws.String("#s = :s"),
		FilterExpression:          aws.String("attribute_not_exists(#p)"), // no parts
		ExpressionAttributeNames:  map[string]string{"#s": store.Source, "#p": store.Part},
		ExpressionAttributeValues: dynamo.Item{":s": dynamo.S(d.Rows().Source(handler))},
	}
	if prefix != "" {
		in.KeyConditionExpression = aws.String("#s = :s AND begins_with(#id, :id)")
		in.ExpressionAttributeNames["#id"], in.ExpressionAttributeValues[":id"] = store.ID, dynamo.S(prefix)
	}

	// The query also starts behind a key that does not exist: the dead letter may have been
	// deleted.
	if after != "" {
		in.ExclusiveStartKey = d.Rows().Key(handler, after)
	}

	for {
		out, err := d.DynamoDB.Query(ctx, in)
		if err != nil {
			return nil, "", fmt.Errorf("streams: list dead letters of %s: %w", handler, err)
		}

		now := d.Clock.Now()
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
func (d Letters) Get(ctx context.Context, handler, id string) (Letter, error) {
	row, err := d.Rows().get(ctx, handler, id)
	if err != nil {
		return Letter{}, err
	}

	letter, err := decodeDeadLetter(row)
	// As in List: the row may outlive its time by days.
	if letter.expired(d.Clock.Now()) {
		return Letter{}, fmt.Errorf("%w: %s of %s has expired", ErrNotFound, id, handler)
	}

	if err != nil || letter.Record != nil {
		return letter, err
	}

	body, err := d.Rows().parts(handler, id).Read(ctx, partsOf(row))
	if err != nil {
		if errors.Is(err, store.ErrPartMissing) {
			letter.Unreadable = err.Error()
			err = fmt.Errorf("%w: %w", ErrUnreadable, err)
		}

		return letter, err
	}

	return letter.withRecord(body)
}

// Delete deletes a dead letter without handling it. It returns nil if there is no such dead letter.
// It returns ErrUnreadable for a dead letter of a newer format, because this program cannot find
// the parts of such a dead letter.
func (d Letters) Delete(ctx context.Context, handler, id string) error {
	return d.deleteFrom(ctx, handler, id, nil)
}

// DeleteFrom is Delete of a dead letter that the caller has seen with the number of redrives. It returns ErrChanged if the
// letter has another number by now: it was redriven meanwhile, and may have another error.
func (d Letters) DeleteFrom(ctx context.Context, handler, id string, redrives int) error {
	return d.deleteFrom(ctx, handler, id, &redrives)
}

func (d Letters) deleteFrom(ctx context.Context, handler, id string, redrives *int) error {
	rows := d.Rows()

	row, err := rows.get(ctx, handler, id)
	if errors.Is(err, ErrNotFound) {
		return nil
	}

	if err == nil {
		err = checkDeadLetter(row)
	}

	if err != nil {
		return err
	}

	// Rewrite may have changed how many parts there are. A request that arrives late must not delete a dead letter that
	// was stored after it for the same record.
	count := partsOf(row)
	deleted := &ddbtypes.Delete{
		TableName:                 &d.Table,
		Key:                       rows.Key(handler, id),
		ExpressionAttributeNames:  map[string]string{"#id": store.ID},
		ExpressionAttributeValues: dynamo.Item{},
	}
	deleted.ConditionExpression = aws.String("attribute_not_exists(#id) OR (" + asRead(deleted, row, deadLetterFailedAt, deadLetterParts) + ")")

	if redrives != nil {
		seen := rows.AsSeen(handler, id, *redrives)
		deleted.ConditionExpression = aws.String("(" + *deleted.ConditionExpression + ") AND " + *seen.ConditionExpression)
		maps.Copy(deleted.ExpressionAttributeNames, seen.ExpressionAttributeNames)
		maps.Copy(deleted.ExpressionAttributeValues, seen.ExpressionAttributeValues)
	}

	if len(deleted.ExpressionAttributeValues) == 0 {
		deleted.ExpressionAttributeValues = nil // the service refuses an empty map
	}

	writes := append([]ddbtypes.TransactWriteItem{{Delete: deleted}}, rows.parts(handler, id).Deletes(count)...)

	_, applied, err := store.Write(ctx, d.DynamoDB, d.Check, writes)
	if err == nil && !applied {
		err = d.whyNotDeleted(ctx, handler, id, redrives)
	}

	if err != nil {
		return fmt.Errorf("streams: delete dead letter %s of %s: %w", id, handler, err)
	}

	return nil
}

// asRead returns the condition that the attributes are as in the row, with its names and values in the write. A row that
// cannot be decoded may lack each of them.
func asRead(deleted *ddbtypes.Delete, row dynamo.Item, attributes ...string) string {
	var all []string
	for _, name := range attributes {
		deleted.ExpressionAttributeNames["#"+name] = name

		value, has := row[name]
		if !has {
			all = append(all, "attribute_not_exists(#"+name+")")
			continue
		}
		deleted.ExpressionAttributeValues[":"+name] = value
		all = append(all, "#"+name+" = :"+name)
	}

	return strings.Join(all, " AND ")
}

// whyNotDeleted returns nil if the dead letter is gone: an earlier try has deleted it, and its answer was lost.
func (d Letters) whyNotDeleted(ctx context.Context, handler, id string, redrives *int) error {
	switch _, err := d.Rows().get(ctx, handler, id); {
	case errors.Is(err, ErrNotFound):
		return nil
	case err != nil:
		return err
	case redrives != nil:
		return ErrChanged
	}

	return ErrRedriving
}

// Redrive calls h once with the record of the dead letter. If h returns nil, Redrive deletes the
// dead letter; otherwise it stores the new error and returns it. While one Redrive of a dead letter
// runs, others return ErrRedriving. It returns ErrDeadLetterNotFound if there is no such dead
// letter of h.Name.
//
// Later records of the item have been handled before, and newer records may be handled at the same
// time. The record is marked as Late, so that h.Recheck can compare it with the item. If h.Recheck
// returns Skip, Redrive returns an error that wraps ErrSkipped and leaves the dead letter as it is.
// h must be idempotent, as for any delivery.
func (d Letters) Redrive(ctx context.Context, id string, h streams.Handler) error {
	h.Timeout, h.MaxAge = cmp.Or(h.Timeout, 30*time.Second), 0
	d = d.hearing()

	letter, err := d.Get(ctx, h.Name, id)
	if err != nil {
		return err
	}

	record := *letter.Record
	record.Handler, record.Group, record.Late = h.Name, d.Group, true
	record.Attempt = letter.Attempts + letter.Redrives + 1

	until, err := d.claim(ctx, h, id)
	if err != nil {
		return err
	}
	handleErr := calls.Do(ctx, nil, &h, record)

	// The result is stored even if ctx ended during the call.
	ctx = context.WithoutCancel(ctx)
	if handleErr == nil {
		return d.Delete(ctx, h.Name, id)
	}

	if errors.Is(handleErr, streams.ErrSkipped) {
		return errors.Join(fmt.Errorf("streams: redrive of %s refused: %w", id, handleErr), d.endClaim(ctx, h, id, until))
	}

	return errors.Join(
		fmt.Errorf("streams: redrive %s of %s: %w", id, h.Name, handleErr),
		d.StoreFailedRedrive(ctx, h, letter, handleErr),
	)
}

// hearing returns d with a clock that hears the service's time from the reads before a claim. The machines whose claims
// are compared may have clocks that differ by more than a claim lasts.
func (d Letters) hearing() Letters {
	if d.Clock == nil {
		d.Clock = &dynamo.Clock{}
	}

	return d
}

// claim makes other calls of Redrive return ErrRedriving for as long as the call may take, and 10 s
// longer for the writes after it. until names the claim. d is hearing.
func (d Letters) claim(ctx context.Context, h streams.Handler, id string) (until ddbtypes.AttributeValue, err error) {
	now := d.Clock.Now()
	until = dynamo.Millis(now.Add(h.Timeout + 10*time.Second))

	update := dynamo.NewUpdate(d.Table, d.Rows().Key(h.Name, id)).
		IfPresent(store.ID).
		If("attribute_not_exists(#claimedUntil) OR #claimedUntil < :now").
		Bind(":now", dynamo.Millis(now)).
		SetValue(deadLetterClaimedUntil, until)

	row, applied, err := store.Apply(ctx, d.DynamoDB, update)
	switch {
	case err != nil:
		return nil, fmt.Errorf("streams: claim dead letter %s: %w", id, err)
	case !applied && row == nil:
		return nil, fmt.Errorf("%w: %s of %s", ErrNotFound, id, h.Name)
	case !applied:
		return nil, fmt.Errorf("%w: %s of %s", ErrRedriving, id, h.Name)
	}

	return until, nil
}

// endClaim ends a claim, unless it has lapsed and another one has begun: others may redrive the dead letter, which
// stays as it is.
func (d Letters) endClaim(ctx context.Context, h streams.Handler, id string, until ddbtypes.AttributeValue) error {
	update := dynamo.NewUpdate(d.Table, d.Rows().Key(h.Name, id)).
		IfEquals(deadLetterClaimedUntil, until).
		RemoveAttribute(deadLetterClaimedUntil)
	_, _, err := store.Apply(ctx, d.DynamoDB, update)

	return err
}

// StoreFailedRedrive stores the new error of the dead letter, which is as it was read before the call, and ends the
// claim. It returns ErrChanged, and stores nothing, if the dead letter has another error by now: it was redriven
// meanwhile, or Rewrite has removed from it what the error may say.
func (d Letters) StoreFailedRedrive(ctx context.Context, h streams.Handler, letter Letter, cause error) error {
	text, redrives := store.ErrorText(cause), int64(letter.Redrives+1)
	update := dynamo.NewUpdate(d.Table, d.Rows().Key(h.Name, letter.ID)).
		IfEquals(deadLetterFailedAt, dynamo.Millis(letter.FailedAt)).
		IfEquals(deadLetterError, dynamo.S(letter.Error)).
		SetValue(deadLetterError, dynamo.S(text)).
		SetValue(deadLetterPermanent, dynamo.Bool(streams.IsPermanent(cause))).
		SetValue(deadLetterFailedAt, dynamo.Millis(d.Clock.Now())).
		SetValue(deadLetterRedrives, dynamo.N(redrives)).
		RemoveAttribute(deadLetterQueuedAt).
		RemoveAttribute(deadLetterClaimedUntil)

	old, applied, err := store.Write(ctx, d.DynamoDB, d.Check, []ddbtypes.TransactWriteItem{{Update: update.Part()}})
	// The SDK repeats a write whose answer was lost.
	stored := dynamo.Number(old, deadLetterRedrives) == redrives && dynamo.Text(old, deadLetterError) == text

	if err == nil && !applied && old != nil && !stored {
		err = fmt.Errorf("%w: %s of %s", ErrChanged, letter.ID, h.Name)
	}

	return err
}

// NoteQueued stores that the dead letter, as it was read, was put into the retry queue. It changes nothing if the
// dead letter was redriven since: a note that arrives late would say that it waits there.
func (d Letters) NoteQueued(ctx context.Context, letter Letter, at time.Time) error {
	update := dynamo.NewUpdate(d.Table, d.Rows().Key(letter.Handler, letter.ID)).
		IfEquals(deadLetterFailedAt, dynamo.Millis(letter.FailedAt)).
		SetValue(deadLetterQueuedAt, dynamo.Millis(at))
	_, _, err := store.Apply(ctx, d.DynamoDB, update)

	return err
}

// Count returns the number of a handler's dead letters.
func (d Letters) Count(ctx context.Context, handler string) (int, error) {
	count, err := store.Count(ctx, d.DynamoDB, &dynamodb.QueryInput{
		TableName:              &d.Table,
		ConsistentRead:         aws.Bool(true),
		KeyConditionExpression: aws.String("#s = :s"),
		// Expired rows do not count, although time to live deletes them only days later.
		FilterExpression:         aws.String("attribute_not_exists(#p) AND (attribute_not_exists(#e) OR #e > :now)"),
		ExpressionAttributeNames: map[string]string{"#s": store.Source, "#p": store.Part, "#e": store.Expiry},
		ExpressionAttributeValues: dynamo.Item{
			":s":   dynamo.S(d.Rows().Source(handler)),
			":now": dynamo.Seconds(d.Clock.Now()),
		},
	})
	if err != nil {
		return 0, fmt.Errorf("streams: count dead letters of %s: %w", handler, err)
	}

	return count, nil
}
