package embedded

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"pgregory.net/rapid"
)

// ordersByState is a table of orders with a global index by state and time that projects all, a
// global index by customer that projects keys and a total, and a local index by total that projects
// keys.
func ordersByState() *dynamodb.CreateTableInput {
	hash := func(name string) types.KeySchemaElement {
		return types.KeySchemaElement{AttributeName: &name, KeyType: types.KeyTypeHash}
	}
	sorted := func(name string) types.KeySchemaElement {
		return types.KeySchemaElement{AttributeName: &name, KeyType: types.KeyTypeRange}
	}
	define := func(name string, kind types.ScalarAttributeType) types.AttributeDefinition {
		return types.AttributeDefinition{AttributeName: &name, AttributeType: kind}
	}

	return &dynamodb.CreateTableInput{
		TableName:   aws.String("orders"),
		BillingMode: types.BillingModePayPerRequest,
		KeySchema:   []types.KeySchemaElement{hash("shop"), sorted("id")},
		AttributeDefinitions: []types.AttributeDefinition{
			define("shop", "S"), define("id", "S"), define("state", "S"), define("at", "N"), define("customer", "S"), define("total", "N"),
		},
		GlobalSecondaryIndexes: []types.GlobalSecondaryIndex{
			{IndexName: aws.String("by-state"), KeySchema: []types.KeySchemaElement{hash("state"), sorted("at")},
				Projection: &types.Projection{ProjectionType: types.ProjectionTypeAll}},
			{IndexName: aws.String("by-customer"), KeySchema: []types.KeySchemaElement{hash("customer")},
				Projection: &types.Projection{ProjectionType: types.ProjectionTypeInclude, NonKeyAttributes: []string{"note"}}},
		},
		LocalSecondaryIndexes: []types.LocalSecondaryIndex{
			{IndexName: aws.String("by-total"), KeySchema: []types.KeySchemaElement{hash("shop"), sorted("total")},
				Projection: &types.Projection{ProjectionType: types.ProjectionTypeKeysOnly}},
		},
	}
}

// indexed opens an engine with that table.
func indexed(t *testing.T) *fixture {
	t.Helper()

	f := open(t)
	if _, err := f.db.CreateTable(t.Context(), ordersByState()); err != nil {
		t.Fatal(err)
	}

	return f
}

// ids returns the ids of items, in their order.
func ids(items []map[string]types.AttributeValue) string {
	var out []string
	for _, it := range items {
		out = append(out, text(it["id"]))
	}

	return strings.Join(out, " ")
}

// queryIndex reads all pages of a query on an index.
func (f *fixture) queryIndex(index, condition string, values item, edit func(*dynamodb.QueryInput)) ([]map[string]types.AttributeValue, error) {
	f.t.Helper()

	in := &dynamodb.QueryInput{TableName: aws.String("orders"), IndexName: &index, KeyConditionExpression: &condition, ExpressionAttributeValues: values}
	if edit != nil {
		edit(in)
	}

	var all []map[string]types.AttributeValue
	for {
		out, err := f.db.Query(f.t.Context(), in)
		if err != nil {
			return nil, err
		}

		all = append(all, out.Items...)
		if in.ExclusiveStartKey = out.LastEvaluatedKey; out.LastEvaluatedKey == nil {
			return all, nil
		}
	}
}

func order(shop, id, state, at string) item {
	return item{"shop": str(shop), "id": str(id), "state": str(state), "at": num(at)}
}

