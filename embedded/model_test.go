package embedded

import (
	"errors"
	"fmt"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	stypes "github.com/aws/aws-sdk-go-v2/service/dynamodbstreams/types"
	"pgregory.net/rapid"
)

// machine is a table and a Go map that must hold the same.
type machine struct {
	f     *fixture
	dir   string
	table string
	arn   string
	model map[string]string
}

// TestTableEqualsItsModel makes random writes: single, conditional, in batches and in
// transactions, while shards roll and split and the engine is reopened. The table must always
// equal the model, and the images of the stream, applied in order, must lead to the table.
func TestTableEqualsItsModel(t *testing.T) {
	t.Parallel() // waits for the disk most of the time
	dir := t.TempDir()
	m := &machine{dir: dir}
	m.open(t)
	t.Cleanup(func() {
		if err := m.f.Close(); err != nil {
			t.Error(err)
		}
	})
	n := 0
	rapid.Check(t, func(rt *rapid.T) {
		n++
		m.table, m.model = fmt.Sprintf("model-%d", n), map[string]string{}
		m.f.t = t
		m.arn = *m.f.table(m.table, "id", "", types.StreamViewTypeNewAndOldImages).LatestStreamArn
		rt.Repeat(map[string]func(*rapid.T){
			"put": m.put, "update": m.update, "delete": m.delete, "transact": m.transact, "batch": m.batch,
			"roll": m.roll, "split": m.split,
			"reopen": func(rt *rapid.T) {
				if rapid.IntRange(0, 9).Draw(rt, "reopen") == 0 {
					m.open(t)
				}
			},
		})
		m.compare(t)

		if _, err := m.f.db.DeleteTable(t.Context(), &dynamodb.DeleteTableInput{TableName: &m.table}); err != nil {
			t.Fatal(err)
		}
	})
}

func (m *machine) open(t *testing.T) {
	if m.f != nil {
		if err := m.f.Close(); err != nil {
			t.Fatal(err)
		}
	}

	e, err := Open(Config{Dir: m.dir})
	if err != nil {
		t.Fatal(err)
	}
	m.f = newFixture(t, e)
}

var (
	anyID    = rapid.StringMatching(`[a-e]`)
	anyValue = rapid.StringMatching(`[0-9]`)
)

func (m *machine) put(rt *rapid.T) {
	id, v := anyID.Draw(rt, "id"), anyValue.Draw(rt, "v")
	_, err := m.f.db.PutItem(rt.Context(), &dynamodb.PutItemInput{TableName: &m.table, Item: item{"id": str(id), "v": str(v)}})
	if err != nil {
		rt.Fatal(err)
	}
	m.model[id] = v
}

// update sets a value if the item has the expected one.
func (m *machine) update(rt *rapid.T) {
	id, v, want := anyID.Draw(rt, "id"), anyValue.Draw(rt, "v"), anyValue.Draw(rt, "want")
	_, err := m.f.db.UpdateItem(rt.Context(), &dynamodb.UpdateItemInput{TableName: &m.table, Key: item{"id": str(id)},
		UpdateExpression: aws.String("SET v = :v"), ConditionExpression: aws.String("v = :want"),
		ExpressionAttributeValues:           item{":v": str(v), ":want": str(want)},
		ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld})
	if had, ok := m.model[id]; ok && had == want {
		if err != nil {
			rt.Fatal(err)
		}
		m.model[id] = v

		return
	}

	var failed *types.ConditionalCheckFailedException
	if !errors.As(err, &failed) {
		rt.Fatalf("update of %s holding %q where it holds %q: %v", id, m.model[id], want, err)
	}

	if had, ok := m.model[id]; ok != (failed.Item != nil) || ok && text(failed.Item["v"]) != had {
		rt.Fatalf("the refusal shows %v, the model has %q", failed.Item, had)
	}
}

func (m *machine) delete(rt *rapid.T) {
	id := anyID.Draw(rt, "id")
	out, err := m.f.db.DeleteItem(rt.Context(), &dynamodb.DeleteItemInput{TableName: &m.table, Key: item{"id": str(id)}, ReturnValues: types.ReturnValueAllOld})
	if err != nil {
		rt.Fatal(err)
	}

	if had, ok := m.model[id]; ok != (out.Attributes != nil) || ok && text(out.Attributes["v"]) != had {
		rt.Fatalf("deleted %v, the model has %q", out.Attributes, had)
	}
	delete(m.model, id)
}

