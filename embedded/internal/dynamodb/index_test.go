package dynamodb

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"ratchet/embedded/internal/dynamodb/indexes"
	"ratchet/embedded/internal/dynamodb/keyspace"
	"ratchet/embedded/internal/store"
)

// openService opens a service over dir. The returned function closes it.
func openService(t *testing.T, dir string) (*Service, func()) {
	t.Helper()

	s, db := openStored(t, store.Config{Dir: dir})

	return s, func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}

		if err := db.Close(); err != nil {
			t.Error(err)
		}
	}
}

func request(t *testing.T, s *Service, operation, body string) string {
	t.Helper()

	out, err := s.Wire().Operations[operation](t.Context(), []byte(body))
	if err != nil {
		return err.Error()
	}

	if raw, ok := out.(json.RawMessage); ok {
		return string(raw)
	}

	text, err := json.Marshal(out)
	if err != nil {
		t.Fatal(err)
	}

	return string(text)
}

// TestABuildThatACrashInterruptedIsFinished stops a back-fill after its first record, in which
// the index exists and has no entries, and opens the data again.
func TestABuildThatACrashInterruptedIsFinished(t *testing.T) {
	dir := t.TempDir()
	s, stop := openService(t, dir)
	request(t, s, "CreateTable", `{"TableName":"items","BillingMode":"PAY_PER_REQUEST","KeySchema":[{"AttributeName":"id","KeyType":"HASH"}],"AttributeDefinitions":[{"AttributeName":"id","AttributeType":"S"}]}`)

	for n := range 40 {
		request(t, s, "PutItem", fmt.Sprintf(`{"TableName":"items","Item":{"id":{"S":"%d"},"k":{"S":"x"}}}`, n))
	}

	tb := s.tables.Get("items")
	next := *tb.State()
	key := keyspace.Schema{Hash: keyspace.Attr{Name: "k", Kind: next.Record.Keys.Hash.Kind}}
	next.Record.Indexes = []indexes.Index{{Name: "by-k", No: 99, Keys: key, Projection: indexes.KeysOnly, Building: true}}

	ended, cancel := context.WithCancel(t.Context())
	cancel()

	if err := s.changeIndexes(ended, tb, tb.State(), &next); err == nil {
		t.Fatal("the build was not interrupted")
	}

	// A writer in between: its entry must be there once.
	request(t, s, "PutItem", `{"TableName":"items","Item":{"id":{"S":"7"},"k":{"S":"x"},"v":{"S":"new"}}}`)
	query := `{"TableName":"items","IndexName":"by-k","Select":"COUNT","KeyConditionExpression":"k = :k","ExpressionAttributeValues":{":k":{"S":"x"}}}`

	if got := request(t, s, "Query", query); !strings.Contains(got, "Cannot read from backfilling global secondary index: by-k") {
		t.Errorf("during the build: %s", got)
	}
	stop()

	s, stop = openService(t, dir)
	defer stop()

	if err := s.finish(t.Context()); err != nil {
		t.Fatal(err)
	}

	if got := request(t, s, "Query", query); got != `{"Count":40,"ScannedCount":40}` {
		t.Errorf("after it: %s", got)
	}

	if got := request(t, s, "DescribeTable", `{"TableName":"items"}`); !strings.Contains(got, `"IndexStatus":"ACTIVE"`) || !strings.Contains(got, `"ItemCount":40,"KeySchema"`) {
		t.Errorf("described: %s", got)
	}
}

