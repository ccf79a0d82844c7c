//go:build conformance

package conformance

import "testing"

func TestTransactWrite(t *testing.T) {
	withTables(t, map[string]string{"single": "id:S", "ranged": "h:S,r:N"})
	quietly(t, "PutItem", `{"TableName":"single","Item":{"id":{"S":"a"},"v":{"N":"1"}}}`)
	put := func(id, more string) string {
		return `{"Put":{"TableName":"single","Item":{"id":{"S":"` + id + `"}}` + more + `}}`
	}
	write := func(items string) string { return `{"TransactItems":[` + items + `]}` }
	check := `{"ConditionCheck":{"TableName":"single","Key":{"id":{"S":"a"}},"ConditionExpression":"attribute_exists(id)"}}`
	failing := `{"ConditionCheck":{"TableName":"single","Key":{"id":{"S":"a"}},"ConditionExpression":"attribute_not_exists(id)"}}`
	showing := `{"ConditionCheck":{"TableName":"single","Key":{"id":{"S":"a"}},"ConditionExpression":"attribute_not_exists(id)","ReturnValuesOnConditionCheckFailure":"ALL_OLD"}}`
	one := `"ExpressionAttributeValues":{":n":{"N":"1"}}`
	update := func(id, expression string) string {
		return `{"Update":{"TableName":"single","Key":{"id":{"S":"` + id + `"}},"UpdateExpression":"` + expression + `",` + one + `}}`
	}
	compareRows(t, []row{
		{"nothing", "TransactWriteItems", `{}`},
		{"no items", "TransactWriteItems", write("")},
		{"an empty item", "TransactWriteItems", write("{}")},
		{"two in one", "TransactWriteItems", write(`{"Put":{"TableName":"single","Item":{"id":{"S":"b"}}},"Delete":{"TableName":"single","Key":{"id":{"S":"b"}}}}`)},
		{"a put", "TransactWriteItems", write(put("b", ""))},
		{"everything", "TransactWriteItems", write(put("c", "") + "," + check + "," + update("d", "SET v = :n") + `,{"Delete":{"TableName":"single","Key":{"id":{"S":"b"}}}}`)},
		{"capacity", "TransactWriteItems", `{"ReturnConsumedCapacity":"TOTAL","TransactItems":[` + put("c", "") + `,{"Put":{"TableName":"ranged","Item":{"h":{"S":"a"},"r":{"N":"1"}}}}]}`},
		{"a check that fails", "TransactWriteItems", write(failing + "," + put("e", ""))},
		{"showing the item", "TransactWriteItems", write(put("e", "") + "," + showing)},
		{"two that fail", "TransactWriteItems", write(failing + "," + put("e", "") + "," + put("c", `,"ConditionExpression":"attribute_not_exists(id)"`))},
		{"a put that fails and shows", "TransactWriteItems", write(put("c", `,"ConditionExpression":"attribute_not_exists(id)","ReturnValuesOnConditionCheckFailure":"ALL_OLD"`))},
		{"a failure that has no item to show", "TransactWriteItems", write(put("none", `,"ConditionExpression":"attribute_exists(id)","ReturnValuesOnConditionCheckFailure":"ALL_OLD"`))},
		{"nothing was written", "GetItem", `{"TableName":"single","Key":{"id":{"S":"e"}}}`},
		{"the same item twice", "TransactWriteItems", write(put("f", "") + "," + put("f", ""))},
		{"a check and a put of the same item", "TransactWriteItems", write(check + "," + put("a", ""))},
		{"an update without an expression", "TransactWriteItems", write(`{"Update":{"TableName":"single","Key":{"id":{"S":"a"}}}}`)},
		{"an update that cannot be applied", "TransactWriteItems", write(update("a", "SET x.y = :n"))},
		{"an update of an attribute that is not", "TransactWriteItems", write(update("a", "SET x = y + :n"))},
		{"an update of the wrong type", "TransactWriteItems", write(put("g", "") + "," + update("a", "SET v = id + :n"))},
		{"an update with a bad expression", "TransactWriteItems", write(update("a", "SET v"))},
		{"an update of the key", "TransactWriteItems", write(update("a", "SET id = :n"))},
		{"a check without a condition", "TransactWriteItems", write(`{"ConditionCheck":{"TableName":"single","Key":{"id":{"S":"a"}}}}`)},
		{"a put without an item", "TransactWriteItems", write(`{"Put":{"TableName":"single"}}`)},
		{"a put without a table", "TransactWriteItems", write(`{"Put":{"Item":{"id":{"S":"a"}}}}`)},
		{"a put without its key", "TransactWriteItems", write(`{"Put":{"TableName":"single","Item":{"x":{"S":"a"}}}}`)},
		{"a key of another type", "TransactWriteItems", write(`{"Put":{"TableName":"single","Item":{"id":{"N":"1"}}}}`)},
		{"a deletion with a bad key", "TransactWriteItems", write(`{"Delete":{"TableName":"single","Key":{"x":{"S":"a"}}}}`)},
		{"a bad value", "TransactWriteItems", write(`{"Put":{"TableName":"single","Item":{"id":{"S":"a"},"v":{"N":"x"}}}}`)},
		{"an empty key", "TransactWriteItems", write(`{"Put":{"TableName":"single","Item":{"id":{"S":""}}}}`)},
		{"an unknown table", "TransactWriteItems", write(`{"Put":{"TableName":"absent","Item":{"id":{"S":"a"}}}}`)},
		{"100", "TransactWriteItems", write(repeated(100, `{"Put":{"TableName":"single","Item":{"id":{"S":"h%d"}}}}`))},
		{"101", "TransactWriteItems", write(repeated(101, `{"Put":{"TableName":"single","Item":{"id":{"S":"h%d"}}}}`))},
		{"a token", "TransactWriteItems", `{"ClientRequestToken":"token-1","TransactItems":[` + update("t", "ADD v :n") + `]}`},
		{"the token again", "TransactWriteItems", `{"ClientRequestToken":"token-1","TransactItems":[` + update("t", "ADD v :n") + `]}`},
		{"it was done once", "GetItem", `{"TableName":"single","Key":{"id":{"S":"t"}}}`},
		{"the token with something else", "TransactWriteItems", `{"ClientRequestToken":"token-1","TransactItems":[` + put("u", "") + `]}`},
		{"an empty token", "TransactWriteItems", `{"ClientRequestToken":"","TransactItems":[` + put("u", "") + `]}`},
		{"a token too long", "TransactWriteItems", `{"ClientRequestToken":"0123456789012345678901234567890123456","TransactItems":[` + put("u", "") + `]}`},
	})
}

