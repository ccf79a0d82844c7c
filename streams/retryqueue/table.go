package retryqueue

import (
	"context"
	"errors"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	ddbtypes "github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ratchet/internal/dynamo"
	"ratchet/streams"
	"ratchet/streams/store"
)

// Table is the retry queue of one table's stream.
//
// While an item has a row here, only the retry queue delivers the item's records to the handler,
// and the shard's worker appends new records to the row. The row is deleted with its last record,
// by a write that fails if another record was appended meanwhile.
type Table struct {
	API   store.API
	Table string // the dead-letter table
	Scope string // name of the stream's table
	Clock *dynamo.Clock
}

// Source is the partition of the rows of a handler.
func (t *Table) Source(handler string) string {
	return SourcePrefix + t.Scope + "/" + handler
}

// Update begins an Update of an item's row. It fails if the row has a newer format.
func (t *Table) Update(handler string, hash store.ItemHash) *dynamo.Update {
	return store.IfFormat(dynamo.NewUpdate(t.Table, store.RowKey(t.Source(handler), rowID(hash))), store.QueueRowFormat)
}

// Parking is the result of adding a record to the queue.
type Parking int

const (
	Parked     Parking = iota // the record is in the queue, or was there and has been handled
	NotWaiting                // the item has no row
	IsWaiting                 // the item has a row already
	RowChanged                // the item's row has changed since it was read: try again
)

// Create stores a row for the item of the record r, unless the item has one.
func (t *Table) Create(ctx context.Context, hash store.ItemHash, r streams.Record, state Row) (Parking, error) {
	// The record is stored before the row refers to it. A crash in between leaves parts without a row,
	// which end by themselves.
	record, err := t.StoreRecord(ctx, hash, r)
	if err != nil {
		return 0, errors.Join(err, t.DropParts(ctx, r.Handler, record))
	}

	row := store.RowKey(t.Source(r.Handler), rowID(hash))
	row[store.Format] = dynamo.N(store.QueueRowFormat)
	row[store.Keys] = dynamo.M(r.Keys)
	row[retryRecords] = &ddbtypes.AttributeValueMemberL{Value: []ddbtypes.AttributeValue{record.Encode()}}
	row[retryLast] = dynamo.S(store.PaddedSequence(r.SequenceNumber))
	row[retryAttempts] = dynamo.N(int64(state.Attempts))
	row[retryNextTry] = dynamo.Millis(t.Clock.Service(state.NextTry))
	row[retryPartsEnd] = dynamo.Millis(t.partsEnd())
	row[retryError] = dynamo.S(state.LastErr)

	if !state.Since.IsZero() {
		row[retrySince] = dynamo.Millis(t.Clock.Service(state.Since))
	}

	put := &dynamodb.PutItemInput{
		TableName:                           &t.Table,
		Item:                                row,
		ConditionExpression:                 aws.String("attribute_not_exists(#id)"),
		ExpressionAttributeNames:            map[string]string{"#id": store.ID},
		ReturnValuesOnConditionCheckFailure: ddbtypes.ReturnValuesOnConditionCheckFailureAllOld,
	}

	unknown, err := writeRow(ctx, func() error {
		_, err := t.API.PutItem(ctx, put, dynamo.WithoutRetries)
		return err
	})
	if old, exists := dynamo.FailedCondition(err); exists {
		return t.afterRefusal(ctx, old, record, r, IsWaiting)
	}

	if err != nil {
		return 0, t.afterFault(ctx, record, r, unknown, err)
	}

	return Parked, nil
}

