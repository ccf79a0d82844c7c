//go:build conformance

package conformance

import (
	"strings"
	"testing"
)

func TestTables(t *testing.T) {
	schema := `"KeySchema":[{"AttributeName":"id","KeyType":"HASH"}],"AttributeDefinitions":[{"AttributeName":"id","AttributeType":"S"}]`
	onDemand := `"BillingMode":"PAY_PER_REQUEST"`
	create := func(more string) string { return `{"TableName":"fresh",` + more + `}` }
	compareRows(t, []row{
		{"nothing", "CreateTable", `{}`},
		{"no name", "CreateTable", `{` + schema + `,` + onDemand + `}`},
		{"a short name", "CreateTable", `{"TableName":"ab",` + schema + `,` + onDemand + `}`},
		{"a long name", "CreateTable", `{"TableName":"` + strings.Repeat("a", 256) + `",` + schema + `,` + onDemand + `}`},
		{"a bad name", "CreateTable", `{"TableName":"a b c",` + schema + `,` + onDemand + `}`},
		{"no schema", "CreateTable", create(onDemand)},
		{"no key schema", "CreateTable", create(`"AttributeDefinitions":[{"AttributeName":"id","AttributeType":"S"}],` + onDemand)},
		{"no definitions", "CreateTable", create(`"KeySchema":[{"AttributeName":"id","KeyType":"HASH"}],` + onDemand)},
		{"an empty key schema", "CreateTable", create(`"KeySchema":[],"AttributeDefinitions":[{"AttributeName":"id","AttributeType":"S"}],` + onDemand)},
		{"no throughput", "CreateTable", create(schema)},
		{"a range key alone", "CreateTable", create(`"KeySchema":[{"AttributeName":"id","KeyType":"RANGE"}],"AttributeDefinitions":[{"AttributeName":"id","AttributeType":"S"}],` + onDemand)},
		{"two hash keys", "CreateTable", create(`"KeySchema":[{"AttributeName":"id","KeyType":"HASH"},{"AttributeName":"x","KeyType":"HASH"}],"AttributeDefinitions":[{"AttributeName":"id","AttributeType":"S"},{"AttributeName":"x","AttributeType":"S"}],` + onDemand)},
		{"the same key twice", "CreateTable", create(`"KeySchema":[{"AttributeName":"id","KeyType":"HASH"},{"AttributeName":"id","KeyType":"RANGE"}],"AttributeDefinitions":[{"AttributeName":"id","AttributeType":"S"}],` + onDemand)},
		{"three keys", "CreateTable", create(`"KeySchema":[{"AttributeName":"a","KeyType":"HASH"},{"AttributeName":"b","KeyType":"RANGE"},{"AttributeName":"c","KeyType":"RANGE"}],"AttributeDefinitions":[{"AttributeName":"a","AttributeType":"S"},{"AttributeName":"b","AttributeType":"S"},{"AttributeName":"c","AttributeType":"S"}],` + onDemand)},
		{"a key without a definition", "CreateTable", create(`"KeySchema":[{"AttributeName":"id","KeyType":"HASH"}],"AttributeDefinitions":[{"AttributeName":"x","AttributeType":"S"}],` + onDemand)},
		{"a definition too many", "CreateTable", create(`"KeySchema":[{"AttributeName":"id","KeyType":"HASH"}],"AttributeDefinitions":[{"AttributeName":"id","AttributeType":"S"},{"AttributeName":"x","AttributeType":"S"}],` + onDemand)},
		{"a key of a document type", "CreateTable", create(`"KeySchema":[{"AttributeName":"id","KeyType":"HASH"}],"AttributeDefinitions":[{"AttributeName":"id","AttributeType":"M"}],` + onDemand)},
		{"an unknown key type", "CreateTable", create(`"KeySchema":[{"AttributeName":"id","KeyType":"X"}],"AttributeDefinitions":[{"AttributeName":"id","AttributeType":"S"}],` + onDemand)},
		{"an unknown billing mode", "CreateTable", create(schema + `,"BillingMode":"X"`)},
		{"no units", "CreateTable", create(schema + `,"ProvisionedThroughput":{"ReadCapacityUnits":0,"WriteCapacityUnits":1}`)},
		{"a stream without a view", "CreateTable", create(schema + `,` + onDemand + `,"StreamSpecification":{"StreamEnabled":true}`)},
		{"a table", "CreateTable", create(schema + `,` + onDemand)},
		{"described", "DescribeTable", `{"TableName":"fresh"}`},
		{"again", "CreateTable", create(schema + `,` + onDemand)},
		{"listed", "ListTables", `{}`},
		{"dropped", "DeleteTable", `{"TableName":"fresh"}`},
		{"not there any more", "DescribeTable", `{"TableName":"fresh"}`},
		{"dropped again", "DeleteTable", `{"TableName":"fresh"}`},
		{"with units", "CreateTable", create(schema + `,"ProvisionedThroughput":{"ReadCapacityUnits":2,"WriteCapacityUnits":3}`)},
		{"described with units", "DescribeTable", `{"TableName":"fresh"}`},
		{"other units", "UpdateTable", `{"TableName":"fresh","ProvisionedThroughput":{"ReadCapacityUnits":4,"WriteCapacityUnits":5}}`},
		{"the same units", "UpdateTable", `{"TableName":"fresh","ProvisionedThroughput":{"ReadCapacityUnits":4,"WriteCapacityUnits":5}}`},
		{"a stream", "UpdateTable", `{"TableName":"fresh","StreamSpecification":{"StreamEnabled":true,"StreamViewType":"KEYS_ONLY"}}`},
		{"described with a stream", "DescribeTable", `{"TableName":"fresh"}`},
		{"another stream", "UpdateTable", `{"TableName":"fresh","StreamSpecification":{"StreamEnabled":true,"StreamViewType":"NEW_IMAGE"}}`},
		{"no stream", "UpdateTable", `{"TableName":"fresh","StreamSpecification":{"StreamEnabled":false}}`},
		{"no stream again", "UpdateTable", `{"TableName":"fresh","StreamSpecification":{"StreamEnabled":false}}`},
		{"nothing to change", "UpdateTable", `{"TableName":"fresh"}`},
		{"an update of nothing", "UpdateTable", `{"TableName":"absent","BillingMode":"PAY_PER_REQUEST"}`},
		{"on demand", "UpdateTable", `{"TableName":"fresh","BillingMode":"PAY_PER_REQUEST"}`},
		{"gone", "DeleteTable", `{"TableName":"fresh"}`},
		{"no table to describe", "DescribeTable", `{}`},
		{"a bad name to describe", "DescribeTable", `{"TableName":"a/b"}`},
		{"an unknown table to describe", "DescribeTable", `{"TableName":"absent"}`},
		{"no limit", "ListTables", `{"Limit":0}`},
		{"a limit too high", "ListTables", `{"Limit":101}`},
		{"after a name", "ListTables", `{"ExclusiveStartTableName":"zzz"}`},
	})
}

