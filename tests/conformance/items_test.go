//go:build conformance

package conformance

import "testing"

func TestPut(t *testing.T) {
	withTables(t, map[string]string{"single": "id:S", "ranged": "h:S,r:N"})
	compareRows(t, []row{
		{"no table", "PutItem", `{"Item":{"id":{"S":"a"}}}`},
		{"no item", "PutItem", `{"TableName":"single"}`},
		{"nothing", "PutItem", `{}`},
		{"a null item", "PutItem", `{"TableName":"single","Item":null}`},
		{"an unknown table", "PutItem", `{"TableName":"absent","Item":{"id":{"S":"a"}}}`},
		{"a short table name", "PutItem", `{"TableName":"ab","Item":{"id":{"S":"a"}}}`},
		{"a table name with a slash", "PutItem", `{"TableName":"a/b","Item":{"id":{"S":"a"}}}`},
		{"an empty table name", "PutItem", `{"TableName":"","Item":{"id":{"S":"a"}}}`},
		{"an empty item", "PutItem", `{"TableName":"single","Item":{}}`},
		{"no key in the item", "PutItem", `{"TableName":"single","Item":{"x":{"S":"a"}}}`},
		{"a key of another type", "PutItem", `{"TableName":"single","Item":{"id":{"N":"1"}}}`},
		{"a document as key", "PutItem", `{"TableName":"single","Item":{"id":{"M":{}}}}`},
		{"an empty key", "PutItem", `{"TableName":"single","Item":{"id":{"S":""}}}`},
		{"no sort key", "PutItem", `{"TableName":"ranged","Item":{"h":{"S":"a"}}}`},
		{"no partition key", "PutItem", `{"TableName":"ranged","Item":{"r":{"N":"1"}}}`},
		{"a sort key of another type", "PutItem", `{"TableName":"ranged","Item":{"h":{"S":"a"},"r":{"S":"1"}}}`},
		{"a new item", "PutItem", `{"TableName":"single","Item":{"id":{"S":"a"},"v":{"N":"1"}},"ReturnValues":"ALL_OLD"}`},
		{"over it, wanting the old", "PutItem", `{"TableName":"single","Item":{"id":{"S":"a"},"v":{"N":"2"}},"ReturnValues":"ALL_OLD"}`},
		{"wanting nothing", "PutItem", `{"TableName":"single","Item":{"id":{"S":"a"},"v":{"N":"2"}},"ReturnValues":"NONE"}`},
		{"wanting the new", "PutItem", `{"TableName":"single","Item":{"id":{"S":"a"}},"ReturnValues":"ALL_NEW"}`},
		{"wanting what was updated", "PutItem", `{"TableName":"single","Item":{"id":{"S":"a"}},"ReturnValues":"UPDATED_NEW"}`},
		{"wanting something unknown", "PutItem", `{"TableName":"single","Item":{"id":{"S":"a"}},"ReturnValues":"X"}`},
		{"an unknown capacity level", "PutItem", `{"TableName":"single","Item":{"id":{"S":"a"}},"ReturnConsumedCapacity":"X"}`},
		{"two unknown words", "PutItem", `{"TableName":"single","Item":{"id":{"S":"a"}},"ReturnConsumedCapacity":"X","ReturnValues":"Y"}`},
		{"capacity in total", "PutItem", `{"TableName":"single","Item":{"id":{"S":"a"}},"ReturnConsumedCapacity":"TOTAL"}`},
		{"capacity by index", "PutItem", `{"TableName":"single","Item":{"id":{"S":"a"}},"ReturnConsumedCapacity":"INDEXES"}`},
		{"collection metrics", "PutItem", `{"TableName":"single","Item":{"id":{"S":"a"}},"ReturnItemCollectionMetrics":"SIZE"}`},
		{"a condition that holds", "PutItem", `{"TableName":"single","Item":{"id":{"S":"a"},"v":{"N":"3"}},"ConditionExpression":"attribute_exists(id)"}`},
		{"a condition that fails", "PutItem", `{"TableName":"single","Item":{"id":{"S":"a"}},"ConditionExpression":"attribute_not_exists(id)"}`},
		{"a failed condition that shows the item", "PutItem", `{"TableName":"single","Item":{"id":{"S":"a"}},"ConditionExpression":"attribute_not_exists(id)","ReturnValuesOnConditionCheckFailure":"ALL_OLD"}`},
		{"a failed condition without an item to show", "PutItem", `{"TableName":"single","Item":{"id":{"S":"zz"}},"ConditionExpression":"attribute_exists(id)","ReturnValuesOnConditionCheckFailure":"ALL_OLD"}`},
		{"an unknown word on failure", "PutItem", `{"TableName":"single","Item":{"id":{"S":"a"}},"ReturnValuesOnConditionCheckFailure":"X"}`},
		{"an empty condition", "PutItem", `{"TableName":"single","Item":{"id":{"S":"a"}},"ConditionExpression":""}`},
		{"names without an expression", "PutItem", `{"TableName":"single","Item":{"id":{"S":"a"}},"ExpressionAttributeNames":{"#a":"a"}}`},
		{"values without an expression", "PutItem", `{"TableName":"single","Item":{"id":{"S":"a"}},"ExpressionAttributeValues":{":a":{"S":"a"}}}`},
		{"unused names", "PutItem", `{"TableName":"single","Item":{"id":{"S":"a"}},"ConditionExpression":"attribute_exists(id)","ExpressionAttributeNames":{"#a":"a"}}`},
		{"a bad value in a valid item of no table", "PutItem", `{"TableName":"absent","Item":{"id":{"N":"x"}}}`},
		{"a bad expression on no table", "PutItem", `{"TableName":"absent","Item":{"id":{"S":"x"}},"ConditionExpression":"a"}`},
		{"a bad expression and a bad key", "PutItem", `{"TableName":"single","Item":{"x":{"S":"x"}},"ConditionExpression":"a"}`},
		{"no JSON", "PutItem", `{`},
		{"a list", "PutItem", `[]`},
		{"a number for a table name", "PutItem", `{"TableName":1,"Item":{"id":{"S":"a"}}}`},
		{"an unknown member", "PutItem", `{"TableName":"single","Item":{"id":{"S":"a"}},"Unknown":{"x":1}}`},
	})
}

