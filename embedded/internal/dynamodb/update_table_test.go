package dynamodb

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
)

// A stream, units, and a new or deleted index need requests of their own: a request that mixes them changes
// nothing.
// Source: findings DDB-TABLE-174, DDB-TABLE-382, DDB-TABLE-433 and DDB-TABLE-442 of ack-api-quirks, services/dynamodb,
// recorded on the service
func TestChangesThatDoNotComeTogether(t *testing.T) {
	s, stop := openService(t, t.TempDir())
	defer stop()

	const (
		cannot      = oneInvalid + "You cannot "
		deleteIndex = `"GlobalSecondaryIndexUpdates":[{"Delete":{"IndexName":"by-k"}}]`
		stream      = `"StreamSpecification":{"StreamEnabled":true,"StreamViewType":"KEYS_ONLY"}`
		units       = `"BillingMode":"PROVISIONED","ProvisionedThroughput":{"ReadCapacityUnits":1,"WriteCapacityUnits":1}`
		protect     = `"DeletionProtectionEnabled":true`
		class       = `"TableClass":"STANDARD_INFREQUENT_ACCESS"`
		encryption  = `"SSESpecification":{"Enabled":true}`
		warm        = `"WarmThroughput":{"ReadUnitsPerSecond":15000}`
	)

	only := func(what string) string { return oneInvalid + what + " must be the only operation in the request" }

	mustAnswer(t, s, "CreateTable", plainTable)
	mustAnswer(t, s, "UpdateTable", `{"TableName":"items",`+addIndex+`}`)
	before := mustAnswer(t, s, "DescribeTable", `{"TableName":"items"}`)

	for _, row := range []struct{ body, want string }{
		{stream + "," + deleteIndex, cannot + "create or delete index while changing stream status"},
		{stream + "," + addIndex, cannot + "create or delete index while changing stream status"},
		{units + "," + deleteIndex, cannot + "create or delete index while updating table IOPS"},
		{units + "," + addIndex, cannot + "create or delete index while updating table IOPS"},
		{units + "," + stream, cannot + "modify stream status while updating table IOPS"},
		{protect + "," + stream, only("DeletionProtection modification")},
		{protect + "," + units, only("DeletionProtection modification")},
		{protect + `,"BillingMode":"PAY_PER_REQUEST"`, only("DeletionProtection modification")},
		{protect + "," + addIndex, only("DeletionProtection modification")},
		{protect + `,"OnDemandThroughput":{"MaxReadRequestUnits":5}`, only("DeletionProtection modification")},
		{warm + "," + protect, only("DeletionProtection modification")},
		{warm + "," + stream, only("WarmThroughput")},
		{class + "," + protect, only("TableClass modification")},
		{class + "," + stream, only("TableClass modification")},
		{class + "," + units, only("TableClass modification")},
		{class + "," + addIndex, only("TableClass modification")},
		{encryption + "," + class, only("Server-Side Encryption modification")},
		{encryption + "," + protect, only("Server-Side Encryption modification")},
		{encryption + "," + addIndex, only("Server-Side Encryption modification")},
		{`"StreamSpecification":{"StreamEnabled":true}`, oneInvalid + "If stream is being enabled then UpdateViewType is required"},
		{`"StreamSpecification":{"StreamEnabled":false,"StreamViewType":"KEYS_ONLY"}`, oneInvalid + "If stream is being disabled, then UpdateViewType must not be specified"},
		{`"StreamSpecification":{}`, broken(must("null", "streamSpecification.streamEnabled", notBeNull))},
		{`"GlobalSecondaryIndexUpdates":[{"Update":{"IndexName":"by-k","ProvisionedThroughput":{"ReadCapacityUnits":1,"WriteCapacityUnits":1}}}]`,
			oneInvalid + "The only Updates for index: by-k when TableThroughputMode is PAY_PER_REQUEST can be to OnDemandThroughput, WarmThroughput"},
		{`"StreamSpecification":{"StreamEnabled":false}`, invalidOrder + "Table has no stream to disable: TableName: items"},
	} {
		if got := request(t, s, "UpdateTable", `{"TableName":"items",`+row.body+`}`); got != row.want {
			t.Errorf("%s\n got %s\nwant %s", row.body, got, row.want)
		}
	}

	if after := mustAnswer(t, s, "DescribeTable", `{"TableName":"items"}`); after != before {
		t.Errorf("the table is %s", after)
	}

	for _, alone := range []string{protect, class, encryption, warm, `"BillingMode":"PAY_PER_REQUEST",` + stream} {
		mustAnswer(t, s, "UpdateTable", `{"TableName":"items",`+alone+`}`)
	}
}