// A request that the service refuses and DynamoDB Local accepts creates a table there, which is
// deleted again.
func TestTablesTheVendorAllows(t *testing.T) {
	schema := `"KeySchema":[{"AttributeName":"id","KeyType":"HASH"}],"AttributeDefinitions":[{"AttributeName":"id","AttributeType":"S"}],"BillingMode":"PAY_PER_REQUEST"`
	for _, more := range []string{
		`"ProvisionedThroughput":{"ReadCapacityUnits":1,"WriteCapacityUnits":1}`,
		`"StreamSpecification":{"StreamEnabled":true,"StreamViewType":"X"}`,
	} {
		both(t, "CreateTable", `{"TableName":"allowed",`+schema+`,`+more+`}`)
		ask(t, vendorSide, "DeleteTable", `{"TableName":"allowed"}`)
	}
}

func TestListTablesByPage(t *testing.T) {
	withTables(t, map[string]string{"list-a": "id:S", "list-b": "id:S", "list-c": "id:S"})
	compareRows(t, []row{
		{"all", "ListTables", `{}`},
		{"two", "ListTables", `{"Limit":2}`},
		{"the rest", "ListTables", `{"Limit":2,"ExclusiveStartTableName":"list-b"}`},
		{"after one that is not", "ListTables", `{"ExclusiveStartTableName":"list-az"}`},
		{"exactly as many", "ListTables", `{"Limit":3}`},
	})
}

func TestTimeToLive(t *testing.T) {
	withTables(t, map[string]string{"ttl": "id:S"})
	compareRows(t, []row{
		{"off at first", "DescribeTimeToLive", `{"TableName":"ttl"}`},
		{"turned off while off", "UpdateTimeToLive", `{"TableName":"ttl","TimeToLiveSpecification":{"Enabled":false,"AttributeName":"at"}}`},
		{"without a name", "UpdateTimeToLive", `{"TableName":"ttl","TimeToLiveSpecification":{"Enabled":true}}`},
		{"an empty name", "UpdateTimeToLive", `{"TableName":"ttl","TimeToLiveSpecification":{"Enabled":true,"AttributeName":""}}`},
		{"without a specification", "UpdateTimeToLive", `{"TableName":"ttl"}`},
		{"on", "UpdateTimeToLive", `{"TableName":"ttl","TimeToLiveSpecification":{"Enabled":true,"AttributeName":"at"}}`},
		{"described", "DescribeTimeToLive", `{"TableName":"ttl"}`},
		{"on again", "UpdateTimeToLive", `{"TableName":"ttl","TimeToLiveSpecification":{"Enabled":true,"AttributeName":"at"}}`},
		{"on another attribute", "UpdateTimeToLive", `{"TableName":"ttl","TimeToLiveSpecification":{"Enabled":true,"AttributeName":"other"}}`},
		{"of an unknown table", "DescribeTimeToLive", `{"TableName":"absent"}`},
		{"changed on an unknown table", "UpdateTimeToLive", `{"TableName":"absent","TimeToLiveSpecification":{"Enabled":true,"AttributeName":"at"}}`},
	})
}
