package dynamodb

import (
	"fmt"
	"strings"
	"testing"
)

// The changes of indexes that one UpdateTable can make, on an on-demand table and on a provisioned one.
// Source: findings DDB-TABLE-152, 160, 162, 359 and 442 of ack-api-quirks, services/dynamodb, recorded on the
// service
func TestRulesOfIndexUpdates(t *testing.T) {
	s, stop := openService(t, t.TempDir())
	defer stop()

	const (
		units = `"ProvisionedThroughput":{"ReadCapacityUnits":1,"WriteCapacityUnits":1}`
		table = `"KeySchema":[{"AttributeName":"id","KeyType":"HASH"},{"AttributeName":"sk","KeyType":"RANGE"}],
			"AttributeDefinitions":[{"AttributeName":"id","AttributeType":"S"},{"AttributeName":"sk","AttributeType":"S"}],
			"LocalSecondaryIndexes":[{"IndexName":"local","KeySchema":[{"AttributeName":"id","KeyType":"HASH"},{"AttributeName":"sk","KeyType":"RANGE"}],"Projection":{"ProjectionType":"ALL"}}]`
		defined = `,"AttributeDefinitions":[{"AttributeName":"k","AttributeType":"S"},{"AttributeName":"unused","AttributeType":"S"}]`
	)
	updates := func(list ...string) string { return `"GlobalSecondaryIndexUpdates":[` + strings.Join(list, ",") + `]` }
	create := func(more string) string {
		return `{"Create":{"IndexName":"new","KeySchema":[{"AttributeName":"k","KeyType":"HASH"}],"Projection":{"ProjectionType":"ALL"}` + more + `}}`
	}

	mustAnswer(t, s, "CreateTable", `{"TableName":"demand","BillingMode":"PAY_PER_REQUEST",`+table+`}`)
	mustAnswer(t, s, "CreateTable", `{"TableName":"provisioned",`+units+`,`+table+`}`)

	for _, row := range []struct{ table, body, want string }{
		{"demand", updates() + `,"DeletionProtectionEnabled":false`, oneInvalid + "List of GlobalSecondaryIndexUpdates is empty"},
		{"demand", updates(`{"Update":{"IndexName":"new",` + units + `},"Delete":{"IndexName":"new"}}`),
			oneInvalid + "Only one global secondary index action is allowed per GlobalSecondaryIndexUpdate object"},
		{"demand", updates(`{"Delete":{"IndexName":"local"}}`), invalidOrder + "Cannot delete an index that is not a GlobalSecondaryIndex: local"},
		{"demand", updates(`{"Update":{"IndexName":"local",` + units + `}}`), invalidOrder + "Cannot update an index that is not a GlobalSecondaryIndex: local"},
		{"demand", updates(`{"Delete":{"IndexName":"none"}}`), "ResourceNotFoundException: Requested resource not found"},
		{"demand", updates(create("")), oneInvalid + "AttributeDefinitions is not specified for index: new"},
		{"demand", updates(create(","+units)) + defined, oneInvalid + "Neither ReadCapacityUnits nor WriteCapacityUnits can be specified for index: new when BillingMode is PAY_PER_REQUEST"},
		{"provisioned", updates(create("")) + defined, oneInvalid + "Both ReadCapacityUnits and WriteCapacityUnits must be specified for index: new"},
	} {
		if got := request(t, s, "UpdateTable", fmt.Sprintf(`{"TableName":%q,%s}`, row.table, row.body)); got != row.want {
			t.Errorf("%s %s\n got %s\nwant %s", row.table, row.body, got, row.want)
		}
	}

	mustAnswer(t, s, "UpdateTable", `{"TableName":"demand",`+updates(create(""))+defined+`}`)
	mustAnswer(t, s, "UpdateTable", `{"TableName":"provisioned",`+updates(create(","+units))+defined+`}`)
}

// A table has at most 20 global indexes, however they come. A deleted index makes room.
// Source: https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/ServiceQuotas.html
func TestTheTwentyFirstIndex(t *testing.T) {
	s, stop := openService(t, t.TempDir())
	defer stop()

	mustAnswer(t, s, "CreateTable", plainTable)

	create := func(n int) string {
		return fmt.Sprintf(`{"TableName":"items","AttributeDefinitions":[{"AttributeName":"id","AttributeType":"S"}],"GlobalSecondaryIndexUpdates":[{"Create":`+
			`{"IndexName":"index-%d","KeySchema":[{"AttributeName":"id","KeyType":"HASH"}],"Projection":{"ProjectionType":"KEYS_ONLY"}}}]}`, n)
	}
	for n := range 20 {
		mustAnswer(t, s, "UpdateTable", create(n))
	}

	if got := request(t, s, "UpdateTable", create(20)); got != "LimitExceededException: GlobalSecondaryIndex count exceeds the per-table limit of 20" {
		t.Errorf("one more: %s", got)
	}
	mustAnswer(t, s, "UpdateTable", `{"TableName":"items","GlobalSecondaryIndexUpdates":[{"Delete":{"IndexName":"index-3"}}]}`)
	mustAnswer(t, s, "UpdateTable", create(20))
}

// Definitions that no key uses are refused after faults in the keys of the global indexes, before other faults.
// Source: findings DDB-TABLE-126 and 127 of ack-api-quirks, services/dynamodb, recorded on the service
func TestUnusedAndDoubleNamesOfNewTables(t *testing.T) {
	s, stop := openService(t, t.TempDir())
	defer stop()

	body := func(definitions, projection string) string {
		var list []string
		for _, name := range strings.Fields(definitions) {
			list = append(list, fmt.Sprintf(`{"AttributeName":%q,"AttributeType":"S"}`, name))
		}

		return `{"TableName":"names","BillingMode":"PAY_PER_REQUEST","KeySchema":[{"AttributeName":"pk","KeyType":"HASH"},{"AttributeName":"sk","KeyType":"RANGE"}],"AttributeDefinitions":[` +
			strings.Join(list, ",") + `],"GlobalSecondaryIndexes":[{"IndexName":"gsi","KeySchema":[{"AttributeName":"a","KeyType":"HASH"}],"Projection":` + projection + `}]}`
	}

	const include = `{"ProjectionType":"INCLUDE","NonKeyAttributes":["v","w","v"]}`

	for _, row := range []struct{ body, want string }{
		{body("pk sk pk", include), invalidOrder + "Attribute Name is duplicated: pk"},
		{body("sk a b pk c", include), oneInvalid + "Some AttributeDefinitions are not used. AttributeDefinitions: [sk, a, b, pk, c], keys used: [a, sk, pk]"},
		{body("sk a pk", include), oneInvalid + "Duplicate element in NonKeyAttributes: v"},
	} {
		if got := request(t, s, "CreateTable", row.body); got != row.want {
			t.Errorf("%s\n got %s\nwant %s", row.body, got, row.want)
		}
	}
}