func TestGet(t *testing.T) {
	withTables(t, map[string]string{"single": "id:S", "ranged": "h:S,r:N"})
	quietly(t, "PutItem", `{"TableName":"single","Item":{"id":{"S":"a"},"v":{"N":"1"},"m":{"M":{"x":{"S":"y"},"z":{"S":"w"}}}}}`)
	quietly(t, "PutItem", `{"TableName":"ranged","Item":{"h":{"S":"a"},"r":{"N":"1"}}}`)
	compareRows(t, []row{
		{"an item", "GetItem", `{"TableName":"single","Key":{"id":{"S":"a"}}}`},
		{"consistently", "GetItem", `{"TableName":"single","Key":{"id":{"S":"a"}},"ConsistentRead":true,"ReturnConsumedCapacity":"TOTAL"}`},
		{"eventually", "GetItem", `{"TableName":"single","Key":{"id":{"S":"a"}},"ReturnConsumedCapacity":"TOTAL"}`},
		{"by index", "GetItem", `{"TableName":"single","Key":{"id":{"S":"a"}},"ReturnConsumedCapacity":"INDEXES"}`},
		{"nothing", "GetItem", `{"TableName":"single","Key":{"id":{"S":"none"}}}`},
		{"nothing costs too", "GetItem", `{"TableName":"single","Key":{"id":{"S":"none"}},"ReturnConsumedCapacity":"TOTAL"}`},
		{"a projection", "GetItem", `{"TableName":"single","Key":{"id":{"S":"a"}},"ProjectionExpression":"v, m.x"}`},
		{"a projection of nothing", "GetItem", `{"TableName":"single","Key":{"id":{"S":"a"}},"ProjectionExpression":"zz"}`},
		{"no key", "GetItem", `{"TableName":"single"}`},
		{"no table", "GetItem", `{"Key":{"id":{"S":"a"}}}`},
		{"an empty key", "GetItem", `{"TableName":"single","Key":{}}`},
		{"a key too many", "GetItem", `{"TableName":"single","Key":{"id":{"S":"a"},"x":{"S":"a"}}}`},
		{"another key", "GetItem", `{"TableName":"single","Key":{"x":{"S":"a"}}}`},
		{"a key of another type", "GetItem", `{"TableName":"single","Key":{"id":{"N":"1"}}}`},
		{"an empty string as key", "GetItem", `{"TableName":"single","Key":{"id":{"S":""}}}`},
		{"half a key", "GetItem", `{"TableName":"ranged","Key":{"h":{"S":"a"}}}`},
		{"a whole key", "GetItem", `{"TableName":"ranged","Key":{"h":{"S":"a"},"r":{"N":"1.0"}}}`},
		{"an unknown table", "GetItem", `{"TableName":"absent","Key":{"id":{"S":"a"}}}`},
		{"names without an expression", "GetItem", `{"TableName":"single","Key":{"id":{"S":"a"}},"ExpressionAttributeNames":{"#a":"a"}}`},
		{"unused names", "GetItem", `{"TableName":"single","Key":{"id":{"S":"a"}},"ProjectionExpression":"v","ExpressionAttributeNames":{"#a":"a"}}`},
		{"a string for a boolean", "GetItem", `{"TableName":"single","Key":{"id":{"S":"a"}},"ConsistentRead":"maybe"}`},
	})
}