// Append adds the record behind the waiting records of its item.
func (t *Table) Append(ctx context.Context, hash store.ItemHash, r streams.Record) (Parking, error) {
	record, err := t.StoreRecord(ctx, hash, r)
	if err != nil {
		return 0, errors.Join(err, t.DropParts(ctx, r.Handler, record))
	}

	last := dynamo.S(store.PaddedSequence(r.SequenceNumber))
	// Padded numbers compare as text. The condition on last fails for a record that was stored
	// before.
	update := t.Update(r.Handler, hash).
		IfPresent(store.ID).
		IfAbsent(retryMore).
		If("#last < :last").
		If("size(#records) < :max").
		Bind(":last", last).
		Bind(":max", dynamo.N(maxRowRecords)).
		Bind(":record", &ddbtypes.AttributeValueMemberL{Value: []ddbtypes.AttributeValue{record.Encode()}}).
		Set("#records = list_append(#records, :record)").
		Set("#last = :last")

	var (
		old     dynamo.Item
		applied bool
	)

	unknown, err := writeRow(ctx, func() (err error) {
		old, applied, err = store.Apply(ctx, t.API, update, dynamo.WithoutRetries)
		return err
	})

	switch {
	case err != nil:
		return 0, t.afterFault(ctx, record, r, unknown, err)
	case applied:
		return Parked, nil
	}

	// The list is full, or newer records have rows of their own: the new record must come behind
	// all of them.
	if row, ok := decodeRetryRow(old); ok && row.takesMore() && row.last < store.PaddedSequence(r.SequenceNumber) {
		added, err := t.AppendMore(ctx, r.Handler, row, record)
		// Only a canceled transaction proves that no row refers to the parts. After other errors
		// the outcome is unknown, so the parts stay.
		if store.Cancellation(err) != nil {
			err = errors.Join(err, t.DropParts(ctx, r.Handler, record))
		}

		if err != nil || added {
			return Parked, err
		}
	}

	return t.afterRefusal(ctx, old, record, r, RowChanged)
}

// afterRefusal finds out why the write of the record failed its condition, from the row as it was
// then. It deletes the record's parts if no row refers to them. The argument otherwise is the
// result if the record is neither stored nor handled and the item has a row.
func (t *Table) afterRefusal(ctx context.Context, old dynamo.Item, record Waiting, r streams.Record, otherwise Parking) (Parking, error) {
	row, _ := decodeRetryRow(old)
	if row.refused != nil {
		return 0, errors.Join(row.refused, t.DropParts(ctx, r.Handler, record))
	}

	for i, stored := range row.Records {
		switch {
		case stored.Sequence != record.Sequence:
		// Stored by an earlier try of this call, whose answer was lost.
		case stored.Parts.Token == record.Parts.Token:
			return Parked, nil
		case stored.Epoch < record.Epoch:
			return t.adopt(ctx, r.Handler, row, i, record)
		}
	}

	if row.More > 0 && row.last >= store.PaddedSequence(record.Sequence) {
		if result, err := t.adoptMore(ctx, r.Handler, row, record); err != nil || result != NotWaiting {
			return result, err
		}
	}

	// After the loop: a row that has stored the record needs the parts.
	if err := t.parts().Delete(ctx, t.Source(r.Handler), record.Parts); err != nil {
		return 0, err
	}

	switch {
	case len(old) == 0:
		return NotWaiting, nil
	// The newest record of the row is this one or a newer one, so an earlier delivery of the shard
	// has stored this one.
	case dynamo.Text(old, retryLast) >= store.PaddedSequence(record.Sequence):
		return Parked, nil
	}

	return otherwise, nil
}

// query reads the rows of a handler whose ids begin with prefix.
func (t *Table) query(handler, prefix string) *dynamodb.QueryInput {
	return &dynamodb.QueryInput{
		TableName:                &t.Table,
		ConsistentRead:           aws.Bool(true),
		KeyConditionExpression:   aws.String("#s = :s AND begins_with(#id, :row)"),
		ExpressionAttributeNames: map[string]string{"#s": store.Source, "#id": store.ID},
		ExpressionAttributeValues: dynamo.Item{
			":s":   dynamo.S(t.Source(handler)),
			":row": dynamo.S(prefix),
		},
	}
}

// List returns all rows of a handler. Refused rows are included, because their items wait, too.
func (t *Table) List(ctx context.Context, handler string) ([]Row, error) {
	in := t.query(handler, retryRowPrefix)

	var rows []Row
	for {
		out, err := t.API.Query(ctx, in)
		if err != nil {
			return nil, fmt.Errorf("streams: read the retry queue of %s: %w", handler, err)
		}

		for _, item := range out.Items {
			if row, ok := t.decode(item); ok {
				rows = append(rows, row)
			}
		}

		if len(out.LastEvaluatedKey) == 0 {
			return rows, nil
		}
		in.ExclusiveStartKey = out.LastEvaluatedKey
	}
}