// transact moves a value from one item to another, if the first exists and the second does
// not.
func (m *machine) transact(rt *rapid.T) {
	from, to := anyID.Draw(rt, "from"), anyID.Draw(rt, "to")
	if from == to {
		return
	}

	v, here := m.model[from]
	_, there := m.model[to]
	_, err := m.f.db.TransactWriteItems(rt.Context(), &dynamodb.TransactWriteItemsInput{TransactItems: []types.TransactWriteItem{
		{Delete: &types.Delete{TableName: &m.table, Key: item{"id": str(from)}, ConditionExpression: aws.String("attribute_exists(id)")}},
		{Put: &types.Put{TableName: &m.table, Item: item{"id": str(to), "v": str(v)}, ConditionExpression: aws.String("attribute_not_exists(id)")}},
	}})
	if !here || there {
		var canceled *types.TransactionCanceledException
		if !errors.As(err, &canceled) {
			rt.Fatalf("move from %s (%v) to %s (%v): %v", from, here, to, there, err)
		}

		if (*canceled.CancellationReasons[0].Code == "None") != here || (*canceled.CancellationReasons[1].Code == "None") == there {
			rt.Fatalf("move from %s (%v) to %s (%v): %+v", from, here, to, there, canceled.CancellationReasons)
		}

		return
	}

	if err != nil {
		rt.Fatal(err)
	}
	delete(m.model, from)
	m.model[to] = v
}

func (m *machine) batch(rt *rapid.T) {
	var writes []types.WriteRequest
	for _, id := range rapid.SliceOfNDistinct(anyID, 1, 4, rapid.ID[string]).Draw(rt, "ids") {
		if rapid.Bool().Draw(rt, "put") {
			v := anyValue.Draw(rt, "v")
			writes = append(writes, types.WriteRequest{PutRequest: &types.PutRequest{Item: item{"id": str(id), "v": str(v)}}})
			m.model[id] = v
		} else {
			writes = append(writes, types.WriteRequest{DeleteRequest: &types.DeleteRequest{Key: item{"id": str(id)}}})
			delete(m.model, id)
		}
	}

	if _, err := m.f.db.BatchWriteItem(rt.Context(), &dynamodb.BatchWriteItemInput{RequestItems: map[string][]types.WriteRequest{m.table: writes}}); err != nil {
		rt.Fatal(err)
	}
}

func (m *machine) roll(rt *rapid.T) {
	if err := m.f.RollShards(rt.Context(), m.arn); err != nil {
		rt.Fatal(err)
	}
}

func (m *machine) split(rt *rapid.T) {
	for _, sh := range m.f.shards(m.arn) {
		if sh.SequenceNumberRange.EndingSequenceNumber == nil {
			if err := m.f.SplitShard(rt.Context(), m.arn, *sh.ShardId); err != nil {
				rt.Fatal(err)
			}
			return
		}
	}
}

// compare compares the table and the replayed stream with the model.
func (m *machine) compare(t *testing.T) {
	out, err := m.f.db.Scan(t.Context(), &dynamodb.ScanInput{TableName: &m.table})
	if err != nil {
		t.Fatal(err)
	}

	table := map[string]string{}
	for _, it := range out.Items {
		table[text(it["id"])] = text(it["v"])
	}
	same(t, "the table", table, m.model)
	replayed := map[string]string{}
	image := func(it map[string]stypes.AttributeValue) string {
		return it["v"].(*stypes.AttributeValueMemberS).Value
	}
	m.f.readForest(m.arn, func(r stypes.Record) {
		id := r.Dynamodb.Keys["id"].(*stypes.AttributeValueMemberS).Value
		had, ok := replayed[id]
		if (r.EventName == stypes.OperationTypeInsert) == ok || ok != (r.Dynamodb.OldImage != nil) || ok && image(r.Dynamodb.OldImage) != had {
			t.Fatalf("%s of %s with old image %v, where the replay has %q", r.EventName, id, r.Dynamodb.OldImage, had)
		}

		if delete(replayed, id); r.Dynamodb.NewImage != nil {
			replayed[id] = image(r.Dynamodb.NewImage)
		}
	})
	same(t, "the replayed stream", replayed, m.model)
}
