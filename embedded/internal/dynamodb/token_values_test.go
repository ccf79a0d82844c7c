package dynamodb

import "testing"

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