func TestUpdate(t *testing.T) {
	withTables(t, map[string]string{"single": "id:S", "ranged": "h:S,r:N"})
	fixture := `{"TableName":"single","Item":{"id":{"S":"a"},"n":{"N":"1"},"s":{"S":"x"},"m":{"M":{"k":{"S":"v"},"o":{"S":"w"}}},"l":{"L":[{"N":"1"},{"N":"2"}]},"ss":{"SS":["a","b"]}}}`
	quietly(t, "PutItem", fixture)
	key := `{"TableName":"single","Key":{"id":{"S":"a"}}`
	fresh := func(id string) string { return `{"TableName":"single","Key":{"id":{"S":"` + id + `"}}` }
	n := `"ExpressionAttributeValues":{":n":{"N":"1"}}`
	compareRows(t, []row{
		{"nothing to do", "UpdateItem", key + `}`},
		{"nothing to do creates", "UpdateItem", fresh("made") + `}`},
		{"it is there", "GetItem", fresh("made") + `}`},
		{"REMOVE alone on nothing", "UpdateItem", fresh("remove") + `,"UpdateExpression":"REMOVE x"}`},
		{"is it there", "GetItem", fresh("remove") + `}`},
		{"DELETE alone on nothing", "UpdateItem", fresh("delete") + `,"UpdateExpression":"DELETE x :s","ExpressionAttributeValues":{":s":{"SS":["a"]}}}`},
		{"and this", "GetItem", fresh("delete") + `}`},
		{"ADD on nothing", "UpdateItem", fresh("add") + `,"UpdateExpression":"ADD x :n",` + n + `,"ReturnValues":"ALL_NEW"}`},
		{"all new", "UpdateItem", key + `,"UpdateExpression":"SET n = n + :n",` + n + `,"ReturnValues":"ALL_NEW"}`},
		{"all old", "UpdateItem", key + `,"UpdateExpression":"SET n = n + :n",` + n + `,"ReturnValues":"ALL_OLD"}`},
		{"all old of nothing", "UpdateItem", fresh("q1") + `,"UpdateExpression":"SET n = :n",` + n + `,"ReturnValues":"ALL_OLD"}`},
		{"updated old of nothing", "UpdateItem", fresh("q2") + `,"UpdateExpression":"SET n = :n",` + n + `,"ReturnValues":"UPDATED_OLD"}`},
		{"updated new of nothing", "UpdateItem", fresh("q3") + `,"UpdateExpression":"SET n = :n",` + n + `,"ReturnValues":"UPDATED_NEW"}`},
		{"updated new", "UpdateItem", key + `,"UpdateExpression":"SET n = n + :n",` + n + `,"ReturnValues":"UPDATED_NEW"}`},
		{"updated old", "UpdateItem", key + `,"UpdateExpression":"SET n = n + :n",` + n + `,"ReturnValues":"UPDATED_OLD"}`},
		{"updated old of an attribute that was not", "UpdateItem", key + `,"UpdateExpression":"SET q = :n",` + n + `,"ReturnValues":"UPDATED_OLD"}`},
		{"updated new of a removal", "UpdateItem", key + `,"UpdateExpression":"REMOVE q","ReturnValues":"UPDATED_NEW"}`},
		{"updated new of a member", "UpdateItem", key + `,"UpdateExpression":"SET m.k = :n",` + n + `,"ReturnValues":"UPDATED_NEW"}`},
		{"updated old of a member", "UpdateItem", key + `,"UpdateExpression":"SET m.k = :n",` + n + `,"ReturnValues":"UPDATED_OLD"}`},
		{"updated new of an element", "UpdateItem", key + `,"UpdateExpression":"SET l[1] = :n",` + n + `,"ReturnValues":"UPDATED_NEW"}`},
		{"an unknown word", "UpdateItem", key + `,"UpdateExpression":"SET n = :n",` + n + `,"ReturnValues":"X"}`},
		{"the key itself", "UpdateItem", key + `,"UpdateExpression":"SET id = :n",` + n + `}`},
		{"a member of the key", "UpdateItem", key + `,"UpdateExpression":"SET id.x = :n",` + n + `}`},
		{"the key is removed", "UpdateItem", key + `,"UpdateExpression":"REMOVE id"}`},
		{"a bad condition too", "UpdateItem", key + `,"UpdateExpression":"SET id = :n","ConditionExpression":"x",` + n + `}`},
		{"a condition that holds", "UpdateItem", key + `,"UpdateExpression":"SET n = :n","ConditionExpression":"n > :n",` + n + `}`},
		{"a condition that fails", "UpdateItem", key + `,"UpdateExpression":"SET n = :n","ConditionExpression":"n > :n",` + n + `}`},
		{"showing the item", "UpdateItem", key + `,"UpdateExpression":"SET n = :n","ConditionExpression":"n > :n",` + n + `,"ReturnValuesOnConditionCheckFailure":"ALL_OLD"}`},
		{"a condition alone", "UpdateItem", key + `,"ConditionExpression":"n = :n",` + n + `}`},
		{"a condition alone that fails", "UpdateItem", key + `,"ConditionExpression":"n <> :n",` + n + `}`},
		{"failing on nothing", "UpdateItem", fresh("zz") + `,"UpdateExpression":"SET n = :n","ConditionExpression":"attribute_exists(id)",` + n + `}`},
		{"an empty update", "UpdateItem", key + `,"UpdateExpression":""}`},
		{"an empty condition", "UpdateItem", key + `,"ConditionExpression":""}`},
		{"values without expressions", "UpdateItem", key + `,` + n + `}`},
		{"names without expressions", "UpdateItem", key + `,"ExpressionAttributeNames":{"#a":"a"}}`},
		{"empty values", "UpdateItem", key + `,"UpdateExpression":"REMOVE x","ExpressionAttributeValues":{}}`},
		{"unused values", "UpdateItem", key + `,"UpdateExpression":"REMOVE x",` + n + `}`},
		{"no key", "UpdateItem", `{"TableName":"single","UpdateExpression":"REMOVE x"}`},
		{"half a key", "UpdateItem", `{"TableName":"ranged","Key":{"h":{"S":"a"}},"UpdateExpression":"REMOVE x"}`},
		{"the sort key", "UpdateItem", `{"TableName":"ranged","Key":{"h":{"S":"a"},"r":{"N":"1"}},"UpdateExpression":"SET r = :n",` + n + `}`},
		{"an unknown table", "UpdateItem", `{"TableName":"absent","Key":{"id":{"S":"a"}},"UpdateExpression":"REMOVE x"}`},
		{"capacity", "UpdateItem", key + `,"UpdateExpression":"SET n = :n",` + n + `,"ReturnConsumedCapacity":"TOTAL"}`},
		{"a sum too large", "UpdateItem", key + `,"UpdateExpression":"SET n = :n + :n","ExpressionAttributeValues":{":n":{"N":"9e125"}}}`},
		{"a sum too exact", "UpdateItem", key + `,"UpdateExpression":"SET n = :n + :m","ExpressionAttributeValues":{":n":{"N":"1e37"},":m":{"N":"1e-5"}}}`},
		{"what is left", "GetItem", key + `}`},
	})
}

