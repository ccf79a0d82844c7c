package dynamodb

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"ratchet/embedded/internal/attr"
	"ratchet/embedded/internal/dynamodb/indexes"
)

// racers write and read the table "items" while its index comes and goes.
type racers struct {
	t       *testing.T
	s       *Service
	stopped atomic.Bool
	all     sync.WaitGroup
}

const (
	racedKeys = 40
	racedAdd  = `{"TableName":"items","AttributeDefinitions":[{"AttributeName":"a","AttributeType":"S"},{"AttributeName":"b","AttributeType":"N"},{"AttributeName":"c","AttributeType":"S"},{"AttributeName":"id","AttributeType":"S"}],` +
		`"GlobalSecondaryIndexUpdates":[{"Create":{"IndexName":"abc","KeySchema":[{"AttributeName":"a","KeyType":"HASH"},{"AttributeName":"b","KeyType":"HASH"},` +
		`{"AttributeName":"c","KeyType":"RANGE"},{"AttributeName":"id","KeyType":"RANGE"}],"Projection":{"ProjectionType":%q}}}]}`
	racedDelete = `{"TableName":"items","GlobalSecondaryIndexUpdates":[{"Delete":{"IndexName":"abc"}}]}`
)

// start runs step in another goroutine until stop is called.
func (r *racers) start(seed uint64, step func(*rand.Rand)) {
	r.all.Go(func() {
		random := rand.New(rand.NewPCG(seed, 1))
		for !r.stopped.Load() {
			step(random)
		}
	})
}

func (r *racers) stop() {
	r.stopped.Store(true)
	r.all.Wait()
	r.stopped.Store(false)
}

// write changes one item, alone, in a batch or in a transaction.
func (r *racers) write(random *rand.Rand) {
	key := fmt.Sprintf(`{"id":{"S":"%d"}}`, random.IntN(racedKeys))
	parts := fmt.Sprintf(`"a":{"S":"%d"},"b":{"N":"%d"},"c":{"S":"%d"},"v":{"N":"%d"}`, random.IntN(2), random.IntN(2), random.IntN(3), random.IntN(1000))
	put := `"Item":` + strings.TrimSuffix(key, "}") + "," + parts + "}"

	calls := [][2]string{
		{"PutItem", `{"TableName":"items",` + put + `}`},
		{"DeleteItem", `{"TableName":"items","Key":` + key + `}`},
		{"UpdateItem", `{"TableName":"items","Key":` + key + `,"UpdateExpression":"REMOVE c"}`},
		{"UpdateItem", `{"TableName":"items","Key":` + key + `,"UpdateExpression":"ADD v :one","ExpressionAttributeValues":{":one":{"N":"1"}}}`},
		{"BatchWriteItem", `{"RequestItems":{"items":[{"PutRequest":{` + put + `}}]}}`},
		{"TransactWriteItems", `{"TransactItems":[{"Put":{"TableName":"items",` + put + `}}]}`},
	}
	call := calls[random.IntN(len(calls))]

	if _, err := r.s.Wire().Operations[call[0]](r.t.Context(), []byte(call[1])); err != nil {
		r.t.Errorf("%s: %v", call[1], err)
	}
}

// read queries the index. The index may be gone, or not there yet.
func (r *racers) read(random *rand.Rand) {
	body := fmt.Sprintf(`{"TableName":"items","IndexName":"abc","Limit":3,"KeyConditionExpression":"a = :a AND b = :b",`+
		`"ExpressionAttributeValues":{":a":{"S":"%d"},":b":{"N":"%d"}}}`, random.IntN(2), random.IntN(2))

	_, err := r.s.Wire().Operations["Query"](r.t.Context(), []byte(body))
	if err != nil && !strings.Contains(err.Error(), "specified index") && !strings.Contains(err.Error(), "backfilling") {
		r.t.Error(err)
	}
}

// items returns the items of a Scan by their ids.
func (r *racers) items(more string) map[string]attr.Item {
	var page struct{ Items []attr.Item }
	if err := json.Unmarshal([]byte(mustAnswer(r.t, r.s, "Scan", `{"TableName":"items"`+more+`}`)), &page); err != nil {
		r.t.Fatal(err)
	}

	byID := map[string]attr.Item{}
	for _, item := range page.Items {
		if byID[item["id"].Str] != nil {
			r.t.Errorf("item %s has two entries", item["id"].Str)
		}
		byID[item["id"].Str] = item
	}

	return byID
}

// An index that is added while its items are written has exactly the items that have its key.
func TestAnIndexThatIsBuiltUnderWrites(t *testing.T) {
	s, stop := openService(t, t.TempDir())
	defer stop()

	mustAnswer(t, s, "CreateTable", plainTable)
	r := &racers{t: t, s: s}
	defer r.stop()

	for round := range uint64(4) {
		projection := []string{indexes.All, indexes.KeysOnly}[round%2]
		for n := range uint64(3) {
			r.start(10*round+n, r.write)
		}
		r.start(round, r.read)

		mustAnswer(t, s, "UpdateTable", fmt.Sprintf(racedAdd, projection))
		mustAnswer(t, s, "UpdateTable", racedDelete)
		mustAnswer(t, s, "UpdateTable", fmt.Sprintf(racedAdd, projection))
		r.stop()

		want, size := r.items(""), 0
		for id, item := range want {
			switch {
			case len(item) < 5:
				delete(want, id) // an attribute of the index's key is missing
				continue
			case projection == indexes.KeysOnly:
				delete(item, "v")
			}
			size += item.Size()
		}

		got := r.items(`,"IndexName":"abc"`)
		if len(got) != len(want) || entries(t, s) != len(want) {
			t.Errorf("round %d: %d items in the index, %d entries, want %d", round, len(got), entries(t, s), len(want))
		}

		for id, item := range want {
			if !attr.EqualItems(got[id], item) {
				t.Errorf("round %d: the index has %s, the table %s", round, itemJSON(got[id]), itemJSON(item))
			}
		}

		if got := mustAnswer(t, s, "DescribeTable", `{"TableName":"items"}`); !strings.Contains(got, fmt.Sprintf(`"IndexSizeBytes":%d,"IndexStatus":"ACTIVE","ItemCount":%d`, size, len(want))) {
			t.Errorf("round %d: want %d items of %d bytes: %s", round, len(want), size, got)
		}
		mustAnswer(t, s, "UpdateTable", racedDelete)
	}

	if n := entries(t, s); n != 0 {
		t.Errorf("%d entries after the deletion of the index", n)
	}
}
