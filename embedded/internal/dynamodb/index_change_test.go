package dynamodb

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	"ratchet/embedded/internal/attr"
	"ratchet/embedded/internal/dynamodb/keyspace"
	"ratchet/embedded/internal/dynamodb/pages"
	"ratchet/embedded/internal/dynamodb/views"
)

// A second index, and its deletion, leave the first one as it is.
func TestASecondIndexLeavesTheFirst(t *testing.T) {
	s, stop := openService(t, t.TempDir())
	defer stop()

	mustAnswer(t, s, "CreateTable", plainTable)

	for n := range 5 {
		mustAnswer(t, s, "PutItem", fmt.Sprintf(`{"TableName":"items","Item":{"id":{"S":"%d"},"k":{"S":"x"}}}`, n))
	}

	described := func(index string) string {
		return fmt.Sprintf(`"IndexName":%q,"IndexSizeBytes":25,"IndexStatus":"ACTIVE","ItemCount":5,`, index)
	}
	second := strings.Replace(addIndex, `"by-k"`, `"second"`, 1)

	for _, row := range []struct {
		change, want string // the indexes after it
		entries      int
	}{
		{addIndex, "by-k", 5},
		{second, "by-k second", 10},
		{`"GlobalSecondaryIndexUpdates":[{"Delete":{"IndexName":"by-k"}}]`, "second", 5},
		{addIndex, "by-k second", 10},
	} {
		mustAnswer(t, s, "UpdateTable", `{"TableName":"items",`+row.change+`}`)

		table := mustAnswer(t, s, "DescribeTable", `{"TableName":"items"}`)
		for _, name := range []string{"by-k", "second"} {
			is := strings.Contains(row.want, name)
			if got := strings.Contains(table, described(name)); got != is {
				t.Errorf("after %s index %s is there: %v, in %s", row.change, name, got, table)
			}

			got := request(t, s, "Scan", fmt.Sprintf(`{"TableName":"items","IndexName":%q,"Select":"COUNT"}`, name))
			if is && got != `{"Count":5,"ScannedCount":5}` {
				t.Errorf("after %s index %s has %s", row.change, name, got)
			}
		}

		if n := entries(t, s); n != row.entries {
			t.Errorf("after %s there are %d entries, want %d", row.change, n, row.entries)
		}
	}
}

// An index that is deleted leaves no counts on disk.
func TestADeletedIndexLeavesNoCounts(t *testing.T) {
	s, stop := openService(t, t.TempDir())
	defer stop()

	mustAnswer(t, s, "CreateTable", plainTable)
	mustAnswer(t, s, "PutItem", `{"TableName":"items","Item":{"id":{"S":"a"},"k":{"S":"x"}}}`)
	mustAnswer(t, s, "UpdateTable", `{"TableName":"items",`+addIndex+`}`)

	counts := func() bool {
		no := s.tables.Get("items").State().Record.No + 1 // the number after the table's

		_, has, err := s.db.Get(keyspace.TablePrefix(keyspace.KindCounts, no))
		if err != nil {
			t.Fatal(err)
		}

		return has
	}

	if !counts() {
		t.Fatal("the index has no counts")
	}
	mustAnswer(t, s, "UpdateTable", `{"TableName":"items","GlobalSecondaryIndexUpdates":[{"Delete":{"IndexName":"by-k"}}]}`)

	if counts() {
		t.Error("the counts are left")
	}
}

// A writer that began before an index changed ends before the entries of the index are deleted or built.
func TestAWriterThatBeganBeforeAnIndexChanged(t *testing.T) {
	s, stop := openService(t, t.TempDir())
	defer stop()

	mustAnswer(t, s, "CreateTable", plainTable)
	tb := s.tables.Get("items")

	for _, row := range []struct {
		change  string
		indexes int // after it
	}{
		{addIndex, 1}, {`"GlobalSecondaryIndexUpdates":[{"Delete":{"IndexName":"by-k"}}]`, 0},
	} {
		item := attr.Item{"id": text("a"), "k": text("x"), "v": text(row.change)}

		key, err := tb.KeyIn(item)
		if err != nil {
			t.Fatal(err)
		}

		st := s.stripes.Of(key.Lock)
		st.Lock()

		c, err := s.evaluate(&action{verb: put, table: tb, key: key, item: item})
		if err != nil {
			t.Fatal(err)
		}

		ended := make(chan string)
		go func() { ended <- request(t, s, "UpdateTable", `{"TableName":"items",`+row.change+`}`) }()

		for len(tb.State().Record.Indexes) != row.indexes {
			runtime.Gosched()
		}

		// The change has time to go on, but must not.
		for range 10_000 {
			runtime.Gosched()
		}

		b := s.db.NewBatch()
		c.stage(b)

		if err := b.Commit(); err != nil {
			t.Fatal(err)
		}
		c.updateCounts()
		st.Unlock()

		if got := <-ended; !strings.HasPrefix(got, "{") {
			t.Fatal(got)
		}

		if n := entries(t, s); n != row.indexes {
			t.Errorf("after %s there are %d entries, want %d", row.change, n, row.indexes)
		}
	}
}

// A read that began before its index or its table was deleted does not answer that they are empty.
func TestAReadThatBeganBeforeItsIndexWasDeleted(t *testing.T) {
	s, stop := openService(t, t.TempDir())
	defer stop()

	mustAnswer(t, s, "CreateTable", plainTable)
	mustAnswer(t, s, "PutItem", `{"TableName":"items","Item":{"id":{"S":"a"},"k":{"S":"x"}}}`)

	// pageOf begins to read the index of that name, or the table.
	pageOf := func(index *string) func() error {
		in := &pages.Request{IndexName: index}

		v, err := views.New(s.tables.Get("items"), index, "", false)
		if err != nil {
			t.Fatal(err)
		}

		return func() error {
			lo, hi := v.Segment(nil, nil)
			return (&pages.Page{In: in, View: v}).Read(s.db, lo, hi, false)
		}
	}
	name := "by-k"
	deleted := `{"TableName":"items","GlobalSecondaryIndexUpdates":[{"Delete":{"IndexName":"by-k"}}]}`

	mustAnswer(t, s, "UpdateTable", `{"TableName":"items",`+addIndex+`}`)
	ofIndex, ofTable := pageOf(&name), pageOf(nil)

	for _, read := range []func() error{ofIndex, ofTable} {
		if err := read(); err != nil {
			t.Errorf("before the deletion: %v", err)
		}
	}

	for range 2 { // another index of the same name is not the index that was read
		mustAnswer(t, s, "UpdateTable", deleted)

		if err := ofIndex(); err == nil || err.Error() != invalidOrder+"The table does not have the specified index: by-k" {
			t.Errorf("after the deletion of the index: %v", err)
		}
		mustAnswer(t, s, "UpdateTable", `{"TableName":"items",`+addIndex+`}`)

		if err := ofIndex(); err == nil {
			t.Error("another index of the name is read as the one that was deleted")
		}
	}

	tb := s.tables.Get("items")

	key, err := tb.KeyOf(attr.Item{"id": text("a")})
	if err != nil {
		t.Fatal(err)
	}
	gets := []itemRead{{table: tb, key: key}}

	mustAnswer(t, s, "DeleteTable", `{"TableName":"items"}`)

	_, ofItem := s.read(tb, key)
	_, _, ofItems := s.readAll(gets, []uint64{key.Lock})

	for name, err := range map[string]error{"a page": ofTable(), "an item": ofItem, "a transaction": ofItems} {
		if err == nil || err.Error() != noTable {
			t.Errorf("%s after the deletion of the table: %v", name, err)
		}
	}
}
