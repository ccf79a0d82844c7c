package retryqueue

import (
	"context"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"ratchet/internal/dynamo"
	"ratchet/streams"
	"ratchet/streams/store"
)

// Drop removes the waiting records of a handler that drop selects, and returns their number. It also removes the
// marks of the handler: after a restore, an item may make versions again that a Rebuild has queued before.
// A record that cannot be read stays. With look, nothing is removed. No worker should run: it may be
// calling the handler with the record.
func (q Queue) Drop(ctx context.Context, handler string, look bool, drop func(streams.Record) (bool, error)) (count int, err error) {
	rows := q.Rows()

	err = rows.each(ctx, handler, func(item dynamo.Item) error {
		row, ok := rows.decode(item)
		if !ok || row.refused != nil {
			return nil
		}

		record, err := rows.Record(ctx, handler, row)
		if err != nil {
			return nil //nolint:nilerr // it stays with its handler, which makes a dead letter of it
		}

		selected, err := drop(record)
		if err == nil && selected && !look {
			selected, err = rows.Remove(ctx, handler, row)
		}

		if selected {
			count++
		}

		return err
	})
	if err != nil || look {
		return count, err
	}

	return count, rows.eachUnder(ctx, handler, rows.source(handler, 0), retryMarkPrefix, func(item dynamo.Item) error {
		_, err := rows.API.DeleteItem(ctx, &dynamodb.DeleteItemInput{TableName: &rows.Table, Key: store.RowKey(rows.source(handler, 0), dynamo.Text(item, store.ID))})
		if err != nil {
			return fmt.Errorf("streams: remove a mark of %s: %w", handler, err)
		}

		return nil
	})
}

// each calls fn for the rows of a handler. The first key is read first: its rows say whether there are others.
func (t *Table) each(ctx context.Context, handler string, fn func(dynamo.Item) error) error {
	for key := 0; key < t.Keys(handler); key++ {
		if err := t.eachUnder(ctx, handler, t.source(handler, key), rowPrefix, fn); err != nil {
			return err
		}
	}

	return nil
}

// eachUnder calls fn for the rows under one key whose ids begin with the prefix.
func (t *Table) eachUnder(ctx context.Context, handler, source, prefix string, fn func(dynamo.Item) error) error {
	pages := dynamodb.NewQueryPaginator(t.API, t.query(source, prefix))
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return fmt.Errorf("streams: read the retry queue of %s: %w", handler, err)
		}

		for _, item := range page.Items {
			if dynamo.Text(item, store.ID) == spreadID {
				if err := checkSpread(item); err != nil {
					return err
				}
				t.noteSpread(handler)
				continue
			}

			if err := fn(item); err != nil {
				return err
			}
		}
	}

	return nil
}
