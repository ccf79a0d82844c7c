package dynamodb

import (
	"strings"
	"testing"
)

// TestATokenBesideValuesThatAreNone: a request with a ClientRequestToken is refused as without one, if values are
// missing in it. A member that the action does not have counts for nothing, as everywhere.
func TestATokenBesideValuesThatAreNone(t *testing.T) {
	s := openOrders(t)

	const (
		token = `,"ClientRequestToken":"t"}`
		key   = `{"shop":{"S":"a"},"num":{"N":"1"}}`
		none  = "ValidationException: Supplied AttributeValue is empty, must contain exactly one of the supported datatypes"
	)

	for _, row := range []struct{ operation, body, want string }{
		{"ExecuteTransaction", `{"TransactStatements":[{"Statement":"UPDATE orders SET v = ? WHERE shop = 'a' AND num = 1","Parameters":[{}]}]` + token,
			"ValidationException: Validation failed in TransactStatements[0]: Supplied AttributeValue is empty, must contain exactly one of the supported datatypes"},
		{"TransactWriteItems", `{"TransactItems":[{"Put":{"TableName":"orders","Item":{"shop":{"S":"a"},"num":{"N":"1"},"v":{}}}}]` + token, none},
		{"TransactWriteItems", `{"TransactItems":[{"Delete":{"TableName":"orders","Key":` + key + `,"Item":{"v":{}}}}]` + token, "{}"},
		{"TransactWriteItems", `{"TransactItems":[{"Put":{"TableName":"orders","Item":` + key + `,"Key":{"v":{"L":[{}]}}}}],"ClientRequestToken":"u"}`, "{}"},
	} {
		if got := request(t, s, row.operation, row.body); got != row.want {
			t.Errorf("%s %s\n got %s\nwant %s", row.operation, row.body, got, row.want)
		}
	}
}

// TestAStatementWithAnEmptyListOfParameters: the API model wants one at least. The AWS SDK for JavaScript sends such a list
// if a caller gives it plain values.
// Source: https://github.com/aws/aws-sdk-js-v3/issues/3529, observed on the service
func TestAStatementWithAnEmptyListOfParameters(t *testing.T) {
	s := openOrders(t)

	const statement = `{"Statement":"SELECT * FROM orders WHERE shop = 'a' AND num = 1","Parameters":[]}`

	if got := request(t, s, "ExecuteStatement", statement); got != broken(must("'[]'", "parameters", have1)) {
		t.Errorf("alone: %s", got)
	}

	if got := request(t, s, "BatchExecuteStatement", `{"Statements":[`+statement+`]}`); !strings.Contains(got, "parameters' failed to satisfy constraint: Member must "+have1) {
		t.Errorf("in a batch: %s", got)
	}
}
