package streams

import (
	"context"
	"errors"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	ddbtypes "github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ratchet/embedded/embeddedtest"
	"ratchet/internal/dynamo"
)

// earlierRows does what workers of the earlier version did with an item's row in the retry queue,
// when they knew of no rows beside it: as commit 229af0d has it.
type earlierRows struct {
	*testEnv
	table *retryTable
}

const earlierMax = 1000 // records in a row

// get returns the records of the row as the earlier version decoded them.
func (e earlierRows) get(hash laneHash) (row dynamo.Item, records []waitingRecord) {
	e.Helper()

	row, err := e.table.read(e.Context(), "h", hash.rowID())
	if err != nil {
		e.Fatal(err)
	}

	list, _ := row[retryRecords].(*ddbtypes.AttributeValueMemberL)
	if list == nil {
		return row, nil
	}

	for _, element := range list.Value {
		if _, ok := element.(*ddbtypes.AttributeValueMemberM); ok {
			records = append(records, decodeWaitingRecord(element, hash))
		}
	}

	return row, records
}

// deliver handles the first record and removes it, or deletes the row with it. It returns false if the
// item has no row, and an error if the record cannot be read.
func (e earlierRows) deliver(hash laneHash, handle HandlerFunc) (bool, error) {
	e.Helper()

	_, records := e.get(hash)
	if len(records) == 0 {
		return false, nil
	}

	body, err := e.table.parts().read(e.Context(), e.table.source("h"), records[0].parts)
	if err != nil {
		return true, err
	}

	r, err := decodeRecord(body)
	if err == nil {
		err = handle(e.Context(), r)
	}

	if err != nil {
		e.Fatal(err)
	}

	row := retryRow{hash: hash, records: records}
	if len(records) == 1 {
		gone, err := e.table.deleteRow(e.Context(), "h", row)
		if err != nil {
			e.Fatal(err)
		}

		if gone {
			return false, nil
		}
	}

	update := e.table.ifFirst("h", row).Remove("#records[0]").SetValue(retryAttempts, dynamo.N(0))
	if _, _, err := applyUpdate(e.Context(), e.db, update); err != nil {
		e.Fatal(err)
	}

	return true, nil
}

// append adds a record unless the row is full. It reports whether it did.
func (e earlierRows) append(hash laneHash, sequence string) bool {
	e.Helper()

	record := waitingRecord{sequence: sequence}
	update := dynamo.NewUpdate(deadTable, deadLetterRowKey(e.table.source("h"), hash.rowID())).
		IfPresent(deadLetterID).
		If("#last < :last").
		If("size(#records) < :max").
		Bind(":last", dynamo.S(paddedSequence(sequence))).
		Bind(":max", dynamo.N(earlierMax)).
		Bind(":record", &ddbtypes.AttributeValueMemberL{Value: []ddbtypes.AttributeValue{record.encode()}}).
		Set("#records = list_append(#records, :record)").
		Set("#last = :last")

	_, applied, err := applyUpdate(e.Context(), e.db, update)
	if err != nil {
		e.Fatal(err)
	}

	return applied
}

// storeVersions puts so many versions of o-0 into the retry queue.
func (w *testEnv) storeVersions(versions int) laneHash {
	w.Helper()

	table := w.retries()
	for v := 1; v <= versions; v++ {
		w.storeVersion(table, v)
	}

	return hashLane("o-0")
}

func (w *testEnv) storeVersion(table *retryTable, version int) {
	w.Helper()

	r := w.waitingVersion(version)

	var err error
	if version == 1 {
		_, err = table.create(w.Context(), hashLane("o-0"), r, retryRow{nextTry: time.Now()})
	} else {
		_, err = table.append(w.Context(), hashLane("o-0"), r)
	}

	if err != nil {
		w.Fatal(err)
	}
}

// waitingVersion returns a record of o-0 for the handler h.
func (w *testEnv) waitingVersion(version int) Record {
	return Record{
		StreamARN: w.arn, SequenceNumber: strconv.Itoa(version), Handler: "h", EventName: Modify,
		Keys: dynamo.Item{"id": dynamo.S("o-0")},
		New:  dynamo.Item{"version": dynamo.N(int64(version))},
	}
}