func TestTransactGet(t *testing.T) {
	withTables(t, map[string]string{"single": "id:S", "ranged": "h:S,r:N"})
	quietly(t, "PutItem", `{"TableName":"single","Item":{"id":{"S":"a"},"v":{"N":"1"},"m":{"M":{"x":{"S":"y"},"z":{"S":"y"}}}}}`)
	quietly(t, "PutItem", `{"TableName":"ranged","Item":{"h":{"S":"a"},"r":{"N":"1"}}}`)
	get := func(items string) string { return `{"TransactItems":[` + items + `]}` }
	a := `{"Get":{"TableName":"single","Key":{"id":{"S":"a"}}}}`
	compareRows(t, []row{
		{"nothing", "TransactGetItems", `{}`},
		{"no items", "TransactGetItems", get("")},
		{"an empty item", "TransactGetItems", get("{}")},
		{"one", "TransactGetItems", get(a)},
		{"two, one of which is not", "TransactGetItems", get(a + `,{"Get":{"TableName":"single","Key":{"id":{"S":"none"}}}}`)},
		{"two tables", "TransactGetItems", `{"ReturnConsumedCapacity":"TOTAL","TransactItems":[` + a + `,{"Get":{"TableName":"ranged","Key":{"h":{"S":"a"},"r":{"N":"1"}}}}]}`},
		{"a projection", "TransactGetItems", get(`{"Get":{"TableName":"single","Key":{"id":{"S":"a"}},"ProjectionExpression":"m.#x","ExpressionAttributeNames":{"#x":"x"}}}`)},
		{"a bad projection", "TransactGetItems", get(`{"Get":{"TableName":"single","Key":{"id":{"S":"a"}},"ProjectionExpression":"m."}}`)},
		{"the same twice", "TransactGetItems", get(a + "," + a)},
		{"a bad key", "TransactGetItems", get(`{"Get":{"TableName":"single","Key":{"x":{"S":"a"}}}}`)},
		{"no key", "TransactGetItems", get(`{"Get":{"TableName":"single"}}`)},
		{"an unknown table", "TransactGetItems", get(`{"Get":{"TableName":"absent","Key":{"id":{"S":"a"}}}}`)},
		{"101", "TransactGetItems", get(repeated(101, `{"Get":{"TableName":"single","Key":{"id":{"S":"k%d"}}}}`))},
	})
}
