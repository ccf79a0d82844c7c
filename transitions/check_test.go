package transitions_test

import (
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ratchet/embedded/embeddedtest"
	"ratchet/internal/dynamo"
	"ratchet/tests/shop"
	"ratchet/transitions"
)

// What does not fit is said before the first order is written.
func TestCheckSaysWhatDoesNotFit(t *testing.T) {
	single := shop.Mappings()["single table"]
	single.Attributes = map[string]string{"orderState": "status"}
	table := func(change func(*dynamodb.CreateTableInput)) *dynamodb.CreateTableInput {
		in := single.OrdersTable("shop")
		change(in)

		return in
	}
	text := func(v string) types.AttributeValue { return dynamo.S(v) }
	order := map[string]types.AttributeValue{"pk": text("ORDER#1"), "sk": text("ORDER")}

	for _, row := range []struct {
		why   string
		table *dynamodb.CreateTableInput
		items []map[string]types.AttributeValue
		ttl   bool
		want  []string
	}{
		{why: "it fits", table: table(func(*dynamodb.CreateTableInput) {})},
		{why: "there is no table", want: []string{"! table shop does not exist"}},
		{why: "another key", table: transitions.Mapping{}.OrdersTable("shop"), want: []string{"! the table has the key orderId (S), the mapping pk (S), sk (S)"}},
		{why: "a number as the sort key", table: table(func(in *dynamodb.CreateTableInput) {
			in.AttributeDefinitions[1].AttributeType = types.ScalarAttributeTypeN
		}), want: []string{"! the table has the key pk (S), sk (N)"}},
		{why: "no stream", table: table(func(in *dynamodb.CreateTableInput) { in.StreamSpecification = nil }), want: []string{"! the table has no stream"}},
		{why: "one image", table: table(func(in *dynamodb.CreateTableInput) {
			in.StreamSpecification.StreamViewType = types.StreamViewTypeNewImage
		}), want: []string{"! the table has no stream"}},
		{why: "a time to live", table: table(func(*dynamodb.CreateTableInput) {}), ttl: true, want: []string{"! the table deletes items by the time in expires"}},
		{why: "an index on the state", table: table(func(in *dynamodb.CreateTableInput) {
			in.AttributeDefinitions = append(in.AttributeDefinitions, types.AttributeDefinition{AttributeName: aws.String("status"), AttributeType: types.ScalarAttributeTypeS})
			in.GlobalSecondaryIndexes = []types.GlobalSecondaryIndex{{
				IndexName: aws.String("by-status"), KeySchema: []types.KeySchemaElement{{AttributeName: aws.String("status"), KeyType: types.KeyTypeHash}},
				Projection: &types.Projection{ProjectionType: types.ProjectionTypeKeysOnly},
			}}
		}), want: []string{"the key of index by-status has status"}},
		{
			why: "items", table: table(func(*dynamodb.CreateTableInput) {}),
			items: []map[string]types.AttributeValue{
				{"pk": order["pk"], "sk": order["sk"]},
				{"pk": text("ORDER#2"), "sk": order["sk"], "status": text("PENDING"), "total": text("5 EUR")},
				{"pk": text("ORDER#2"), "sk": text("LINE#1")},
			},
			want: []string{"order 1 cannot be moved", "the attribute status here", "order 2: attribute total has another form", "1 of 3 items are no orders"},
		},
	} {
		t.Run(row.why, func(t *testing.T) {
			db := dynamodb.NewFromConfig(embeddedtest.Backend(t))
			if row.table != nil {
				embeddedtest.Create(t, db, row.table)
			}

			if row.ttl {
				if _, err := db.UpdateTimeToLive(t.Context(), &dynamodb.UpdateTimeToLiveInput{
					TableName: aws.String("shop"), TimeToLiveSpecification: &types.TimeToLiveSpecification{AttributeName: aws.String("expires"), Enabled: aws.Bool(true)},
				}); err != nil {
					t.Fatal(err)
				}
			}

			for _, item := range row.items {
				if _, err := db.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: aws.String("shop"), Item: item}); err != nil {
					t.Fatal(err)
				}
			}

			orders, err := transitions.New(transitions.Config{DynamoDB: db, Table: "shop", Mapping: single})
			if err != nil {
				t.Fatal(err)
			}

			found, err := orders.Check(t.Context())
			if err != nil {
				t.Fatal(err)
			}

			var all strings.Builder
			for _, f := range found {
				if f.Refused {
					all.WriteString("! ")
				}
				all.WriteString(f.What + "\n")
			}

			for _, want := range row.want {
				if !strings.Contains(all.String(), want) {
					t.Errorf("%q is not in:\n%s", want, all.String())
				}
			}

			if len(row.want) == 0 && len(found) > 0 {
				t.Errorf("it fits, and there is:\n%s", all.String())
			}
		})
	}
}

// A mapping that cannot be read back is refused.
func TestAMappingHasRules(t *testing.T) {
	for want, m := range map[string]transitions.Mapping{
		"must have {id} once":        {Key: "ORDER"},
		"may have {id} once":         {SortKey: "sk", Sort: "{id}{id}"},
		"both or neither":            {SortKey: "sk"},
		"is the partition key":       {PartitionKey: "pk", SortKey: "pk", Sort: "x"},
		"is no field":                {Attributes: map[string]string{"state": "status"}},
		"is empty":                   {Attributes: map[string]string{"total": ""}},
		`which is that of items`:     {Attributes: map[string]string{"items": "total"}},
		`which is that of the part`:  {PartitionKey: "total"},
		`which is that of the sort`:  {SortKey: "total", Sort: "x"},
		"has 256 bytes, at most 255": {Attributes: map[string]string{"items": strings.Repeat("x", 256)}},
	} {
		if err := m.Validate(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v, want %q", m, err, want)
		}
	}
}
