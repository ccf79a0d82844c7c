package poller

import (
	"context"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	ddbtypes "github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ratchet/embedded/embeddedtest"
	"ratchet/internal/dynamo"
	"ratchet/streams"
	"ratchet/streams/store"
)

// parts returns the rows with Parts of records that wait.
func (w *testEnv) parts() []dynamo.Item {
	w.Helper()

	out, err := w.db.Scan(w.Context(), &dynamodb.ScanInput{TableName: aws.String(deadTable), ConsistentRead: aws.Bool(true)})
	if err != nil {
		w.Fatal(err)
	}

	var parts []dynamo.Item
	for _, row := range out.Items {
		if strings.HasPrefix(dynamo.Text(row, store.ID), retryPartPrefix) {
			parts = append(parts, row)
		}
	}

	return parts
}

// TestEveryPartHasAnOwnerAndAnEnd: whatever happens to the row that would refer to it.
func TestEveryPartHasAnOwnerAndAnEnd(t *testing.T) {
	for name, fault := range map[string]func() embeddedtest.Fault{
		"throttled":  func() embeddedtest.Fault { return embeddedtest.Answer("ThrottlingException", "UpdateItem") },
		"no answer":  func() embeddedtest.Fault { return embeddedtest.LoseAnswer("UpdateItem") },
		"no request": func() embeddedtest.Fault { return embeddedtest.LoseRequest("UpdateItem") },
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
				}, patient, use))
				w.write("o-0", 1)
				w.until("it waits", func() bool { return len(w.waitingRows()) == 1 })

				faults := transport.Inject(fault().
					If(func(c *embeddedtest.Call) bool { return contains(c, "list_append") }))
				w.write("o-0", 2)
				time.Sleep(2 * time.Second)

				for _, part := range w.parts() {
					var keys dynamo.Item
					if m, _ := part[store.Keys].(*ddbtypes.AttributeValueMemberM); m != nil {
						keys = m.Value
					}

					end := time.Until(time.Unix(dynamo.Number(part, store.Expiry), 0))

					if dynamo.Text(keys, "id") != "o-0" || end <= 0 || end > partsLife {
						t.Errorf("a part of %v ends in %v", keys, end)
					}
				}

				if n := len(w.parts()); name == "throttled" && n > 2 {
					t.Errorf("%d parts of two records, although it is known that no row refers to the others", n)
				}

				faults.Remove()
				down.Store(false)
				w.until("all are handled", func() bool { return l.count() >= 2 })
				w.until("the queue is empty", func() bool { return len(w.waitingRows()) == 0 })
				w.stopped(p)
			})
		})
	}
}

// TestPartsOutlastAWait: the queue's worker moves their end, and a record whose parts are gone is a gap.
func TestPartsOutlastAWait(t *testing.T) {
	virtually(t, func(t *testing.T) {
		w := newTestEnv(t, 1)
		const versions = maxRowRecords + 2 // two of them in rows of their own
		table, hash := w.retries(), w.storeVersions(versions)

		row, _, err := table.Get(t.Context(), "h", hash)
		if err != nil {
			t.Fatal(err)
		}

		soon := store.Parts{API: w.db, Table: deadTable, Expiry: dynamo.Seconds(time.Now().Add(time.Hour))}
		ends := func() []time.Duration {
			var all []time.Duration
			for _, part := range w.parts() {
				all = append(all, time.Until(time.Unix(dynamo.Number(part, store.Expiry), 0)))
			}

			return all
		}

		for _, r := range row.Records {
			if err := soon.Keep(t.Context(), table.Source("h"), r.Parts); err != nil {
				t.Fatal(err)
			}
		}

		row.PartsEnd = time.Now().Add(partsLife/2 + time.Hour)
		if err := table.KeepParts(t.Context(), "h", row); err != nil || slices.Sorted(slices.Values(ends()))[maxRowRecords-1] > time.Hour {
			t.Errorf("moved although no end is near: %v", err)
		}

		row.PartsEnd = time.Now().Add(time.Hour)
		if err := table.KeepParts(t.Context(), "h", row); err != nil {
			t.Fatal(err)
		}

		if all := ends(); len(all) != versions || slices.Min(all) < partsLife-time.Minute {
			t.Errorf("the ends of %d parts are in %v", len(all), all)
		}

		if row, _, _ = table.Get(t.Context(), "h", hash); time.Until(row.PartsEnd) < partsLife-time.Minute {
			t.Errorf("the row says that the parts end in %v", time.Until(row.PartsEnd))
		}
	})
}

// TestARecordWhosePartsAreGoneIsAGap: the item's next record is delivered.
func TestARecordWhosePartsAreGoneIsAGap(t *testing.T) {
	virtually(t, func(t *testing.T) {
		w := newTestEnv(t, 1)
		hash := w.storeVersions(2)

		row, _, err := w.retries().Get(t.Context(), "h", hash)
		if err != nil {
			t.Fatal(err)
		}

		if err := w.retries().DropParts(t.Context(), "h", row.First()); err != nil {
			t.Fatal(err)
		}

		l, g := newRecorder(), &gaps{}
		p := w.start(w.config(l.handle, g.hook))
		w.until("the second one is handled", func() bool { return l.count() == 1 })
		w.stopped(p)

		if all := g.all(); len(all) != 1 || all[0].Reason != streams.GapQueue || l.of("o-0")[0] != 2 {
			t.Errorf("gaps %+v, handled %v", all, l.of("o-0"))
		}
	})
}