func TestAnIndexHasItsOwnOrderAndIsSparse(t *testing.T) {
	f := indexed(t)
	f.put("orders", order("a", "o-1", "PAID", "30"))
	f.put("orders", order("a", "o-2", "PAID", "4"))
	f.put("orders", order("b", "o-3", "PAID", "4"))
	f.put("orders", order("b", "o-4", "SHIPPED", "5"))
	f.put("orders", item{"shop": str("b"), "id": str("o-5"), "state": str("PAID")}) // no time: not in the index

	page := func(in *dynamodb.QueryInput) { in.Limit = aws.Int32(1) }
	for _, row := range []struct {
		is, condition string
		values        item
		edit          func(*dynamodb.QueryInput)
		want          string
	}{
		{"by its sort key", "#s = :s", item{":s": str("PAID")}, nil, "o-2 o-3 o-1"},
		{"in pages of one", "#s = :s", item{":s": str("PAID")}, page, "o-2 o-3 o-1"},
		{"backwards", "#s = :s", item{":s": str("PAID")}, func(in *dynamodb.QueryInput) { in.ScanIndexForward = aws.Bool(false) }, "o-1 o-3 o-2"},
		{"a range", "#s = :s AND #a BETWEEN :lo AND :hi", item{":s": str("PAID"), ":lo": num("4"), ":hi": num("29")}, nil, "o-2 o-3"},
		{"above", "#s = :s AND #a > :lo", item{":s": str("PAID"), ":lo": num("4")}, nil, "o-1"},
		{"equal, in pages", "#s = :s AND #a = :lo", item{":s": str("PAID"), ":lo": num("4")}, page, "o-2 o-3"},
		{"another partition", "#s = :s", item{":s": str("SHIPPED")}, nil, "o-4"},
	} {
		got, err := f.queryIndex("by-state", row.condition, row.values, func(in *dynamodb.QueryInput) {
			in.ExpressionAttributeNames = map[string]string{"#s": "state"}
			if strings.Contains(row.condition, "#a") {
				in.ExpressionAttributeNames["#a"] = "at"
			}

			if row.edit != nil {
				row.edit(in)
			}
		})
		if err != nil || ids(got) != row.want {
			t.Errorf("%s: %s, %v, want %s", row.is, ids(got), err, row.want)
		}
	}
}

func TestWritesKeepTheIndexes(t *testing.T) {
	f := indexed(t)
	byCustomer := func() string {
		t.Helper()

		all, err := f.queryIndex("by-customer", "customer = :c", item{":c": str("c-1")}, nil)
		if err != nil {
			t.Fatal(err)
		}

		var out []string
		for _, it := range all {
			var attributes []string
			attributes = append(attributes, slices.Sorted(maps.Keys(it))...)
			out = append(out, text(it["id"])+"("+strings.Join(attributes, ",")+")")
		}

		return strings.Join(out, " ")
	}
	update := func(id, expression string, values item) error {
		_, err := f.db.UpdateItem(t.Context(), &dynamodb.UpdateItemInput{
			TableName: aws.String("orders"), Key: item{"shop": str("a"), "id": str(id)},
			UpdateExpression: &expression, ExpressionAttributeValues: values,
		})

		return err
	}

	f.put("orders", item{"shop": str("a"), "id": str("o-1"), "customer": str("c-1"), "note": str("n"), "secret": str("s")})
	same(t, "projected", byCustomer(), "o-1(customer,id,note,shop)")

	if err := update("o-1", "SET customer = :c", item{":c": str("c-2")}); err != nil {
		t.Fatal(err)
	}
	same(t, "moved away", byCustomer(), "")

	if err := update("o-2", "SET customer = :c", item{":c": str("c-1")}); err != nil {
		t.Fatal(err)
	}
	same(t, "created by an update", byCustomer(), "o-2(customer,id,shop)")

	if err := update("o-2", "REMOVE customer", nil); err != nil {
		t.Fatal(err)
	}
	same(t, "its key removed", byCustomer(), "")

	_, err := f.db.TransactWriteItems(t.Context(), &dynamodb.TransactWriteItemsInput{TransactItems: []types.TransactWriteItem{
		{Put: &types.Put{TableName: aws.String("orders"), Item: item{"shop": str("a"), "id": str("o-3"), "customer": str("c-1")}}},
		{Delete: &types.Delete{TableName: aws.String("orders"), Key: item{"shop": str("a"), "id": str("o-1")}}},
	}})
	if err != nil {
		t.Fatal(err)
	}
	same(t, "in a transaction", byCustomer(), "o-3(customer,id,shop)")

	if _, err := f.db.DeleteItem(t.Context(), &dynamodb.DeleteItemInput{TableName: aws.String("orders"), Key: item{"shop": str("a"), "id": str("o-3")}}); err != nil {
		t.Fatal(err)
	}
	same(t, "deleted", byCustomer(), "")
}

