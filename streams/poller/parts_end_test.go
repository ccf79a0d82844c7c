package poller

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"ratchet/embedded/embeddedtest"
	"ratchet/internal/dynamo"
	"ratchet/streams"
	"ratchet/streams/store"
)

// deadRows returns all rows of the dead-letter table.
func (w *testEnv) deadRows() (rows []dynamo.Item) {
	w.Helper()

	pages := dynamodb.NewScanPaginator(w.db, &dynamodb.ScanInput{TableName: aws.String(deadTable), ConsistentRead: aws.Bool(true)})
	for pages.HasMorePages() {
		page, err := pages.NextPage(w.Context())
		if err != nil {
			w.Fatal(err)
		}

		rows = append(rows, page.Items...)
	}

	return rows
}

// parts returns the rows with Parts of records that wait.
func (w *testEnv) parts() (parts []dynamo.Item) {
	w.Helper()

	for _, row := range w.deadRows() {
		if strings.HasPrefix(dynamo.Text(row, store.ID), retryPartPrefix) {
			parts = append(parts, row)
		}
	}

	return parts
}

// writeLarge writes a version of an item whose record has two parts: the noise cannot be packed.
func (w *testEnv) writeLarge(id string, version int) {
	w.Helper()

	noise := make([]byte, 370<<10)
	_, _ = rand.Read(noise)
	item := dynamo.Item{"id": dynamo.S(id), "part": dynamo.S("-"), "version": dynamo.N(int64(version)), "noise": dynamo.B(noise)}

	if _, err := w.db.PutItem(w.Context(), &dynamodb.PutItemInput{TableName: aws.String(ordersTable), Item: item}); err != nil {
		w.Fatal(err)
	}
}

// orphans names the rows of the dead-letter table that have an image and no end, and the parts without a row.
func (w *testEnv) orphans() (found []string) {
	w.Helper()

	rows, ends := w.deadRows(), map[string]int64{}

	for _, row := range rows {
		// The row that says that a queue has further keys stays, and says nothing of an item.
		if dynamo.Text(row, store.ID) == retrySpreadID {
			continue
		}

		end := time.Until(time.Unix(dynamo.Number(row, store.Expiry), 0))
		if end <= 0 || end > 22*24*time.Hour {
			found = append(found, fmt.Sprintf("%s ends in %v", dynamo.Text(row, store.ID), end))
		}
		ends[dynamo.Text(row, store.Source)+" "+dynamo.Text(row, store.ID)] = dynamo.Number(row, store.Expiry)
	}

	for _, row := range rows {
		if row[store.Part] == nil {
			continue
		}
		owner, _, _ := strings.Cut(strings.Replace(dynamo.Text(row, store.ID), retryPartPrefix, retryRowPrefix, 1), "#")

		if end, there := ends[dynamo.Text(row, store.Source)+" "+owner]; !there || end != dynamo.Number(row, store.Expiry) {
			found = append(found, dynamo.Text(row, store.ID)+" has no row, or another end")
		}
	}

	return found
}

// TestEveryPartHasAnOwnerAndAnEnd: whatever happens to the write.
func TestEveryPartHasAnOwnerAndAnEnd(t *testing.T) {
	writes := []string{"PutItem", "UpdateItem", "DeleteItem", "TransactWriteItems"}
	for name, fault := range map[string]embeddedtest.Fault{
		"throttled":  embeddedtest.Answer("ThrottlingException", writes...),
		"no answer":  embeddedtest.LoseAnswer(writes...),
		"no request": embeddedtest.LoseRequest(writes...),
	} {
		if testing.Short() && name != "no answer" {
			continue
		}

		t.Run(name, func(t *testing.T) {
			virtually(t, func(t *testing.T) {
				w := newTestEnv(t, 1)
				l := newRecorder()
				transport, use := w.intercept()
				var down atomic.Bool
				down.Store(true)

				p := w.start(w.config(func(ctx context.Context, r streams.Record) error {
					if down.Load() {
						return errOutage
					}

					return l.handle(ctx, r)
				}, patient, use, func(c *Config) { c.Retry.Base, c.Retry.Max = 200*time.Millisecond, 200*time.Millisecond }))
				transport.Inject(fault.If(func(c *embeddedtest.Call) bool { return contains(c, retryRowPrefix) }).EveryNth(2))
				w.writeLarge("o-0", 1)
				w.write("o-0", 2)
				w.writeLarge("o-0", 3)
				w.until("they wait", func() bool { return len(w.waitingRows()) == 3 })
				time.Sleep(2 * time.Second)

				if found := w.orphans(); len(w.parts()) != 6 || len(found) > 0 {
					t.Errorf("%d parts, and %v", len(w.parts()), found)
				}

				down.Store(false)
				w.until("all are handled", func() bool { return l.distinct() == 3 && len(w.waitingRows()) == 0 })
				w.stopped(p)

				if n := len(w.parts()); n > 0 {
					t.Errorf("%d parts are left", n)
				}
				l.ordered(t, 1, 3)
			})
		})
	}
}