// Get returns the row of an item. ok is false if the item has none.
func (t *Table) Get(ctx context.Context, handler string, hash store.ItemHash) (row Row, ok bool, err error) {
	item, err := t.read(ctx, handler, rowID(hash))
	if err != nil {
		return Row{}, false, fmt.Errorf("streams: read the retry queue of %s: %w", handler, err)
	}

	if row, ok = t.decode(item); row.refused != nil {
		return Row{}, false, row.refused
	}

	return row, ok && !row.Empty(), nil
}

// decode decodes a row and converts its times to the local clock.
func (t *Table) decode(item dynamo.Item) (Row, bool) {
	row, ok := decodeRetryRow(item)
	row.Since, row.NextTry = t.Clock.LocalAt(row.Since), t.Clock.LocalAt(row.NextTry)

	return row, ok
}

// read returns the row of a handler under the id, nil if there is none.
func (t *Table) read(ctx context.Context, handler, id string) (dynamo.Item, error) {
	out, err := t.API.GetItem(ctx, &dynamodb.GetItemInput{
		TableName:      &t.Table,
		Key:            store.RowKey(t.Source(handler), id),
		ConsistentRead: aws.Bool(true),
	})
	if err != nil {
		return nil, err
	}

	return out.Item, nil
}

// First returns the First record of the row.
func (t *Table) First(ctx context.Context, handler string, row Row) (streams.Record, error) {
	body, err := t.parts().Read(ctx, t.Source(handler), row.First().Parts)
	if err != nil {
		return streams.Record{}, err
	}

	return store.DecodeRecord(body)
}

// Postpone stores the state of the row after another failed call for its first record.
func (t *Table) Postpone(ctx context.Context, handler string, row Row) error {
	names := row.names()
	update := t.ifFirst(handler, row).
		SetValue(names.attempts, dynamo.N(int64(row.Attempts))).
		SetValue(names.since, dynamo.Millis(t.Clock.Service(row.Since))).
		SetValue(retryNextTry, dynamo.Millis(t.Clock.Service(row.NextTry))).
		SetValue(retryError, dynamo.S(row.LastErr))

	if _, _, err := store.Apply(ctx, t.API, update); err != nil {
		return fmt.Errorf("streams: postpone a record in the retry queue of %s: %w", handler, err)
	}

	return nil
}

// BeginTry stores that a worker begins a call for the row's first record. It reports false if the
// row has changed since it was read. A repeat of the write after a lost answer counts as stored.
func (t *Table) BeginTry(ctx context.Context, handler string, row Row, tries TryCount) (bool, error) {
	names := row.names()

	update := t.ifFirst(handler, row)
	update.SetValue(names.tries, dynamo.N(int64(tries.Count))).
		SetValue(names.triedBy, dynamo.S(tries.By))

	// Two workers may hold the lease for a moment. Only one of them counts this call.
	if row.Tries.Count > 0 {
		update.IfEquals(names.tries, dynamo.N(int64(row.Tries.Count)))
	} else {
		update.IfAbsent(names.tries)
	}

	old, applied, err := store.Apply(ctx, t.API, update)
	if err != nil {
		return false, fmt.Errorf("streams: note a try in the retry queue of %s: %w", handler, err)
	}
	now, _ := decodeRetryRow(old)

	return applied || (now.Length() > 0 && now.First() == row.First() && now.Tries == tries), nil
}

// EndTry stores that the worker's call has returned. It changes nothing if the row has another
// first record, or the newest call is another worker's.
func (t *Table) EndTry(ctx context.Context, handler string, row Row, by string) error {
	names := row.names()

	update := t.ifFirst(handler, row).
		IfEquals(names.triedBy, dynamo.S(by)).
		RemoveAttribute(names.tries).
		RemoveAttribute(names.triedBy)

	if _, _, err := store.Apply(ctx, t.API, update); err != nil {
		return fmt.Errorf("streams: note the end of a try in the retry queue of %s: %w", handler, err)
	}

	return nil
}