func TestAnItemThatCannotBeInAnIndexIsRefused(t *testing.T) {
	f := indexed(t)
	put := func(name string, v types.AttributeValue) error {
		_, err := f.db.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: aws.String("orders"), Item: item{"shop": str("a"), "id": str("o"), name: v}})
		return err
	}
	refused(t, put("state", num("1")), "ValidationException",
		"One or more parameter values were invalid: Type mismatch for Index Key state Expected: S Actual: N IndexName: by-state")
	refused(t, put("customer", str("")), "ValidationException",
		"One or more parameter values are not valid. A value specified for a secondary index key is not supported. The AttributeValue for a key attribute cannot contain an empty string value. IndexName: by-customer, IndexKey: customer")

	_, err := f.db.UpdateItem(t.Context(), &dynamodb.UpdateItemInput{TableName: aws.String("orders"), Key: item{"shop": str("a"), "id": str("o")},
		UpdateExpression: aws.String("SET customer = :c"), ExpressionAttributeValues: item{":c": num("1")}})
	refused(t, err, "ValidationException", "The update expression attempted to update the secondary index key to unsupported type")

	if it := f.get("orders", item{"shop": str("a"), "id": str("o")}); it != nil {
		t.Errorf("written: %v", it)
	}
}

func TestWhatAnIndexShows(t *testing.T) {
	f := indexed(t)
	f.put("orders", item{"shop": str("a"), "id": str("o-1"), "customer": str("c-1"), "total": num("5"), "secret": str("s")})

	local := func(edit func(*dynamodb.QueryInput)) string {
		t.Helper()

		all, err := f.queryIndex("by-total", "shop = :s", item{":s": str("a")}, edit)
		if err != nil {
			return err.Error()
		}

		return strings.Join(slices.Sorted(maps.Keys(all[0])), ",")
	}
	same(t, "keys only", local(nil), "id,shop,total")
	same(t, "all, from the table", local(func(in *dynamodb.QueryInput) { in.Select = types.SelectAllAttributes }), "customer,id,secret,shop,total")
	same(t, "one, from the table", local(func(in *dynamodb.QueryInput) { in.ProjectionExpression = aws.String("secret") }), "secret")
	same(t, "a consistent read", local(func(in *dynamodb.QueryInput) { in.ConsistentRead = aws.Bool(true) }), "id,shop,total")

	for _, row := range []struct {
		index, condition, message string
		values                    item
		edit                      func(*dynamodb.QueryInput)
	}{
		{"by-customer", "customer = :c", "Consistent reads are not supported on global secondary indexes", item{":c": str("c-1")},
			func(in *dynamodb.QueryInput) { in.ConsistentRead = aws.Bool(true) }},
		{"by-customer", "customer = :c", "One or more parameter values were invalid: Select type ALL_ATTRIBUTES is not supported for global secondary index by-customer because its projection type is not ALL",
			item{":c": str("c-1")}, func(in *dynamodb.QueryInput) { in.Select = types.SelectAllAttributes }},
		{"by-customer", "customer = :c", "One or more parameter values were invalid: Global secondary index by-customer does not project [secret]",
			item{":c": str("c-1")}, func(in *dynamodb.QueryInput) { in.ProjectionExpression = aws.String("secret") }},
		{"none", "customer = :c", "The table does not have the specified index: none", item{":c": str("c-1")}, nil},
		{"by-customer", "customer = :c", "The provided starting key is invalid", item{":c": str("c-1")},
			func(in *dynamodb.QueryInput) { in.ExclusiveStartKey = item{"customer": str("c-1")} }},
	} {
		_, err := f.queryIndex(row.index, row.condition, row.values, row.edit)
		refused(t, err, "ValidationException", row.message)
	}
}