// TestPartsOutlastAWait: the queue's worker moves the end of rows and parts when it is near.
func TestPartsOutlastAWait(t *testing.T) {
	virtually(t, func(t *testing.T) {
		w := newTestEnv(t, 1)
		p := w.start(w.config(alwaysFails, patient))
		w.writeLarge("o-0", 1)
		w.write("o-1", 1)
		w.until("they wait", func() bool { return len(w.waitingRows()) == 2 && w.lagOf(p) == 0 })

		for _, row := range w.deadRows() {
			key := store.RowKey(dynamo.Text(row, store.Source), dynamo.Text(row, store.ID))
			soon := dynamo.NewUpdate(deadTable, key).SetValue(store.Expiry, dynamo.Seconds(time.Now().Add(time.Hour)))

			if _, _, err := store.Apply(t.Context(), w.db, soon); err != nil {
				t.Fatal(err)
			}
		}

		w.until("the ends are moved", func() bool {
			rows := w.waitingRows()
			return time.Until(rows[0].Ends) > 13*24*time.Hour && time.Until(rows[1].Ends) > 13*24*time.Hour
		})
		w.stopped(p)

		if found := w.orphans(); len(w.parts()) != 2 || len(found) > 0 {
			t.Errorf("%d parts, and %v", len(w.parts()), found)
		}
	})
}

// TestARecordWhosePartsAreGoneIsAGap: the item's next record is delivered.
func TestARecordWhosePartsAreGoneIsAGap(t *testing.T) {
	virtually(t, func(t *testing.T) {
		w := newTestEnv(t, 1)
		p := w.start(w.config(alwaysFails, patient))
		w.writeLarge("o-0", 1)
		w.write("o-0", 2)
		w.until("they wait", func() bool { return len(w.waitingRows()) == 2 && w.lagOf(p) == 0 })
		w.stopped(p)

		first := w.waitingRows()[0].Sequence
		for _, part := range w.parts() {
			if !strings.Contains(dynamo.Text(part, store.ID), first) {
				continue
			}

			key := store.RowKey(dynamo.Text(part, store.Source), dynamo.Text(part, store.ID))
			if _, err := w.db.DeleteItem(t.Context(), &dynamodb.DeleteItemInput{TableName: aws.String(deadTable), Key: key}); err != nil {
				t.Fatal(err)
			}
		}

		l, g := newRecorder(), &gaps{}
		p = w.start(w.config(l.handle, g.hook, func(c *Config) { c.OnGap = streams.GapHalt }))
		w.ended(p)

		var gap *streams.GapError
		if err := p.stop(); !errors.As(err, &gap) || gap.Gap.Reason != streams.GapQueue {
			t.Errorf("under GapHalt: %v", err)
		}

		p = w.start(w.config(l.handle, g.hook))
		w.until("the second one is handled", func() bool { return l.count() == 1 })
		w.stopped(p)

		if all := g.all(); len(all) != 2 || all[1].Reason != streams.GapQueue || all[1].Item != "3:o-0-" || l.of("o-0")[0] != 2 {
			t.Errorf("gaps %+v, handled %v", all, l.of("o-0"))
		}
	})
}
