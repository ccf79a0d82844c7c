package retryqueue

import (
	"errors"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ratchet/embedded/embeddedtest"
	"ratchet/internal/dynamo"
	"ratchet/streams"
	"ratchet/streams/store"
)

// ofItem is a record of an item with this number.
func ofItem(n int, sequence string) streams.Record {
	r := record(sequence, 1)
	r.Keys = dynamo.Item{"id": dynamo.S(strconv.Itoa(n))}

	return r
}

func hashOfItem(n int) store.ItemHash { return store.HashOf(store.ItemKey(ofItem(n, "1"))) }

// put parks the first record of an item and returns its row.
func (e *queueEnv) put(t *Table, n int) Row {
	e.Helper()

	_, err := t.Park(e.Context(), hashOfItem(n), ofItem(n, "1"), Row{NextTry: time.Now()})
	e.must(err)

	row, _, err := t.First(e.Context(), "h", hashOfItem(n))
	e.must(err)

	return row
}

// another returns the queue of another process.
func (e *queueEnv) another() *Table {
	return &Table{API: e.API, Table: e.Table.Table, Scope: e.Scope}
}

func isFurther(source string) bool { return strings.HasPrefix(source, furtherPrefix) }

// checkSpread checks, when a row is put under a further key, that the row is stored that says so.
func (e *queueEnv) checkSpread() {
	e.sent.Before(func(c *embeddedtest.Call) error {
		if !c.Is("PutItem") || !strings.Contains(string(c.Body()), furtherPrefix) {
			return nil
		}

		out, err := e.API.GetItem(e.Context(), &dynamodb.GetItemInput{
			TableName: aws.String(e.Table.Table), Key: store.RowKey(e.source("h", 0), spreadID), ConsistentRead: aws.Bool(true),
		})
		if err != nil || out.Item == nil {
			e.Errorf("a row is put under a key that no reader knows: %v", err)
		}

		return nil
	})
}

// TestAnOutageSpreadsItsRows: three workers store 1,000 records within one second. No partition key comes near its
// 1,000 write units, and processes that know nothing find all rows.
func TestAnOutageSpreadsItsRows(t *testing.T) {
	virtually(t, func(t *testing.T) {
		e := newQueueEnv(t)
		e.checkSpread()

		const records = 1000
		workers := []*Table{e.former, {API: e.former.API, Table: e.Table.Table, Scope: e.Scope}, {API: e.former.API, Table: e.Table.Table, Scope: e.Scope}}

		for n := range records {
			e.put(workers[n%len(workers)], n)
		}

		under := map[string]int{}
		for _, row := range e.rows() {
			source, _ := row[store.Source].(*types.AttributeValueMemberS)
			under[source.Value]++
		}

		if len(under) != 1+furtherKeys {
			t.Errorf("rows under %d keys, want %d", len(under), 1+furtherKeys)
		}

		for source, rows := range under {
			if rows > 3*defaultShare+1 {
				t.Errorf("%d rows under %s", rows, source)
			}
		}

		if n, err := e.another().countRows(t.Context(), "h", 10*records); n != records || err != nil {
			t.Errorf("%d records are counted, %v", n, err)
		}

		all, err := e.another().List(t.Context(), "h")
		if e.must(err); len(all) != records {
			t.Errorf("%d rows are listed", len(all))
		}

		q := Queue{DynamoDB: e.API, TableName: e.Scope, DeadLetterTable: e.Table.Table}
		if item, ok, err := q.WaitingOf(t.Context(), "h", ofItem(records-1, "1").Keys); !ok || item.Records != 1 || err != nil {
			t.Errorf("%+v waits, %t, %v", item, ok, err)
		}

		if n, err := q.Drop(t.Context(), "h", false, func(streams.Record) (bool, error) { return true, nil }); n != records || err != nil {
			t.Errorf("%d records are dropped, %v", n, err)
		}

		if left := e.rows(); len(left) != 1 {
			t.Errorf("%d rows are left, want the one that says that there are further keys", len(left))
		}
	})
}

// TestAFullKeyIsLeft: DynamoDB refuses what is put under the first key, and loses the answer when the row is
// stored that says that there are others.
func TestAFullKeyIsLeft(t *testing.T) {
	virtually(t, func(t *testing.T) {
		e := newQueueEnv(t)
		e.checkSpread()
		e.sent.Inject(embeddedtest.Answer("ThrottlingException", "PutItem").If(func(c *embeddedtest.Call) bool {
			return strings.Contains(string(c.Body()), `"`+SourcePrefix) && !strings.Contains(string(c.Body()), spreadID)
		}))
		e.sent.Inject(embeddedtest.LoseAnswer("PutItem").If(func(c *embeddedtest.Call) bool {
			return strings.Contains(string(c.Body()), spreadID)
		}).Next(1))

		if row := e.put(e.former, 1); !isFurther(row.Source) {
			t.Errorf("the row is under %s", row.Source)
		}

		rows, err := e.another().ofItem(t.Context(), "h", hashOfItem(1))
		if err != nil || len(rows) != 1 || !isFurther(rows[0].Source) {
			t.Errorf("another process finds %+v, %v", rows, err)
		}
	})
}