func TestIndexesCostCapacity(t *testing.T) {
	f := indexed(t)
	spent := func(it item) string {
		t.Helper()

		out, err := f.db.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: aws.String("orders"), Item: it, ReturnConsumedCapacity: types.ReturnConsumedCapacityIndexes})
		if err != nil {
			t.Fatal(err)
		}

		c := out.ConsumedCapacity
		text := fmt.Sprintf("%v: table %v", *c.CapacityUnits, *c.Table.CapacityUnits)
		for _, name := range slices.Sorted(maps.Keys(c.GlobalSecondaryIndexes)) {
			text += fmt.Sprintf(", %s %v", name, *c.GlobalSecondaryIndexes[name].CapacityUnits)
		}

		for name, x := range c.LocalSecondaryIndexes {
			text += fmt.Sprintf(", %s %v", name, *x.CapacityUnits)
		}

		return text
	}
	same(t, "no index", spent(item{"shop": str("a"), "id": str("o"), "x": num("1")}), "1: table 1")
	same(t, "a new entry", spent(order("a", "o", "PAID", "1")), "2: table 1, by-state 1")
	same(t, "another key", spent(order("a", "o", "SHIPPED", "1")), "3: table 1, by-state 2")

	with := order("a", "o", "SHIPPED", "1")
	with["total"], with["customer"] = num("7"), str("c")
	same(t, "three indexes", spent(with), "4: table 1, by-customer 1, by-state 1, by-total 1")

	with["x"] = str("changed")
	same(t, "an attribute that only one shows", spent(with), "2: table 1, by-state 1")
}

func TestAnIndexIsAddedAndDeletedWhileTheTableIsUsed(t *testing.T) {
	f := open(t)
	f.table("orders", "id", "", "")

	const items = 2500 // more than one step of the back-fill
	for from := 0; from < items; from += 25 {
		var writes []types.WriteRequest
		for n := from; n < from+25; n++ {
			writes = append(writes, types.WriteRequest{PutRequest: &types.PutRequest{Item: item{"id": str(strconv.Itoa(n)), "state": str(strconv.Itoa(n % 2))}}})
		}

		if _, err := f.db.BatchWriteItem(t.Context(), &dynamodb.BatchWriteItemInput{RequestItems: map[string][]types.WriteRequest{"orders": writes}}); err != nil {
			t.Fatal(err)
		}
	}
	f.put("orders", item{"id": str("odd"), "state": num("1")}) // cannot be in the index

	change := func(u types.GlobalSecondaryIndexUpdate) error {
		_, err := f.db.UpdateTable(t.Context(), &dynamodb.UpdateTableInput{
			TableName:                   aws.String("orders"),
			AttributeDefinitions:        []types.AttributeDefinition{{AttributeName: aws.String("state"), AttributeType: "S"}},
			GlobalSecondaryIndexUpdates: []types.GlobalSecondaryIndexUpdate{u},
		})

		return err
	}
	create := types.GlobalSecondaryIndexUpdate{Create: &types.CreateGlobalSecondaryIndexAction{
		IndexName:  aws.String("by-state"),
		KeySchema:  []types.KeySchemaElement{{AttributeName: aws.String("state"), KeyType: types.KeyTypeHash}},
		Projection: &types.Projection{ProjectionType: types.ProjectionTypeKeysOnly},
	}}

	ended := make(chan error, 1)
	go func() { ended <- change(create) }()

	for n := range 300 { // writers do not wait for the back-fill
		f.put("orders", item{"id": str(strconv.Itoa(n)), "state": str("moved")})
	}

	if err := <-ended; err != nil {
		t.Fatal(err)
	}

	f2 := reopenSame(t, f)
	for state, want := range map[string]int{"0": (items - 300) / 2, "1": (items - 300) / 2, "moved": 300} {
		all, err := f2.queryIndex("by-state", "#s = :s", item{":s": str(state)}, func(in *dynamodb.QueryInput) {
			in.ExpressionAttributeNames = map[string]string{"#s": "state"}
		})
		if err != nil || len(all) != want {
			t.Errorf("state %s: %d items, %v, want %d", state, len(all), err, want)
		}
	}

	d, err := f2.db.DescribeTable(t.Context(), &dynamodb.DescribeTableInput{TableName: aws.String("orders")})
	if err != nil || *d.Table.GlobalSecondaryIndexes[0].ItemCount != items || d.Table.GlobalSecondaryIndexes[0].IndexStatus != types.IndexStatusActive {
		t.Errorf("described %+v, %v", d.Table.GlobalSecondaryIndexes, err)
	}

	f = f2
	refused(t, change(create), "ValidationException", "Attempting to create an index which already exists")

	if err := change(types.GlobalSecondaryIndexUpdate{Delete: &types.DeleteGlobalSecondaryIndexAction{IndexName: aws.String("by-state")}}); err != nil {
		t.Fatal(err)
	}

	_, err = f.queryIndex("by-state", "#s = :s", item{":s": str("1")}, func(in *dynamodb.QueryInput) {
		in.ExpressionAttributeNames = map[string]string{"#s": "state"}
	})
	refused(t, err, "ValidationException", "The table does not have the specified index: by-state")
}