// TestAnEarlierVersionLosesNoRecordsBesideARow: a worker that does not know of them, and comes at any
// time, delivers the first ones and then fails until a worker of this version has the queue.
func TestAnEarlierVersionLosesNoRecordsBesideARow(t *testing.T) {
	const beside = refillRecords + 20

	w := newTestEnv(t, 1)
	l := newRecorder()
	hash := w.storeVersions(maxRowRecords + beside)
	earlier := earlierRows{w, w.retries()}

	var err error
	for waits := true; waits && err == nil; {
		if earlier.append(hash, strconv.Itoa(maxRowRecords+beside+1)) {
			t.Fatal("it has added a record before those that wait beside the row")
		}
		waits, err = earlier.deliver(hash, l.handle)
	}

	if err == nil || l.count() != maxRowRecords {
		t.Fatalf("it has delivered %d records: %v", l.count(), err)
	}

	p := w.start(w.config(l.handle))
	w.until("all are handled", func() bool {
		row, _ := earlier.get(hash)
		return row == nil
	})
	w.stopped(p)
	l.ordered(t, 1, maxRowRecords+beside)

	if l.count() != maxRowRecords+beside {
		t.Errorf("%d calls", l.count())
	}
}

// TestAnEarlierVersionGetsTheRowWhenNothingWaitsBesideIt: the fence is taken away.
func TestAnEarlierVersionGetsTheRowWhenNothingWaitsBesideIt(t *testing.T) {
	w := newTestEnv(t, 1)
	hash := w.storeVersions(maxRowRecords + 1)
	table, earlier := w.retries(), earlierRows{w, w.retries()}

	row, _, err := table.get(t.Context(), "h", hash)
	if err != nil {
		t.Fatal(err)
	}

	if moved, err := table.refill(t.Context(), "h", row); err != nil || !moved {
		t.Fatal(moved, err)
	}

	if _, records := earlier.get(hash); len(records) != maxRowRecords+1 {
		t.Errorf("it finds %d records", len(records))
	}

	if !earlier.append(hash, strconv.Itoa(maxRowRecords+2)) {
		t.Error("it cannot add a record")
	}
}

// storeBeside stores rows beside the row of o-0 for versions from first to last.
func (w *testEnv) storeBeside(table *retryTable, first, last int) {
	w.Helper()

	hash := hashLane("o-0")
	for v := first; v <= last; v++ {
		record, err := table.storeRecord(w.Context(), hash, w.waitingVersion(v))
		if err != nil {
			w.Fatal(err)
		}

		row := deadLetterRowKey(table.source("h"), hash.moreID(record.sequence))
		row[retryRecords] = record.encode()

		if _, err := w.db.PutItem(w.Context(), &dynamodb.PutItemInput{TableName: aws.String(deadTable), Item: row}); err != nil {
			w.Fatal(err)
		}
	}
}

// TestRecordsThatNoRowCountsAreFound: an item's row was deleted while others were beside it. They are
// delivered in their order, before what the item's row has by then, and reported.
func TestRecordsThatNoRowCountsAreFound(t *testing.T) {
	const beside = refillRecords + 2

	for _, later := range []int{0, 1} {
		w := newTestEnv(t, 1)
		table, l := w.retries(), newRecorder()
		w.storeBeside(table, 1, beside)

		if later > 0 {
			if _, err := table.create(t.Context(), hashLane("o-0"), w.waitingVersion(beside+1), retryRow{nextTry: time.Now()}); err != nil {
				t.Fatal(err)
			}
		}

		reported := make(chan error, 10)
		p := w.start(w.config(l.handle, func(c *Config) {
			c.Events.Fault = func(_, _ string, err error) {
				if errors.Is(err, errOrphans) {
					reported <- err
				}
			}
		}))
		w.until("all are handled", func() bool { return l.count() == beside+later })
		w.until("no row is left", func() bool { return w.scanDeadLetters() == 0 })
		w.stopped(p)
		l.ordered(t, 1, beside+later)

		if len(reported) != 1 {
			t.Errorf("reported %d times", len(reported))
		}
	}
}

