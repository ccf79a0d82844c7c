package dynamodb

import "testing"

func TestOrderOfItems(t *testing.T) {
	const (
		mix      = invalidOrder + "Can not use both expression and non-expression parameters in the same request: Non-expression parameters: "
		names    = invalidOrder + "ExpressionAttributeNames can only be specified when using expressions"
		mismatch = invalidOrder + "The provided key element does not match the schema"
	)

	climbAll(t, []ladder{
		{
			name: "PutItem", operation: "PutItem", top: `{}`,
			rungs: []rung{
				{"Expected", `{"a":{}}`, "", mix + "{Expected} Expression parameters: {ConditionExpression}"},
				{"Item", `{"a":{}}`, `{"a":{"N":"1"}}`, invalidOrder + empty},
				{"ReturnValues", `"ALL_NEW"`, "", invalidOrder + "ReturnValues can only be ALL_OLD or NONE"},
				{"ExpressionAttributeNames", `{}`, "", invalidOrder + "ExpressionAttributeNames must not be empty"},
				{"ExpressionAttributeValues", `{}`, `{":n":{"N":"1"}}`, invalidOrder + "ExpressionAttributeValues must not be empty"},
				{"ConditionExpression", `""`, `"attribute_not_exists(v)"`, invalidOrder + "Invalid ConditionExpression: The expression can not be empty;"},
				{"ExpressionAttributeValues", `{":n":{"N":"1"}}`, "", invalidOrder + "Value provided in ExpressionAttributeValues unused in expressions: keys: {:n}"},
				{"TableName", `"absent"`, `"single"`, noTable},
				{"Item", `{"a":{"N":"1"}}`, `{"a":{"S":"a"}}`, oneInvalid + "Type mismatch for key a expected: S actual: N"},
			},
		},
		{
			name: "PutItem with Expected", operation: "PutItem", top: `{}`,
			rungs: []rung{
				{"ExpressionAttributeNames", `{}`, "", names},
				{"ExpressionAttributeValues", `{}`, "", invalidOrder + "ExpressionAttributeValues can only be specified when using expressions: ConditionExpression is null"},
				{"Item", `{"a":{}}`, `{}`, invalidOrder + empty},
				{"Expected", `{"v":{"Exists":true}}`, `{"v":{"Exists":false}}`, oneInvalid + "Value must be provided when Exists is true for Attribute: v"},
				{"TableName", `"absent"`, `"single"`, noTable},
				{"Item", `{}`, `{"a":{"S":"a"}}`, oneInvalid + "Missing the key a in the item"},
			},
		},
		{
			name: "UpdateItem", operation: "UpdateItem", top: `{}`,
			rungs: []rung{
				{"AttributeUpdates", `{"v":{}}`, "", mix + "{AttributeUpdates} Expression parameters: {UpdateExpression, ConditionExpression}"},
				{"Key", `{"a":{}}`, `{"a":{"N":"1"}}`, invalidOrder + empty},
				{"ExpressionAttributeNames", `{"x":"v"}`, "", invalidOrder + `ExpressionAttributeNames contains invalid key: Syntax error; key: "x"`},
				{"UpdateExpression", `""`, `"SET a = :n"`, invalidOrder + "Invalid UpdateExpression: The expression can not be empty;"},
				{"ExpressionAttributeValues", "", `{":n":{"N":"1"}}`, invalidOrder + "Invalid UpdateExpression: An expression attribute value used in expression is not defined; attribute value: :n"},
				{"ConditionExpression", `""`, "", invalidOrder + "Invalid ConditionExpression: The expression can not be empty;"},
				{"TableName", `"absent"`, `"single"`, noTable},
				{"Key", `{"a":{"N":"1"}}`, `{"a":{"S":"a"}}`, mismatch},
				{"UpdateExpression", `"SET a = :n"`, `"SET v = :n"`, oneInvalid + "Cannot update attribute a. This attribute is part of the key"},
			},
		},
		{
			name: "UpdateItem with AttributeUpdates", operation: "UpdateItem", top: `{}`,
			rungs: []rung{
				{"ExpressionAttributeNames", `{}`, "", names},
				{"ExpressionAttributeValues", `{}`, "", invalidOrder + "ExpressionAttributeValues can only be specified when using expressions: UpdateExpression and ConditionExpression are null"},
				{"Key", `{"a":{}}`, `{}`, invalidOrder + empty},
				{"AttributeUpdates", `{"v":{"Action":"ADD","Value":{"S":"x"}}}`, `{"v":{"Action":"ADD","Value":{"N":"1"}}}`, oneInvalid + "ADD action is not supported for the type S"},
				{"Expected", `{"v":{"AttributeValueList":[]}}`, "", oneInvalid + "AttributeValueList can only be used with a ComparisonOperator for Attribute: v"},
				{"TableName", `"absent"`, `"single"`, noTable},
				{"Key", `{}`, `{"a":{"S":"a"}}`, mismatch},
			},
		},
		{
			name: "DeleteItem", operation: "DeleteItem", top: `{}`,
			rungs: []rung{
				{"Expected", `{"a":{}}`, "", mix + "{Expected} Expression parameters: {ConditionExpression}"},
				{"Key", `{"a":{}}`, `{"a":{"S":""}}`, invalidOrder + empty},
				{"ExpressionAttributeValues", `{}`, "", invalidOrder + "ExpressionAttributeValues must not be empty"},
				{"ConditionExpression", `"a"`, "", invalidOrder + `Invalid ConditionExpression: Syntax error; token: "<EOF>", near: "a"`},
				{"TableName", `"absent"`, `"single"`, noTable},
				{"Key", `{"a":{"S":""}}`, `{"a":{"S":"a"}}`, invalidOrder + "One or more parameter values are not valid. The AttributeValue for a key attribute cannot contain an empty string value. Key: a"},
			},
		},
		{
			name: "GetItem", operation: "GetItem", top: `{}`,
			rungs: []rung{
				{"AttributesToGet", `["v","v"]`, "", mix + "{AttributesToGet} Expression parameters: {ProjectionExpression}"},
				{"Key", `{"a":{}}`, `{"a":{"N":"1"}}`, invalidOrder + empty},
				{"ExpressionAttributeNames", `{}`, `{"#x":"v"}`, invalidOrder + "ExpressionAttributeNames must not be empty"},
				{"ProjectionExpression", `""`, `"a.x"`, invalidOrder + "Invalid ProjectionExpression: The expression can not be empty;"},
				{"ExpressionAttributeNames", `{"#x":"v"}`, "", invalidOrder + "Value provided in ExpressionAttributeNames unused in expressions: keys: {#x}"},
				{"TableName", `"absent"`, `"single"`, noTable},
				{"Key", `{"a":{"N":"1"}}`, `{"a":{"S":"a"}}`, mismatch},
				{"ProjectionExpression", `"a.x"`, `"v"`, invalidOrder + "Key attributes must be scalars; list random access '[]' and map lookup '.' are not allowed: Key: a"},
			},
		},
		{
			name: "GetItem with AttributesToGet", operation: "GetItem", top: `{}`,
			rungs: []rung{
				{"ExpressionAttributeNames", `{}`, "", names},
				{"Key", `{"a":{}}`, `{"a":{"S":"a"}}`, invalidOrder + empty},
				{"AttributesToGet", `["v","v"]`, `["v"]`, oneInvalid + "Duplicate value in attribute name: v"},
				{"TableName", `"absent"`, `"single"`, noTable},
			},
		},
	})
}