// A table is created with a stream and its view, or with neither.
// Source: finding DDB-TABLE-442 of ack-api-quirks, services/dynamodb, recorded on the service
func TestStreamsOfNewTables(t *testing.T) {
	s, stop := openService(t, t.TempDir())
	defer stop()

	const created = "Table is being created with a stream "

	for _, row := range []struct{ stream, want string }{
		{`{"StreamEnabled":true}`, oneInvalid + created + "enabled, UpdateViewType is required"},
		{`{"StreamEnabled":false,"StreamViewType":"KEYS_ONLY"}`, oneInvalid + created + "disabled, UpdateViewType should not be specified"},
		{`{"StreamViewType":"KEYS_ONLY"}`, broken(must("null", "streamSpecification.streamEnabled", notBeNull))},
	} {
		if got := request(t, s, "CreateTable", strings.Replace(plainTable, "{", `{"StreamSpecification":`+row.stream+",", 1)); got != row.want {
			t.Errorf("%s\n got %s\nwant %s", row.stream, got, row.want)
		}
	}
	mustAnswer(t, s, "CreateTable", strings.Replace(plainTable, "{", `{"StreamSpecification":{"StreamEnabled":false},`, 1))
}

// An index of a provisioned table has units from the start.
// Source: ScyllaDB test/alternator, "test_gsi_throughput_required_in_provisioned_mode", which runs on the service
func TestAnIndexWithoutUnits(t *testing.T) {
	s, stop := openService(t, t.TempDir())
	defer stop()

	got := request(t, s, "CreateTable", `{"TableName":"units","ProvisionedThroughput":{"ReadCapacityUnits":1,"WriteCapacityUnits":1},
		"KeySchema":[{"AttributeName":"id","KeyType":"HASH"}],"AttributeDefinitions":[{"AttributeName":"id","AttributeType":"S"}],
		"GlobalSecondaryIndexes":[{"IndexName":"one","KeySchema":[{"AttributeName":"id","KeyType":"HASH"}],"Projection":{"ProjectionType":"ALL"}}]}`)
	if want := oneInvalid + "ProvisionedThroughput is not specified for index: one"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// The global indexes lose their units together with the table, and get them back together with it.
// Source: https://github.com/architect/dynalite test/updateTable.js, "should allow table to be converted to
// PAY_PER_REQUEST and back again", recorded on the service
func TestUnitsOfIndexesFollowTheTable(t *testing.T) {
	s, stop := openService(t, t.TempDir())
	defer stop()

	const units = `"ProvisionedThroughput":{"ReadCapacityUnits":5,"WriteCapacityUnits":6}`

	index := func(name string) string {
		return fmt.Sprintf(`{"IndexName":%q,"KeySchema":[{"AttributeName":"k","KeyType":"HASH"}],"Projection":{"ProjectionType":"ALL"},%s}`, name, units)
	}
	update := func(name string) string { return fmt.Sprintf(`{"Update":{"IndexName":%q,%s}}`, name, units) }
	unitsOf := func() (all []int) {
		var d struct {
			Table struct {
				GlobalSecondaryIndexes []struct {
					ProvisionedThroughput struct{ ReadCapacityUnits, WriteCapacityUnits int }
				}
			}
		}
		if err := json.Unmarshal([]byte(mustAnswer(t, s, "DescribeTable", `{"TableName":"units"}`)), &d); err != nil {
			t.Fatal(err)
		}

		for _, x := range d.Table.GlobalSecondaryIndexes {
			all = append(all, x.ProvisionedThroughput.ReadCapacityUnits, x.ProvisionedThroughput.WriteCapacityUnits)
		}

		return all
	}

	mustAnswer(t, s, "CreateTable", `{"TableName":"units",`+units+`,"KeySchema":[{"AttributeName":"id","KeyType":"HASH"},{"AttributeName":"sk","KeyType":"RANGE"}],
		"AttributeDefinitions":[{"AttributeName":"id","AttributeType":"S"},{"AttributeName":"sk","AttributeType":"S"},{"AttributeName":"k","AttributeType":"S"}],
		"LocalSecondaryIndexes":[{"IndexName":"local","KeySchema":[{"AttributeName":"id","KeyType":"HASH"},{"AttributeName":"k","KeyType":"RANGE"}],"Projection":{"ProjectionType":"ALL"}}],
		"GlobalSecondaryIndexes":[`+index("one")+`,`+index("two")+`]}`)

	mustAnswer(t, s, "UpdateTable", `{"TableName":"units","BillingMode":"PAY_PER_REQUEST"}`)

	if got := unitsOf(); !slices.Equal(got, []int{0, 0, 0, 0}) {
		t.Errorf("on demand the indexes have %v", got)
	}

	for _, row := range []struct{ updates, want string }{
		{"", "one,two"},
		{`,"GlobalSecondaryIndexUpdates":[` + update("one") + `]`, "two"},
	} {
		got := request(t, s, "UpdateTable", `{"TableName":"units","BillingMode":"PROVISIONED",`+units+row.updates+`}`)
		if want := oneInvalid + "ProvisionedThroughput must be specified for index: " + row.want; got != want {
			t.Errorf("with %s\n got %s\nwant %s", row.updates, got, want)
		}
	}

	mustAnswer(t, s, "UpdateTable", `{"TableName":"units","BillingMode":"PROVISIONED",`+units+`,"GlobalSecondaryIndexUpdates":[`+update("one")+`,`+update("two")+`]}`)

	if got := unitsOf(); !slices.Equal(got, []int{5, 6, 5, 6}) {
		t.Errorf("provisioned again, the indexes have %v", got)
	}
}