// reopenSame closes the engine and opens its directory again.
func reopenSame(t *testing.T, f *fixture) *fixture {
	t.Helper()

	if err := f.Close(); err != nil {
		t.Fatal(err)
	}

	return reopen(t, f.cfg.Dir)
}

func TestCreateTableChecksItsIndexes(t *testing.T) {
	f := open(t)

	for _, row := range []struct {
		message string
		edit    func(*dynamodb.CreateTableInput)
	}{
		{"One or more parameter values were invalid: Duplicate index name: by-state", func(in *dynamodb.CreateTableInput) {
			in.GlobalSecondaryIndexes = append(in.GlobalSecondaryIndexes, in.GlobalSecondaryIndexes[0])
		}},
		{"One or more parameter values were invalid: ProjectionType is ALL, but NonKeyAttributes is specified", func(in *dynamodb.CreateTableInput) {
			in.GlobalSecondaryIndexes[0].Projection.NonKeyAttributes = []string{"x"}
		}},
		{"One or more parameter values were invalid: ProjectionType is INCLUDE, but NonKeyAttributes is not specified", func(in *dynamodb.CreateTableInput) {
			in.GlobalSecondaryIndexes[1].Projection.NonKeyAttributes = nil
		}},
		{"One or more parameter values were invalid: Index KeySchema does not have the same leading hash key as table KeySchema for index: by-total. index hash key: state, table hash key: shop", func(in *dynamodb.CreateTableInput) {
			in.LocalSecondaryIndexes[0].KeySchema[0].AttributeName = aws.String("state")
		}},
		{"One or more parameter values were invalid: Some AttributeDefinitions are not used. AttributeDefinitions: [total, shop, at, more, id, state, customer], keys used: [total, shop, at, id, state, customer]", func(in *dynamodb.CreateTableInput) {
			in.AttributeDefinitions = append(in.AttributeDefinitions, types.AttributeDefinition{AttributeName: aws.String("more"), AttributeType: "S"})
		}},
		{"Value 'x' at 'globalSecondaryIndexes.1.member.indexName' failed to satisfy constraint: Member must have length greater than or equal to 3", func(in *dynamodb.CreateTableInput) {
			in.GlobalSecondaryIndexes[0].IndexName = aws.String("x")
		}},
	} {
		in := ordersByState()
		row.edit(in)

		_, err := f.db.CreateTable(t.Context(), in)
		refused(t, err, "ValidationException", row.message)
	}
}

