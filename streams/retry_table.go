package streams

import (
	"context"
	"errors"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	ddbtypes "github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ratchet/internal/dynamo"
)

// retryTable is the retry queue of one table's stream.
//
// While an item has a row here, only the retry queue delivers the item's records to the handler,
// and the shard's worker appends new records to the row. The row is deleted with its last record,
// by a write that fails if another record was appended meanwhile.
type retryTable struct {
	api   dynamoAPI
	table string // the dead-letter table
	scope string // name of the stream's table
	clock *dynamo.Clock
}

func (t *retryTable) source(handler string) string {
	return retrySourcePrefix + t.scope + "/" + handler
}

// update begins an update of an item's row. It fails if the row has a newer format.
func (t *retryTable) update(handler string, hash laneHash) *dynamo.Update {
	return ifFormat(dynamo.NewUpdate(t.table, deadLetterRowKey(t.source(handler), hash.rowID())), retryRowFormat)
}

// parking is the result of adding a record to the queue.
type parking int

const (
	parked     parking = iota // the record is in the queue, or was there and has been handled
	notWaiting                // the item has no row
	isWaiting                 // the item has a row already
	rowChanged                // the item's row has changed since it was read: try again
)

// create stores a row for the item of the record r, unless the item has one.
func (t *retryTable) create(ctx context.Context, hash laneHash, r Record, state retryRow) (parking, error) {
	// The record is stored before the row refers to it. A crash in between leaves parts without a row,
	// which end by themselves.
	record, err := t.storeRecord(ctx, hash, r)
	if err != nil {
		return 0, errors.Join(err, t.dropParts(ctx, r.Handler, record))
	}

	row := deadLetterRowKey(t.source(r.Handler), hash.rowID())
	row[rowFormat] = dynamo.N(retryRowFormat)
	row[deadLetterKeys] = dynamo.M(r.Keys)
	row[retryRecords] = &ddbtypes.AttributeValueMemberL{Value: []ddbtypes.AttributeValue{record.encode()}}
	row[retryLast] = dynamo.S(paddedSequence(r.SequenceNumber))
	row[retryAttempts] = dynamo.N(int64(state.attempts))
	row[retryNextTry] = dynamo.Millis(t.clock.Service(state.nextTry))
	row[retryPartsEnd] = dynamo.Millis(t.partsEnd())
	row[retryError] = dynamo.S(state.lastErr)

	if !state.since.IsZero() {
		row[retrySince] = dynamo.Millis(t.clock.Service(state.since))
	}

	put := &dynamodb.PutItemInput{
		TableName:                           &t.table,
		Item:                                row,
		ConditionExpression:                 aws.String("attribute_not_exists(#id)"),
		ExpressionAttributeNames:            map[string]string{"#id": deadLetterID},
		ReturnValuesOnConditionCheckFailure: ddbtypes.ReturnValuesOnConditionCheckFailureAllOld,
	}

	unknown, err := writeRow(ctx, func() error {
		_, err := t.api.PutItem(ctx, put, dynamo.WithoutRetries)
		return err
	})
	if old, exists := dynamo.FailedCondition(err); exists {
		return t.afterRefusal(ctx, old, record, r, isWaiting)
	}

	if err != nil {
		return 0, t.afterFault(ctx, record, r, unknown, err)
	}

	return parked, nil
}

// append adds the record behind the waiting records of its item.
func (t *retryTable) append(ctx context.Context, hash laneHash, r Record) (parking, error) {
	record, err := t.storeRecord(ctx, hash, r)
	if err != nil {
		return 0, errors.Join(err, t.dropParts(ctx, r.Handler, record))
	}

	last := dynamo.S(paddedSequence(r.SequenceNumber))
	// Padded numbers compare as text. The condition on last fails for a record that was stored
	// before.
	update := t.update(r.Handler, hash).
		IfPresent(deadLetterID).
		IfAbsent(retryMore).
		If("#last < :last").
		If("size(#records) < :max").
		Bind(":last", last).
		Bind(":max", dynamo.N(maxRowRecords)).
		Bind(":record", &ddbtypes.AttributeValueMemberL{Value: []ddbtypes.AttributeValue{record.encode()}}).
		Set("#records = list_append(#records, :record)").
		Set("#last = :last")

	var (
		old     dynamo.Item
		applied bool
	)

	unknown, err := writeRow(ctx, func() (err error) {
		old, applied, err = applyUpdate(ctx, t.api, update, dynamo.WithoutRetries)
		return err
	})

	switch {
	case err != nil:
		return 0, t.afterFault(ctx, record, r, unknown, err)
	case applied:
		return parked, nil
	}

	// The list is full, or newer records have rows of their own: the new record must come behind
	// all of them.
	if row, ok := decodeRetryRow(old); ok && row.takesMore() && row.last < paddedSequence(r.SequenceNumber) {
		added, err := t.appendMore(ctx, r.Handler, row, record)
		// Only a canceled transaction proves that no row refers to the parts. After other errors
		// the outcome is unknown, so the parts stay.
		if cancellation(err) != nil {
			err = errors.Join(err, t.dropParts(ctx, r.Handler, record))
		}

		if err != nil || added {
			return parked, err
		}
	}

	return t.afterRefusal(ctx, old, record, r, rowChanged)
}

