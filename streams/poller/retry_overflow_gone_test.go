package poller

import (
	"errors"
	"strconv"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"ratchet/internal/dynamo"
	"ratchet/streams"
	"ratchet/streams/retryqueue"
	"ratchet/streams/store"
)

// storeVersions puts so many versions of o-0 into the retry queue.
func (w *testEnv) storeVersions(versions int) store.ItemHash {
	w.Helper()

	table := w.retries()
	for v := 1; v <= versions; v++ {
		w.storeVersion(table, v)
	}

	return store.HashOf("o-0")
}

func (w *testEnv) storeVersion(table *retryqueue.Table, version int) {
	w.Helper()

	r := w.waitingVersion(version)

	var err error
	if version == 1 {
		_, err = table.Create(w.Context(), store.HashOf("o-0"), r, retryqueue.Row{NextTry: time.Now()})
	} else {
		_, err = table.Append(w.Context(), store.HashOf("o-0"), r)
	}

	if err != nil {
		w.Fatal(err)
	}
}

// waitingVersion returns a record of o-0 for the handler h.
func (w *testEnv) waitingVersion(version int) streams.Record {
	return streams.Record{
		StreamARN: w.arn, SequenceNumber: strconv.Itoa(version), Handler: "h", EventName: streams.Modify,
		Keys: dynamo.Item{"id": dynamo.S("o-0")},
		New:  dynamo.Item{"version": dynamo.N(int64(version))},
	}
}

// storeBeside stores rows beside the row of o-0 for versions from first to last.
func (w *testEnv) storeBeside(table *retryqueue.Table, first, last int) {
	w.Helper()

	hash := store.HashOf("o-0")
	for v := first; v <= last; v++ {
		record, err := table.StoreRecord(w.Context(), hash, w.waitingVersion(v))
		if err != nil {
			w.Fatal(err)
		}

		row := store.RowKey(table.Source("h"), retryMorePrefix+hash.Text()+"/"+store.PaddedSequence(record.Sequence))
		row[retryRecords] = record.Encode()

		if _, err := w.db.PutItem(w.Context(), &dynamodb.PutItemInput{TableName: aws.String(deadTable), Item: row}); err != nil {
			w.Fatal(err)
		}
	}
}

// TestRecordsWhoseRowsAreGoneAreADeclaredGap: an item's row counts them, and they were deleted. What
// is left of the item goes on.
func TestRecordsWhoseRowsAreGoneAreADeclaredGap(t *testing.T) {
	const gone = 3

	for _, test := range []struct {
		name string
		halt bool
		row  int // records of the row
		left int // of those beside it
	}{
		{"all of them", false, 2, 0},
		{"some of them", false, 2, 2},
		{"the row has none either", false, 0, 0},
		{"under GapHalt", true, 2, 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			virtually(t, func(t *testing.T) {
				w := newTestEnv(t, 1)
				table, l := w.retries(), newRecorder()
				hash := w.storeVersions(max(test.row, 1))

				counted := table.Update("h", hash).SetValue(retryMore, dynamo.N(int64(test.left+gone)))
				if test.row == 0 {
					counted.Remove("#records[0]")
				}

				if _, _, err := store.Apply(t.Context(), w.db, counted); err != nil {
					t.Fatal(err)
				}
				w.storeBeside(table, test.row+1, test.row+test.left)

				gaps := make(chan streams.Gap, 10)
				run := func(policy streams.GapPolicy) *runningPoller {
					return w.start(w.config(l.handle, func(c *Config) {
						c.OnGap = policy
						c.Events.Gap = func(g streams.Gap) { gaps <- g }
					}))
				}

				want := streams.Gap{Reason: streams.GapQueue, Handler: "h", Item: "o-0"}
				if handled := test.row + test.left; handled > 0 {
					want.From = strconv.Itoa(handled)
				}
				declared := func() {
					t.Helper()

					got := <-gaps
					if got.Until.IsZero() {
						t.Error("the gap has no time")
					}

					if got.Until = (time.Time{}); got != want {
						t.Errorf("gap %+v, want %+v", got, want)
					}
				}

				if test.halt {
					p := run(streams.GapHalt)
					w.ended(p)

					var gap *streams.GapError
					if err := p.stop(); !errors.As(err, &gap) || gap.Gap.Reason != streams.GapQueue {
						t.Errorf("Run: %v", err)
					}
					declared()
				}

				p := run(streams.GapContinue)
				declared()
				w.until("the others are handled", func() bool { return l.count() == test.row+test.left })
				w.until("the row is gone", func() bool { return len(w.waitingRows()) == 0 })
				w.stopped(p)
			})
		})
	}
}