// TestAnItemStaysUnderItsKey: a process that does not know of the further keys sees all records of an item, or none.
// So it does not deliver a newer one first.
func TestAnItemStaysUnderItsKey(t *testing.T) {
	virtually(t, func(t *testing.T) {
		e := newQueueEnv(t)
		e.Share = 1

		stale := e.another()
		_, err := stale.List(t.Context(), "h")
		e.must(err)

		first := e.put(e.Table, 1)
		further := e.put(e.Table, 2)

		if isFurther(first.Source) || !isFurther(further.Source) {
			t.Fatalf("the rows are under %s and %s", first.Source, further.Source)
		}

		for n, source := range map[int]string{1: first.Source, 2: further.Source} {
			at, err := e.Place(t.Context(), "h", hashOfItem(n))
			if e.must(err); at != source {
				t.Errorf("item %d goes on under %s, want %s", n, at, source)
			}

			_, err = e.Park(t.Context(), hashOfItem(n), ofItem(n, "2"), Row{NextTry: time.Now(), Source: at})
			e.must(err)
		}

		// A record that is delivered again is under the first key, and does not move the item.
		e.must(e.AddAgain(t.Context(), ofItem(2, "1")))

		if at, err := e.Place(t.Context(), "h", hashOfItem(2)); at != further.Source || err != nil {
			t.Errorf("after an addition the item goes on under %s, %v", at, err)
		}

		seen, err := stale.List(t.Context(), "h")
		e.must(err)

		var order []string
		for _, row := range seen {
			if row.Hash == hashOfItem(2) {
				order = append(order, row.id[len(itemPrefix(row.Hash)):][:1]+row.Sequence[len(row.Sequence)-1:])
			}
		}

		if got := strings.Join(order, " "); len(seen) != 5 || got != "a1 b1 b2" {
			t.Errorf("%d rows, those of the second item are %s", len(seen), got)
		}
	})
}

// TestARepeatIsPutUnderTheSameKey: the first try had no answer and arrives after the repeat, and by then the first key
// is full. There is one row.
func TestARepeatIsPutUnderTheSameKey(t *testing.T) {
	virtually(t, func(t *testing.T) {
		e := newQueueEnv(t)
		e.former.Share = 1

		e.cut = true
		at, err := e.former.Park(t.Context(), hashOfItem(1), ofItem(1, "1"), Row{NextTry: time.Now()})
		e.cut = false

		if err == nil || at == "" || isFurther(at) {
			t.Fatalf("the try without an answer was under %q, %v", at, err)
		}

		if row := e.put(e.former, 2); !isFurther(row.Source) {
			t.Fatalf("the first key is not full: %s", row.Source)
		}

		again, err := e.former.Park(t.Context(), hashOfItem(1), ofItem(1, "1"), Row{NextTry: time.Now(), Unsure: true, Source: at})
		if err != nil || again != at {
			t.Errorf("the repeat was put under %q, %v", again, err)
		}

		for _, arrive := range e.late {
			arrive()
		}

		rows, err := e.another().List(t.Context(), "h")
		if e.must(err); len(rows) != 2 {
			t.Errorf("%d rows, want one for each item", len(rows))
		}
	})
}

// TestAQueueWithoutTheRowStaysAsItIs: while the row cannot be stored that says that there are further keys, no row is
// put under one.
func TestAQueueWithoutTheRowStaysAsItIs(t *testing.T) {
	virtually(t, func(t *testing.T) {
		e := newQueueEnv(t)
		e.former.Share = 1
		e.sent.Before(func(c *embeddedtest.Call) error {
			if strings.Contains(string(c.Body()), spreadID) {
				return errors.New("no connection")
			}

			return nil
		})

		for n := range 3 {
			if row := e.put(e.former, n); isFurther(row.Source) {
				t.Errorf("row %d is under %s", n, row.Source)
			}
		}
	})
}

// TestAQueueOfOtherKeysIsRefusedByName: the row is of a later program, whose further keys are others. This program does
// not read the queue, because it would miss rows, and leaves the row as it is, also with a write of before. Rows of
// before the row had a format are read.
func TestAQueueOfOtherKeysIsRefusedByName(t *testing.T) {
	virtually(t, func(t *testing.T) {
		e := newQueueEnv(t)
		e.former.Share = 1
		e.put(e.former, 1)

		later := dynamo.NewUpdate(e.Table.Table, store.RowKey(e.source("h", 0), spreadID)).SetValue(store.Format, dynamo.N(store.QueueKeysFormat+1))
		_, _, err := store.Apply(t.Context(), e.API, later)
		e.must(err)

		_, list := e.another().List(t.Context(), "h")
		_, item := e.another().ofItem(t.Context(), "h", hashOfItem(1))

		for what, err := range map[string]error{"list": list, "item": item, "write": e.former.storeSpread(t.Context(), "h")} {
			if !errors.Is(err, store.ErrNewerFormat) || !strings.Contains(err.Error(), "row "+spreadID+" of "+e.source("h", 0)+" has format 2") {
				t.Errorf("%s: refused with: %v", what, err)
			}
		}

		if row := e.put(e.former, 2); isFurther(row.Source) {
			t.Errorf("a row is put under %s", row.Source)
		}

		before := dynamo.NewUpdate(e.Table.Table, store.RowKey(e.source("h", 0), spreadID)).RemoveAttribute(store.Format)
		_, _, err = store.Apply(t.Context(), e.API, before)
		e.must(err)

		process := e.another()
		if rows, err := process.List(t.Context(), "h"); err != nil || len(rows) != 2 || process.Keys("h") == 1 {
			t.Errorf("%d rows under %d keys, %v", len(rows), process.Keys("h"), err)
		}
	})
}