// afterRefusal finds out why the write of the record failed its condition, from the row as it was
// then. It deletes the record's parts if no row refers to them. The argument otherwise is the
// result if the record is neither stored nor handled and the item has a row.
func (t *retryTable) afterRefusal(ctx context.Context, old dynamo.Item, record waitingRecord, r Record, otherwise parking) (parking, error) {
	row, _ := decodeRetryRow(old)
	if row.refused != nil {
		return 0, errors.Join(row.refused, t.dropParts(ctx, r.Handler, record))
	}

	for i, stored := range row.records {
		switch {
		case stored.sequence != record.sequence:
		// Stored by an earlier try of this call, whose answer was lost.
		case stored.parts.token == record.parts.token:
			return parked, nil
		case stored.epoch < record.epoch:
			return t.adopt(ctx, r.Handler, row, i, record)
		}
	}

	if row.more > 0 && row.last >= paddedSequence(record.sequence) {
		if result, err := t.adoptMore(ctx, r.Handler, row, record); err != nil || result != notWaiting {
			return result, err
		}
	}

	// After the loop: a row that has stored the record needs the parts.
	if err := t.parts().delete(ctx, t.source(r.Handler), record.parts); err != nil {
		return 0, err
	}

	switch {
	case len(old) == 0:
		return notWaiting, nil
	// The newest record of the row is this one or a newer one, so an earlier delivery of the shard
	// has stored this one.
	case dynamo.Text(old, retryLast) >= paddedSequence(record.sequence):
		return parked, nil
	}

	return otherwise, nil
}

// query reads the rows of a handler whose ids begin with prefix.
func (t *retryTable) query(handler, prefix string) *dynamodb.QueryInput {
	return &dynamodb.QueryInput{
		TableName:                &t.table,
		ConsistentRead:           aws.Bool(true),
		KeyConditionExpression:   aws.String("#s = :s AND begins_with(#id, :row)"),
		ExpressionAttributeNames: map[string]string{"#s": deadLetterSource, "#id": deadLetterID},
		ExpressionAttributeValues: dynamo.Item{
			":s":   dynamo.S(t.source(handler)),
			":row": dynamo.S(prefix),
		},
	}
}