func TestDelete(t *testing.T) {
	withTables(t, map[string]string{"single": "id:S"})
	quietly(t, "PutItem", `{"TableName":"single","Item":{"id":{"S":"a"},"v":{"N":"1"}}}`)
	key := `{"TableName":"single","Key":{"id":{"S":"a"}}`
	compareRows(t, []row{
		{"a condition that fails", "DeleteItem", key + `,"ConditionExpression":"v = :v","ExpressionAttributeValues":{":v":{"N":"2"}}}`},
		{"showing the item", "DeleteItem", key + `,"ConditionExpression":"attribute_not_exists(id)","ReturnValuesOnConditionCheckFailure":"ALL_OLD"}`},
		{"wanting the new", "DeleteItem", key + `,"ReturnValues":"ALL_NEW"}`},
		{"capacity", "DeleteItem", key + `,"ReturnValues":"ALL_OLD","ReturnConsumedCapacity":"TOTAL"}`},
		{"again", "DeleteItem", key + `,"ReturnValues":"ALL_OLD","ReturnConsumedCapacity":"TOTAL"}`},
		{"a condition on nothing", "DeleteItem", key + `,"ConditionExpression":"attribute_exists(id)"}`},
		{"no key", "DeleteItem", `{"TableName":"single"}`},
		{"a key too many", "DeleteItem", `{"TableName":"single","Key":{"id":{"S":"a"},"x":{"S":"a"}}}`},
		{"an unknown table", "DeleteItem", `{"TableName":"absent","Key":{"id":{"S":"a"}}}`},
		{"values without expressions", "DeleteItem", key + `,"ExpressionAttributeValues":{":v":{"N":"2"}}}`},
	})
}