// TestIndexesFollowAModel makes random changes, some of them while the engine is reopened, and
// compares every index with the items themselves.
func TestIndexesFollowAModel(t *testing.T) {
	f := indexed(t)
	rapid.Check(t, func(r *rapid.T) {
		f.clear(t)
		model := map[string]item{}

		for range rapid.IntRange(1, 25).Draw(r, "changes") {
			key := item{"shop": str(rapid.SampledFrom([]string{"a", "b"}).Draw(r, "shop")), "id": str(rapid.StringMatching(`[\x00-\x02a]{1,2}`).Draw(r, "id"))}
			name := text(key["shop"]) + "/" + text(key["id"])

			if rapid.IntRange(0, 4).Draw(r, "delete") == 0 {
				if _, err := f.db.DeleteItem(t.Context(), &dynamodb.DeleteItemInput{TableName: aws.String("orders"), Key: key}); err != nil {
					r.Fatal(err)
				}
				delete(model, name)
				continue
			}

			it := maps.Clone(key)
			for _, a := range []string{"state", "customer", "note", "x"} {
				if v := rapid.StringMatching(`(|[\x00-\x01b]{1,2})`).Draw(r, a); v != "" {
					it[a] = str(v)
				}
			}

			for _, a := range []string{"at", "total"} {
				if v := rapid.IntRange(-3, 12).Draw(r, a); v < 10 {
					it[a] = num(strconv.Itoa(v))
				}
			}
			f.put("orders", it)
			model[name] = it
		}

		for index, keys := range map[string][2]string{"by-state": {"state", "at"}, "by-customer": {"customer", ""}, "by-total": {"shop", "total"}} {
			f.compareIndex(r, index, keys[0], keys[1], model)
		}
	})
}

// clear deletes all items.
func (f *fixture) clear(t *testing.T) {
	t.Helper()

	out, err := f.db.Scan(t.Context(), &dynamodb.ScanInput{TableName: aws.String("orders")})
	if err != nil {
		t.Fatal(err)
	}

	for _, it := range out.Items {
		if _, err := f.db.DeleteItem(t.Context(), &dynamodb.DeleteItemInput{TableName: aws.String("orders"), Key: item{"shop": it["shop"], "id": it["id"]}}); err != nil {
			t.Fatal(err)
		}
	}
}

// compareIndex compares a scan of the index, in pages, and a query of each of its partitions
// with the model.
func (f *fixture) compareIndex(r *rapid.T, index, hash, sorted string, model map[string]item) {
	want := map[string][]item{}
	total := 0
	for _, it := range model {
		if it[hash] != nil && (sorted == "" || it[sorted] != nil) {
			want[text(it[hash])] = append(want[text(it[hash])], it)
			total++
		}
	}

	scanned, in := 0, &dynamodb.ScanInput{TableName: aws.String("orders"), IndexName: &index, Limit: aws.Int32(3)}
	for {
		out, err := f.db.Scan(f.t.Context(), in)
		if err != nil {
			r.Fatal(err)
		}

		scanned += int(out.Count)
		if in.ExclusiveStartKey = out.LastEvaluatedKey; out.LastEvaluatedKey == nil {
			break
		}
	}

	if scanned != total {
		r.Fatalf("%s: a scan finds %d, want %d", index, scanned, total)
	}

	for partition, items := range want {
		got, err := f.queryIndex(index, "#h = :h", item{":h": str(partition)}, func(in *dynamodb.QueryInput) {
			in.ExpressionAttributeNames, in.Limit = map[string]string{"#h": hash}, aws.Int32(2)
		})
		if err != nil {
			r.Fatal(err)
		}

		names := func(all []item) (out []string) {
			for _, it := range all {
				out = append(out, text(it["shop"])+"/"+text(it["id"]))
			}

			return out
		}
		inOrder := slices.IsSortedFunc(got, func(a, b map[string]types.AttributeValue) int {
			if sorted == "" {
				return 0
			}
			x, _ := strconv.Atoi(number(a[sorted]))
			y, _ := strconv.Atoi(number(b[sorted]))

			return cmp.Compare(x, y)
		})

		a, b := names(got), names(items)
		slices.Sort(a)
		slices.Sort(b)

		if !inOrder || !slices.Equal(a, b) {
			r.Fatalf("%s, partition %q: %q, in order %t, want %q", index, partition, a, inOrder, b)
		}
	}
}

func TestAWriteReportsItsItemCollection(t *testing.T) {
	f := indexed(t)
	out, err := f.db.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: aws.String("orders"), Item: order("a", "o", "PAID", "1"),
		ReturnItemCollectionMetrics: types.ReturnItemCollectionMetricsSize})
	if err != nil || out.ItemCollectionMetrics == nil || text(out.ItemCollectionMetrics.ItemCollectionKey["shop"]) != "a" {
		t.Errorf("metrics %+v, %v", out.ItemCollectionMetrics, err)
	}
}