// TestASearchReadsFewOfTheRowsThatAreCounted: of an item with a long queue it reads the first ones. Those
// of the other item are found, although there are more than one transaction can move.
func TestASearchReadsFewOfTheRowsThatAreCounted(t *testing.T) {
	const orphans = refillRecords + 2

	w := newTestEnv(t, 1)
	before := w.storeOverflow(2*refillRecords, maxRowRecords)
	table := w.retries()
	w.storeBeside(table, 1, orphans)

	var read atomic.Int32
	transport, throughTransport := w.intercept()
	transport.After(func(c *embeddedtest.Call) error {
		if c.Operation == "Query" || c.Operation == "GetItem" {
			read.Add(1)
		}

		return nil
	})

	cfg := w.config(newRecorder().handle, throughTransport).withDefaults()
	q := &retryQueue{queues: newLaneScheduler(&cfg).queues, h: &cfg.Handlers[0]}
	q.adoptOrphans(t.Context())

	found, _, err := table.get(t.Context(), "h", hashLane("o-0"))
	if err != nil || len(found.replays) != orphans {
		t.Fatalf("%d orphans, %v, want %d", len(found.replays), err, orphans)
	}

	for i, r := range found.replays {
		if r.sequence != strconv.Itoa(i+1) {
			t.Fatalf("record %s is at %d", r.sequence, i)
		}
	}

	if after, _, err := table.get(t.Context(), "h", before.hash); err != nil || after.more != before.more || len(after.replays) > 0 {
		t.Errorf("the other item: %d records beside the row, %d replays, %v", after.more, len(after.replays), err)
	}

	// Of the orphans, two pages, two looks at the row, two records and the last page; of the others a page
	// and the row; and the end.
	if read.Load() > 10 {
		t.Errorf("%d reads", read.Load())
	}

	// A worker adds records beside a row between two steps of the search.
	last := deadLetterRowKey(table.source("h"), before.hash.moreID(strconv.Itoa(maxRowRecords+2*refillRecords-2)))
	w.storeBeside(table, 1, 3)

	hash, rows, err := table.firstRows(t.Context(), "h", last)
	if err != nil || hash != before.hash || len(rows) != 2 {
		t.Fatalf("%d rows of %s, %v, want those of one item", len(rows), hash.rowID(), err)
	}

	if adopted, err := table.adopt(t.Context(), "h", hash, rows); err != nil || adopted {
		t.Errorf("rows that are counted were adopted: %t, %v", adopted, err)
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
			w := newTestEnv(t, 1)
			table, l := w.retries(), newRecorder()
			hash := w.storeVersions(max(test.row, 1))

			counted := table.update("h", hash).SetValue(retryMore, dynamo.N(int64(test.left+gone)))
			if test.row == 0 {
				counted.Remove("#records[0]")
			}

			if _, _, err := applyUpdate(t.Context(), w.db, counted); err != nil {
				t.Fatal(err)
			}
			w.storeBeside(table, test.row+1, test.row+test.left)

			gaps := make(chan Gap, 10)
			run := func(policy GapPolicy) *runningPoller {
				return w.start(w.config(l.handle, func(c *Config) {
					c.OnGap = policy
					c.Events.Gap = func(g Gap) { gaps <- g }
				}))
			}

			want := Gap{Reason: GapQueue, Handler: "h", Item: "o-0"}
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
				p := run(GapHalt)
				<-p.done

				var gap *GapError
				if err := p.stop(); !errors.As(err, &gap) || gap.Gap.Reason != GapQueue {
					t.Errorf("Run: %v", err)
				}
				declared()
			}

			p := run(GapContinue)
			declared()
			w.until("the others are handled", func() bool { return l.count() == test.row+test.left })
			w.until("the row is gone", func() bool { return len(w.waitingRows()) == 0 })
			w.stopped(p)
		})
	}
}

// TestAMoveThatIsRefusedIsNotRepeatedAtOnce: the pauses between the tries grow.
func TestAMoveThatIsRefusedIsNotRepeatedAtOnce(t *testing.T) {
	w := newTestEnv(t, 1)
	row := w.storeOverflow(2, 1)

	transport, throughTransport := w.intercept()
	transport.Inject(refusedTransactions)

	cfg := w.config(newRecorder().handle, throughTransport).withDefaults()
	q := &retryQueue{queues: newLaneScheduler(&cfg).queues, h: &cfg.Handlers[0]}
	item := &queuedItem{queue: q, hash: row.hash}

	for range 8 {
		if _, err := item.try(context.Background(), nil); err != nil {
			t.Fatal(err)
		}
	}

	next, err := item.try(context.Background(), nil)
	if err != nil || time.Until(next) < time.Second {
		t.Errorf("the next try is in %v, %v", time.Until(next), err)
	}
}