// TestADeletedTableLeavesNoEntries deletes a table with an index and looks for its keys.
func TestADeletedTableLeavesNoEntries(t *testing.T) {
	s, stop := openService(t, t.TempDir())
	defer stop()

	request(t, s, "CreateTable", `{"TableName":"items","BillingMode":"PAY_PER_REQUEST","KeySchema":[{"AttributeName":"id","KeyType":"HASH"}],
		"AttributeDefinitions":[{"AttributeName":"id","AttributeType":"S"},{"AttributeName":"k","AttributeType":"S"}],
		"GlobalSecondaryIndexes":[{"IndexName":"by-k","KeySchema":[{"AttributeName":"k","KeyType":"HASH"}],"Projection":{"ProjectionType":"ALL"}}]}`)
	request(t, s, "PutItem", `{"TableName":"items","Item":{"id":{"S":"a"},"k":{"S":"x"}}}`)

	if n := entries(t, s); n != 1 {
		t.Fatalf("%d entries", n)
	}
	request(t, s, "DeleteTable", `{"TableName":"items"}`)

	if n := entries(t, s); n != 0 {
		t.Errorf("%d entries after the deletion", n)
	}
}

// entries returns how many entries all indexes have together.
func entries(t *testing.T, s *Service) (n int) {
	t.Helper()

	prefix := keyspace.StoreKey(keyspace.KindIndex)
	if err := s.db.Scan(prefix, store.PrefixEnd(prefix), false, func(_, _ []byte) (bool, error) { n++; return true, nil }); err != nil {
		t.Fatal(err)
	}

	return n
}

// TestItemsOlderThanTheirIndex deletes, replaces and mends items whose attributes cannot be keys of an index that was
// added later. They were never in it.
// Source: https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/GSI.OnlineOps.ViolationDetection.html
func TestItemsOlderThanTheirIndex(t *testing.T) {
	for _, value := range []string{`{"BOOL":true}`, `{"N":"1"}`, `{"L":[]}`, `{"S":""}`, `{"S":"` + strings.Repeat("x", keyspace.MaxHashKey+1) + `"}`} {
		s, stop := openService(t, t.TempDir())
		mustAnswer(t, s, "CreateTable", `{"TableName":"items","BillingMode":"PAY_PER_REQUEST","KeySchema":[{"AttributeName":"id","KeyType":"HASH"}],"AttributeDefinitions":[{"AttributeName":"id","AttributeType":"S"}]}`)

		for _, id := range []string{"deleted", "replaced", "mended"} {
			mustAnswer(t, s, "PutItem", fmt.Sprintf(`{"TableName":"items","Item":{"id":{"S":%q},"k":%s}}`, id, value))
		}

		mustAnswer(t, s, "PutItem", `{"TableName":"items","Item":{"id":{"S":"good"},"k":{"S":"x"}}}`)
		mustAnswer(t, s, "UpdateTable", `{"TableName":"items","AttributeDefinitions":[{"AttributeName":"k","AttributeType":"S"}],
			"GlobalSecondaryIndexUpdates":[{"Create":{"IndexName":"by-k","KeySchema":[{"AttributeName":"k","KeyType":"HASH"}],"Projection":{"ProjectionType":"ALL"}}}]}`)

		const units = `"ReturnConsumedCapacity":"INDEXES"`

		gone := mustAnswer(t, s, "DeleteItem", `{"TableName":"items","Key":{"id":{"S":"deleted"}},`+units+`}`)
		if strings.Contains(gone, "by-k") {
			t.Errorf("%.20s: a deletion costs units of the index: %s", value, gone)
		}

		mustAnswer(t, s, "PutItem", `{"TableName":"items","Item":{"id":{"S":"replaced"}}}`)

		mended := mustAnswer(t, s, "UpdateItem", `{"TableName":"items","Key":{"id":{"S":"mended"}},"UpdateExpression":"SET k = :k","ExpressionAttributeValues":{":k":{"S":"x"}},`+units+`}`)
		if !strings.Contains(mended, `"by-k":{"CapacityUnits":1.0}`) {
			t.Errorf("%.20s: the first entry costs %s", value, mended)
		}

		if got := mustAnswer(t, s, "DescribeTable", `{"TableName":"items"}`); !strings.Contains(got, `"ItemCount":2,"KeySchema":[{"AttributeName":"k"`) {
			t.Errorf("%.20s: described: %s", value, got)
		}
		stop()
	}
}