// list returns all rows of a handler. Refused rows are included, because their items wait, too.
func (t *retryTable) list(ctx context.Context, handler string) ([]retryRow, error) {
	in := t.query(handler, retryRowPrefix)

	var rows []retryRow
	for {
		out, err := t.api.Query(ctx, in)
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

// get returns the row of an item. ok is false if the item has none.
func (t *retryTable) get(ctx context.Context, handler string, hash laneHash) (row retryRow, ok bool, err error) {
	item, err := t.read(ctx, handler, hash.rowID())
	if err != nil {
		return retryRow{}, false, fmt.Errorf("streams: read the retry queue of %s: %w", handler, err)
	}

	if row, ok = t.decode(item); row.refused != nil {
		return retryRow{}, false, row.refused
	}

	return row, ok && !row.empty(), nil
}

// decode decodes a row and converts its times to the local clock.
func (t *retryTable) decode(item dynamo.Item) (retryRow, bool) {
	row, ok := decodeRetryRow(item)
	row.since, row.nextTry = t.clock.LocalAt(row.since), t.clock.LocalAt(row.nextTry)

	return row, ok
}

// read returns the row of a handler under the id, nil if there is none.
func (t *retryTable) read(ctx context.Context, handler, id string) (dynamo.Item, error) {
	out, err := t.api.GetItem(ctx, &dynamodb.GetItemInput{
		TableName:      &t.table,
		Key:            deadLetterRowKey(t.source(handler), id),
		ConsistentRead: aws.Bool(true),
	})
	if err != nil {
		return nil, err
	}

	return out.Item, nil
}

// first returns the first record of the row.
func (t *retryTable) first(ctx context.Context, handler string, row retryRow) (Record, error) {
	body, err := t.parts().read(ctx, t.source(handler), row.first().parts)
	if err != nil {
		return Record{}, err
	}

	return decodeRecord(body)
}

// postpone stores the state of the row after another failed call for its first record.
func (t *retryTable) postpone(ctx context.Context, handler string, row retryRow) error {
	names := row.names()
	update := t.ifFirst(handler, row).
		SetValue(names.attempts, dynamo.N(int64(row.attempts))).
		SetValue(names.since, dynamo.Millis(t.clock.Service(row.since))).
		SetValue(retryNextTry, dynamo.Millis(t.clock.Service(row.nextTry))).
		SetValue(retryError, dynamo.S(row.lastErr))

	if _, _, err := applyUpdate(ctx, t.api, update); err != nil {
		return fmt.Errorf("streams: postpone a record in the retry queue of %s: %w", handler, err)
	}

	return nil
}

// beginTry stores that a worker begins a call for the row's first record. It reports false if the
// row has changed since it was read. A repeat of the write after a lost answer counts as stored.
func (t *retryTable) beginTry(ctx context.Context, handler string, row retryRow, tries tryCount) (bool, error) {
	names := row.names()

	update := t.ifFirst(handler, row)
	update.SetValue(names.tries, dynamo.N(int64(tries.count))).
		SetValue(names.triedBy, dynamo.S(tries.by))

	// Two workers may hold the lease for a moment. Only one of them counts this call.
	if row.tries.count > 0 {
		update.IfEquals(names.tries, dynamo.N(int64(row.tries.count)))
	} else {
		update.IfAbsent(names.tries)
	}

	old, applied, err := applyUpdate(ctx, t.api, update)
	if err != nil {
		return false, fmt.Errorf("streams: note a try in the retry queue of %s: %w", handler, err)
	}
	now, _ := decodeRetryRow(old)

	return applied || (now.length() > 0 && now.first() == row.first() && now.tries == tries), nil
}

// endTry stores that the worker's call has returned. It changes nothing if the row has another
// first record, or the newest call is another worker's.
func (t *retryTable) endTry(ctx context.Context, handler string, row retryRow, by string) error {
	names := row.names()

	update := t.ifFirst(handler, row).
		IfEquals(names.triedBy, dynamo.S(by)).
		RemoveAttribute(names.tries).
		RemoveAttribute(names.triedBy)

	if _, _, err := applyUpdate(ctx, t.api, update); err != nil {
		return fmt.Errorf("streams: note the end of a try in the retry queue of %s: %w", handler, err)
	}

	return nil
}

// ifFirst begins an update of the row. The update fails if the first record has changed, or a later
// holder of the queue's lease has begun with the row.
func (t *retryTable) ifFirst(handler string, row retryRow) *dynamo.Update {
	return t.updateHeld(handler, row).
		If(row.ifFirst()).
		Bind(":sequence", dynamo.S(row.first().sequence)).
		Bind(":token", dynamo.S(row.first().parts.token))
}

// updateHeld begins an update of the row by the worker that has read it. It fails if a later holder
// of the queue's lease has begun with the row.
func (t *retryTable) updateHeld(handler string, row retryRow) *dynamo.Update {
	return t.update(handler, row.hash).If(ifHolder).Bind(":holder", dynamo.N(row.holder))
}

// claim notes that the holder of the queue's lease begins with the row. It reports false if the row
// has another first record, or a later holder has begun with it.
func (t *retryTable) claim(ctx context.Context, handler string, row retryRow) (bool, error) {
	_, applied, err := applyUpdate(ctx, t.api, t.ifFirst(handler, row).Set("#holder = :holder"))
	if err != nil {
		return false, fmt.Errorf("streams: begin with a row of the retry queue of %s: %w", handler, err)
	}

	return applied, nil
}

// pop removes the first record, and with the last record the row. It returns the row as it is
// afterwards; a deleted row has no records. pop returns no error if the record was removed before.
func (t *retryTable) pop(ctx context.Context, handler string, row retryRow) (retryRow, error) {
	gone := false

	var err error
	// deleteRow fails if a record was appended since the row was read: that record needs the row.
	if row.length() == 1 && row.more == 0 {
		if gone, err = t.deleteRow(ctx, handler, row); err != nil {
			return retryRow{}, err
		}
	}

	var left retryRow

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

		after, _, err := applyUpdate(ctx, t.api, update)
		if err != nil {
			return retryRow{}, fmt.Errorf("streams: remove a record from the retry queue of %s: %w", handler, err)
		}

		if left, _ = decodeRetryRow(after); left.refused != nil {
			return retryRow{}, left.refused
		}
		left.holder = row.holder
	}

	return left, t.parts().delete(ctx, t.source(handler), row.first().parts)
}

// deleteRow deletes the row unless its records have changed since it was read.
func (t *retryTable) deleteRow(ctx context.Context, handler string, row retryRow) (bool, error) {
	_, err := t.api.DeleteItem(ctx, &dynamodb.DeleteItemInput{
		TableName: &t.table,
		Key:       deadLetterRowKey(t.source(handler), row.hash.rowID()),
		ConditionExpression: aws.String("(" + knownFormat + ") AND attribute_not_exists(#more) AND size(#records) = :records" +
			" AND (attribute_not_exists(#replays) OR size(#replays) = :replays) AND (" + ifHolder + ") AND " + row.ifFirst()),
		ExpressionAttributeNames: map[string]string{
			"#format":   rowFormat,
			"#more":     retryMore,
			"#records":  retryRecords,
			"#replays":  retryReplays,
			"#holder":   retryHolder,
			"#sequence": retrySequence,
			"#token":    retryToken,
		},
		ExpressionAttributeValues: dynamo.Item{
			":format":   dynamo.N(retryRowFormat),
			":records":  dynamo.N(int64(len(row.records))),
			":replays":  dynamo.N(int64(len(row.replays))),
			":holder":   dynamo.N(row.holder),
			":sequence": dynamo.S(row.first().sequence),
			":token":    dynamo.S(row.first().parts.token),
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