func TestBrokenMembersOfItems(t *testing.T) {
	const enums = `"ReturnConsumedCapacity":"X","ReturnItemCollectionMetrics":"X","ReturnValues":"X"`
	values := must("'X'", "returnValues", beReturnValues)
	capacity := must("'X'", "returnConsumedCapacity", beCapacity)
	metrics := must("'X'", "returnItemCollectionMetrics", beMetrics)

	checkRows(t, []requestRow{
		{"PutItem", "PutItem", `{"TableName":"single","Item":{"a":{"S":"a"}},` + enums + `}`, broken(values, capacity, metrics)},
		{"PutItem without anything", "PutItem", `{}`, broken(must("null", "tableName", notBeNull), must("null", "item", notBeNull))},
		{"PutItem with an empty name", "PutItem", `{"TableName":"","Item":{},"ReturnValues":"X"}`, broken(values, must("''", "tableName", have1))},
		{"DeleteItem", "DeleteItem", `{"TableName":"single","Key":{"a":{"S":"a"}},"ReturnConsumedCapacity":"X","ReturnValues":"X"}`, broken(values, capacity)},
		{"UpdateItem", "UpdateItem", `{"TableName":"single","Key":{"a":{"S":"a"}},"ReturnConsumedCapacity":"X","ReturnValues":"X"}`, broken(capacity, values)},
		{"GetItem", "GetItem", `{"TableName":"abc;","ReturnConsumedCapacity":"X","AttributesToGet":[]}`,
			broken(capacity, must("'[]'", "attributesToGet", have1), must("'abc;'", "tableName", matchName), must("null", "key", notBeNull))},
	})
}