// ifFirst begins an update of the row. The update fails if the first record has changed, or a later
// holder of the queue's lease has begun with the row.
func (t *Table) ifFirst(handler string, row Row) *dynamo.Update {
	return t.updateHeld(handler, row).
		If(row.ifFirst()).
		Bind(":sequence", dynamo.S(row.First().Sequence)).
		Bind(":token", dynamo.S(row.First().Parts.Token))
}

// updateHeld begins an update of the row by the worker that has read it. It fails if a later holder
// of the queue's lease has begun with the row.
func (t *Table) updateHeld(handler string, row Row) *dynamo.Update {
	return t.Update(handler, row.Hash).If(ifHolder).Bind(":holder", dynamo.N(row.Holder))
}

// Claim notes that the holder of the queue's lease begins with the row. It reports false if the row
// has another first record, or a later holder has begun with it.
func (t *Table) Claim(ctx context.Context, handler string, row Row) (bool, error) {
	_, applied, err := store.Apply(ctx, t.API, t.ifFirst(handler, row).Set("#holder = :holder"))
	if err != nil {
		return false, fmt.Errorf("streams: begin with a row of the retry queue of %s: %w", handler, err)
	}

	return applied, nil
}

// Pop removes the first record, and with the last record the row. It returns the row as it is
// afterwards; a deleted row has no records. Pop returns no error if the record was removed before.
func (t *Table) Pop(ctx context.Context, handler string, row Row) (Row, error) {
	gone := false

	var err error
	// deleteRow fails if a record was appended since the row was read: that record needs the row.
	if row.Length() == 1 && row.More == 0 {
		if gone, err = t.deleteRow(ctx, handler, row); err != nil {
			return Row{}, err
		}
	}

	var left Row

	if !gone {
		// The row has at least one record: it had more than one when it was read, or deleteRow has
		// found a new one.
		names := row.names()
		update := t.ifFirst(handler, row).
			Remove("#"+names.list+"[0]").
			SetValue(names.attempts, dynamo.N(0)).
			RemoveAttribute(names.since).
			RemoveAttribute(retryError).
			RemoveAttribute(names.tries).
			RemoveAttribute(names.triedBy)

		after, _, err := store.Apply(ctx, t.API, update)
		if err != nil {
			return Row{}, fmt.Errorf("streams: remove a record from the retry queue of %s: %w", handler, err)
		}

		if left, _ = decodeRetryRow(after); left.refused != nil {
			return Row{}, left.refused
		}
		left.Holder = row.Holder
	}

	return left, t.parts().Delete(ctx, t.Source(handler), row.First().Parts)
}

// deleteRow deletes the row unless its records have changed since it was read.
func (t *Table) deleteRow(ctx context.Context, handler string, row Row) (bool, error) {
	_, err := t.API.DeleteItem(ctx, &dynamodb.DeleteItemInput{
		TableName: &t.Table,
		Key:       store.RowKey(t.Source(handler), rowID(row.Hash)),
		ConditionExpression: aws.String("(" + store.KnownFormat + ") AND attribute_not_exists(#more) AND size(#records) = :records" +
			" AND (attribute_not_exists(#replays) OR size(#replays) = :replays) AND (" + ifHolder + ") AND " + row.ifFirst()),
		ExpressionAttributeNames: map[string]string{
			"#format":   store.Format,
			"#more":     retryMore,
			"#records":  retryRecords,
			"#replays":  retryReplays,
			"#holder":   retryHolder,
			"#sequence": retrySequence,
			"#token":    retryToken,
		},
		ExpressionAttributeValues: dynamo.Item{
			":format":   dynamo.N(store.QueueRowFormat),
			":records":  dynamo.N(int64(len(row.Records))),
			":replays":  dynamo.N(int64(len(row.Replays))),
			":holder":   dynamo.N(row.Holder),
			":sequence": dynamo.S(row.First().Sequence),
			":token":    dynamo.S(row.First().Parts.Token),
		},
	})
	if _, failed := dynamo.FailedCondition(err); failed {
		return false, nil
	}

	if err != nil {
		return false, fmt.Errorf("streams: delete a row of the retry queue of %s: %w", handler, err)
	}

	return true, nil
}
