package dynamodb

import "testing"

const empty = "Supplied AttributeValue is empty, must contain exactly one of the supported datatypes"

func TestOrderOfQuery(t *testing.T) {
	climbAll(t, []ladder{
		{
			name: "expressions", operation: "Query", top: `{"Items":[],"Count":0,"ScannedCount":0`,
			rungs: []rung{
				{"ReturnConsumedCapacity", `"X"`, "", broken(must("'X'", "returnConsumedCapacity", beCapacity))},
				{"AttributesToGet", `["v","v"]`, "", invalidOrder + "Can not use both expression and non-expression parameters in the same request: Non-expression parameters: {AttributesToGet} Expression parameters: {ProjectionExpression, FilterExpression}"},
				{"ExclusiveStartKey", `{"a":{}}`, `{}`, invalidOrder + "The provided starting key is invalid: " + empty},
				{"KeyConditionExpression", "", `""`, invalidOrder + "Either the KeyConditions or KeyConditionExpression parameter must be specified in the request."},
				{"ExpressionAttributeNames", `{}`, `{"x":"v"}`, invalidOrder + "ExpressionAttributeNames must not be empty"},
				{"ExpressionAttributeNames", `{"x":"v"}`, `{"#x":"v"}`, invalidOrder + `ExpressionAttributeNames contains invalid key: Syntax error; key: "x"`},
				{"ExpressionAttributeValues", `{}`, `{"y":{"S":"p"}}`, invalidOrder + "ExpressionAttributeValues must not be empty"},
				{"ExpressionAttributeValues", `{"y":{"S":"p"}}`, `{":p":{"N":"x"}}`, invalidOrder + `ExpressionAttributeValues contains invalid key: Syntax error; key: "y"`},
				{"ExpressionAttributeValues", `{":p":{"N":"x"}}`, `{":p":{"S":"p"},":n":{"N":"1"},":unused":{"S":"x"}}`, invalidOrder + "ExpressionAttributeValues contains invalid value: The parameter cannot be converted to a numeric value: x for key :p"},
				{"KeyConditionExpression", `""`, `"begins_with(c, :n) OR c = :p"`, invalidOrder + "Invalid KeyConditionExpression: The expression can not be empty;"},
				{"KeyConditionExpression", `"begins_with(c, :n) OR c = :p"`, `"c = :p OR c = :n"`, invalidOrder + "Invalid KeyConditionExpression: Incorrect operand type for operator or function; operator or function: begins_with, operand type: N"},
				{"FilterExpression", `""`, `"c.x IN (:n, :p)"`, invalidOrder + "Invalid FilterExpression: The expression can not be empty;"},
				{"ProjectionExpression", `""`, `"a.x"`, invalidOrder + "Invalid ProjectionExpression: The expression can not be empty;"},
				{"ExpressionAttributeNames", `{"#x":"v"}`, "", invalidOrder + "Value provided in ExpressionAttributeNames unused in expressions: keys: {#x}"},
				{"ExpressionAttributeValues", `{":p":{"S":"p"},":n":{"N":"1"},":unused":{"S":"x"}}`, `{":p":{"S":"p"},":n":{"N":"1"}}`, invalidOrder + "Value provided in ExpressionAttributeValues unused in expressions: keys: {:unused}"},
				{"KeyConditionExpression", `"c = :p OR c = :n"`, `"c = :n AND c = :p"`, invalidOrder + "Invalid operator used in KeyConditionExpression: OR"},
				{"KeyConditionExpression", `"c = :n AND c = :p"`, `"c = :n AND z = :p"`, invalidOrder + "KeyConditionExpressions must only contain one condition per key"},
				{"TableName", `"absent"`, `"ranged"`, noTable},
				{"IndexName", `"none"`, `"by-c"`, invalidOrder + "The table does not have the specified index: none"},
				{"ConsistentRead", `true`, "", invalidOrder + "Consistent reads are not supported on global secondary indexes"},
				{"ExclusiveStartKey", `{}`, `{"a":{"N":"1"},"b":{"S":"b"},"z":{"S":"q"}}`, invalidOrder + "The provided starting key is invalid"},
				{"ExclusiveStartKey", `{"a":{"N":"1"},"b":{"S":"b"},"z":{"S":"q"}}`, `{"a":{"N":"1"},"b":{"S":"b"},"c":{"N":"1"}}`, invalidOrder + "The provided starting key is invalid"},
				{"ExclusiveStartKey", `{"a":{"N":"1"},"b":{"S":"b"},"c":{"N":"1"}}`, `{"a":{"N":"1"},"b":{"S":"b"},"c":{"S":"q"}}`, invalidOrder + "The provided key element does not match the schema"},
				{"KeyConditionExpression", `"c = :n AND z = :p"`, `"z = :n"`, invalidOrder + "The number of query conditions (2) exceeds the number of key attributes defined in the schema (1)"},
				{"KeyConditionExpression", `"z = :n"`, `"c > :n"`, invalidOrder + "Query condition missed key schema element: c"},
				{"KeyConditionExpression", `"c > :n"`, `"c > :p"`, oneInvalid + "Condition parameter type does not match schema type"},
				{"KeyConditionExpression", `"c > :p"`, `"c = :p"`, invalidOrder + "Query key condition not supported"},
				{"ExclusiveStartKey", `{"a":{"N":"1"},"b":{"S":"b"},"c":{"S":"q"}}`, `{"a":{"S":"a"},"b":{"S":"b"},"c":{"S":"q"}}`, invalidOrder + "The provided starting key is invalid: The provided key element does not match the schema"},
				{"ExclusiveStartKey", `{"a":{"S":"a"},"b":{"S":"b"},"c":{"S":"q"}}`, "", invalidOrder + "The provided starting key is outside query boundaries based on provided conditions"},
				{"ProjectionExpression", `"a.x"`, `"c.x"`, invalidOrder + "Key attributes must be scalars; list random access '[]' and map lookup '.' are not allowed: Key: a"},
				{"ProjectionExpression", `"c.x"`, "", invalidOrder + "Key attributes must be scalars; list random access '[]' and map lookup '.' are not allowed: IndexKey: c"},
				{"FilterExpression", `"c.x IN (:n, :p)"`, `"a.x IN (:n, :p)"`, invalidOrder + "Filter Expression can only contain non-primary key attributes: Primary key attribute: c"},
				{"FilterExpression", `"a.x IN (:n, :p)"`, `"v IN (:n, :p)"`, invalidOrder + "Key attributes must be scalars; list random access '[]' and map lookup '.' are not allowed: Key: a"},
			},
		},
		{
			name: "attributes that a global index has not", operation: "Query", top: `{"Items":[],"Count":0,"ScannedCount":0`,
			rest: `"TableName":"ranged","IndexName":"by-c","KeyConditionExpression":"c = :p","ExpressionAttributeValues":{":p":{"S":"p"}}`,
			rungs: []rung{
				{"ExclusiveStartKey", `{"a":{"S":"a"},"b":{"S":"b"},"c":{"S":"q"}}`, "", invalidOrder + "The provided starting key is outside query boundaries based on provided conditions"},
				{"FilterExpression", `"c = :p"`, `"a.x = :p"`, invalidOrder + "Filter Expression can only contain non-primary key attributes: Primary key attribute: c"},
				{"Select", `"ALL_ATTRIBUTES"`, "", oneInvalid + "Select type ALL_ATTRIBUTES is not supported for global secondary index by-c because its projection type is not ALL"},
				{"FilterExpression", `"a.x = :p"`, `"v = :p"`, invalidOrder + "Key attributes must be scalars; list random access '[]' and map lookup '.' are not allowed: Key: a"},
			},
		},
		{
			name: "legacy parameters", operation: "Query", top: `{"Items":[],"Count":0,"ScannedCount":0`,
			rungs: []rung{
				{"ExpressionAttributeNames", `{}`, "", invalidOrder + "ExpressionAttributeNames can only be specified when using expressions"},
				{"ExpressionAttributeValues", `{}`, "", invalidOrder + "ExpressionAttributeValues can only be specified when using expressions: FilterExpression and KeyConditionExpression are null"},
				{"QueryFilter", `{"b":{"ComparisonOperator":"EQ","AttributeValueList":[{}]}}`, `{"b":{"ComparisonOperator":"EQ"}}`, invalidOrder + empty},
				{"QueryFilter", `{"b":{"ComparisonOperator":"EQ"}}`, `{"b":{"ComparisonOperator":"LT","AttributeValueList":[{"BOOL":true}]}}`, oneInvalid + "Invalid number of argument(s) for the EQ ComparisonOperator"},
				{"QueryFilter", `{"b":{"ComparisonOperator":"LT","AttributeValueList":[{"BOOL":true}]}}`, `{"b":{"ComparisonOperator":"NULL"}}`, oneInvalid + "ComparisonOperator LT is not valid for BOOL AttributeValue type"},
				{"AttributesToGet", `["v","v"]`, `["v"]`, oneInvalid + "Duplicate value in attribute name: v"},
				{"ExclusiveStartKey", `{"a":{"N":"x"}}`, `{"a":{"SS":[]}}`, invalidOrder + "The parameter cannot be converted to a numeric value: x"},
				{"ExclusiveStartKey", `{"a":{"SS":[]}}`, `{}`, invalidOrder + "The provided starting key is invalid: One or more parameter values were invalid: An string set  may not be empty"},
				{"KeyConditions", "", `{"a":{"ComparisonOperator":"EQ","AttributeValueList":[{}]}}`, invalidOrder + "Either the KeyConditions or KeyConditionExpression parameter must be specified in the request."},
				{"KeyConditions", `{"a":{"ComparisonOperator":"EQ","AttributeValueList":[{}]}}`, `{"a":{"ComparisonOperator":"EQ","AttributeValueList":[]}}`, invalidOrder + empty},
				{"KeyConditions", `{"a":{"ComparisonOperator":"EQ","AttributeValueList":[]}}`, `{}`, oneInvalid + "Invalid number of argument(s) for the EQ ComparisonOperator"},
				{"KeyConditions", `{}`, `{"a":{"ComparisonOperator":"NE","AttributeValueList":[{"N":"1"}]},"z":{"ComparisonOperator":"NULL"}}`, invalidOrder + "Conditions can be of length 1 or 2 only"},
				{"TableName", `"absent"`, `"ranged"`, noTable},
				{"ExclusiveStartKey", `{}`, `{"a":{"S":"a"},"b":{"S":"b"}}`, invalidOrder + "The provided starting key is invalid"},
				{"KeyConditions", `{"a":{"ComparisonOperator":"NE","AttributeValueList":[{"N":"1"}]},"z":{"ComparisonOperator":"NULL"}}`, `{"a":{"ComparisonOperator":"LE","AttributeValueList":[{"N":"1"}]},"z":{"ComparisonOperator":"NULL"}}`, invalidOrder + "Attempted conditional constraint is not an indexable operation"},
				{"KeyConditions", `{"a":{"ComparisonOperator":"LE","AttributeValueList":[{"N":"1"}]},"z":{"ComparisonOperator":"NULL"}}`, `{"a":{"ComparisonOperator":"LE","AttributeValueList":[{"S":"p"}]},"z":{"ComparisonOperator":"NULL"}}`, oneInvalid + "Condition parameter type does not match schema type"},
				{"KeyConditions", `{"a":{"ComparisonOperator":"LE","AttributeValueList":[{"S":"p"}]},"z":{"ComparisonOperator":"NULL"}}`, `{"a":{"ComparisonOperator":"EQ","AttributeValueList":[{"S":"p"}]},"z":{"ComparisonOperator":"NULL"}}`, invalidOrder + "Query key condition not supported"},
				{"KeyConditions", `{"a":{"ComparisonOperator":"EQ","AttributeValueList":[{"S":"p"}]},"z":{"ComparisonOperator":"NULL"}}`, `{"a":{"ComparisonOperator":"EQ","AttributeValueList":[{"S":"p"}]},"b":{"ComparisonOperator":"GT","AttributeValueList":[{"S":"x"}]}}`, invalidOrder + "Query condition missed key schema element: b"},
				{"ExclusiveStartKey", `{"a":{"S":"a"},"b":{"S":"b"}}`, `{"a":{"S":"a"},"b":{"S":"y"}}`, invalidOrder + "The provided starting key does not match the range key predicate"},
				{"ExclusiveStartKey", `{"a":{"S":"a"},"b":{"S":"y"}}`, `{"a":{"S":"p"},"b":{"S":"y"}}`, invalidOrder + "The query can return at most one row and cannot be restarted"},
				{"QueryFilter", `{"b":{"ComparisonOperator":"NULL"}}`, "", invalidOrder + "QueryFilter can only contain non-primary key attributes: Primary key attribute: b"},
			},
		},
	})
}

func TestOrderOfScan(t *testing.T) {
	climbAll(t, []ladder{
		{
			name: "expressions", operation: "Scan", top: `{"Items":[],"Count":0,"ScannedCount":0`,
			rungs: []rung{
				{"Limit", `0`, "", broken(must("'0'", "limit", be1))},
				{"AttributesToGet", `["v","v"]`, "", invalidOrder + "Can not use both expression and non-expression parameters in the same request: Non-expression parameters: {AttributesToGet} Expression parameters: {ProjectionExpression, FilterExpression}"},
				{"ExclusiveStartKey", `{"a":{}}`, `{"a":{"S":"a"}}`, invalidOrder + "The provided starting key is invalid: " + empty},
				{"TotalSegments", "", `1`, invalidOrder + "The TotalSegments parameter is required but was not present in the request when Segment parameter is present"},
				{"Segment", `1`, "", invalidOrder + "The Segment parameter is zero-based and must be less than parameter TotalSegments: Segment: 1 is not less than TotalSegments: 1"},
				{"TotalSegments", `1`, "", invalidOrder + "The Segment parameter is required but was not present in the request when parameter TotalSegments is present"},
				{"ExpressionAttributeNames", `{}`, `{"x":"v"}`, invalidOrder + "ExpressionAttributeNames must not be empty"},
				{"ExpressionAttributeNames", `{"x":"v"}`, "", invalidOrder + `ExpressionAttributeNames contains invalid key: Syntax error; key: "x"`},
				{"ExpressionAttributeValues", `{}`, `{":n":{"N":"1"},":unused":{"S":"x"}}`, invalidOrder + "ExpressionAttributeValues must not be empty"},
				{"FilterExpression", `""`, `"a.x = :n"`, invalidOrder + "Invalid FilterExpression: The expression can not be empty;"},
				{"ProjectionExpression", `""`, `"b.x"`, invalidOrder + "Invalid ProjectionExpression: The expression can not be empty;"},
				{"ExpressionAttributeValues", `{":n":{"N":"1"},":unused":{"S":"x"}}`, `{":n":{"N":"1"}}`, invalidOrder + "Value provided in ExpressionAttributeValues unused in expressions: keys: {:unused}"},
				{"TableName", `"absent"`, `"ranged"`, noTable},
				{"IndexName", `"none"`, `"by-c"`, invalidOrder + "The table does not have the specified index: none"},
				{"ConsistentRead", `true`, "", invalidOrder + "Consistent reads are not supported on global secondary indexes"},
				{"ExclusiveStartKey", `{"a":{"S":"a"}}`, `{"a":{"N":"1"},"b":{"S":"b"},"c":{"N":"1"}}`, invalidOrder + "The provided starting key is invalid"},
				{"ExclusiveStartKey", `{"a":{"N":"1"},"b":{"S":"b"},"c":{"N":"1"}}`, `{"a":{"N":"1"},"b":{"S":"b"},"c":{"S":"c"}}`, invalidOrder + "The provided key element does not match the schema"},
				{"ExclusiveStartKey", `{"a":{"N":"1"},"b":{"S":"b"},"c":{"S":"c"}}`, "", invalidOrder + "The provided starting key is invalid: The provided key element does not match the schema"},
				{"ProjectionExpression", `"b.x"`, "", invalidOrder + "Key attributes must be scalars; list random access '[]' and map lookup '.' are not allowed: Key: b"},
				{"FilterExpression", `"a.x = :n"`, `"v = :n"`, invalidOrder + "Key attributes must be scalars; list random access '[]' and map lookup '.' are not allowed: Key: a"},
			},
		},
		{
			name: "legacy parameters", operation: "Scan", top: `{"Items":[],"Count":0,"ScannedCount":0`,
			rungs: []rung{
				{"ExpressionAttributeNames", `{}`, "", invalidOrder + "ExpressionAttributeNames can only be specified when using expressions"},
				{"ExpressionAttributeValues", `{}`, "", invalidOrder + "ExpressionAttributeValues can only be specified when using expressions: FilterExpression is null"},
				{"AttributesToGet", `["v","v"]`, `["v"]`, oneInvalid + "Duplicate value in attribute name: v"},
				{"ScanFilter", `{"v":{"ComparisonOperator":"EQ","AttributeValueList":[{}]}}`, `{"v":{"ComparisonOperator":"BETWEEN","AttributeValueList":[{"S":"b"}]}}`, invalidOrder + empty},
				{"ScanFilter", `{"v":{"ComparisonOperator":"BETWEEN","AttributeValueList":[{"S":"b"}]}}`, `{"v":{"ComparisonOperator":"BETWEEN","AttributeValueList":[{"S":"b"},{"S":"a"}]}}`, oneInvalid + "Invalid number of argument(s) for the BETWEEN ComparisonOperator"},
				{"ScanFilter", `{"v":{"ComparisonOperator":"BETWEEN","AttributeValueList":[{"S":"b"},{"S":"a"}]}}`, `{"v":{"ComparisonOperator":"NOT_NULL"}}`, invalidOrder + "The BETWEEN condition was provided a range where the lower bound is greater than the upper bound"},
				{"ExclusiveStartKey", `{"a":{}}`, "", invalidOrder + "The provided starting key is invalid: " + empty},
				{"TotalSegments", `1`, "", invalidOrder + "The Segment parameter is required but was not present in the request when parameter TotalSegments is present"},
				{"TableName", `"absent"`, `"ranged"`, noTable},
			},
		},
	})
}

func TestBrokenMembersOfReads(t *testing.T) {
	checkRows(t, []requestRow{
		{"Query without a table", "Query", `{}`, broken(must("null", "tableName", notBeNull))},
		{"Query with all that a model can break", "Query", `{"TableName":"abc;","ReturnConsumedCapacity":"X","AttributesToGet":[],"IndexName":"i;","Select":"X","Limit":-1,
			"KeyConditions":{"a":{},"b":{"ComparisonOperator":""}},"ConditionalOperator":"X","QueryFilter":{"a":{},"b":{"ComparisonOperator":"X"}}}`,
			broken(must("'X'", "select", beSelect), must("'i;'", "indexName", matchName), must("'i;'", "indexName", have3), must("'X'", "returnConsumedCapacity", beCapacity),
				must("null", "queryFilter.a.member.comparisonOperator", notBeNull), must("'X'", "queryFilter.b.member.comparisonOperator", beOperator),
				must("'abc;'", "tableName", matchName), must("'X'", "conditionalOperator", beConditionJoin), must("'[]'", "attributesToGet", have1), must("'-1'", "limit", be1))},
		{"Query with a bad KeyConditions", "Query", `{"TableName":"absent","KeyConditions":{"a":{},"b":{"ComparisonOperator":""}}}`,
			broken(must("null", "keyConditions.a.member.comparisonOperator", notBeNull), must("''", "keyConditions.b.member.comparisonOperator", beOperator))},
		{"Scan with all that a model can break", "Scan", `{"TableName":"abc;","ReturnConsumedCapacity":"X","IndexName":"abc;","Segment":-1,"TotalSegments":-1,"Select":"X","Limit":-1,
			"ScanFilter":{"a":{},"b":{"ComparisonOperator":""}},"ConditionalOperator":"X","ExpressionAttributeNames":{},"ProjectionExpression":""}`,
			broken(must("'X'", "select", beSelect), must("'abc;'", "indexName", matchName), must("'-1'", "totalSegments", be1), must("'X'", "returnConsumedCapacity", beCapacity),
				must("'abc;'", "tableName", matchName), must("'X'", "conditionalOperator", beConditionJoin), must("null", "scanFilter.a.member.comparisonOperator", notBeNull),
				must("''", "scanFilter.b.member.comparisonOperator", beOperator), must("'-1'", "segment", "have value greater than or equal to 0"), must("'-1'", "limit", be1))},
		{"an empty name of a table", "Scan", `{"TableName":""}`, broken(must("''", "tableName", have1))},
		{"a short name of a table", "Scan", `{"TableName":"a;"}`, broken(must("'a;'", "tableName", matchName), must("'a;'", "tableName", have3))},
		{"an empty name of an index", "Query", `{"TableName":"ranged","IndexName":""}`, broken(must("''", "indexName", matchName), must("''", "indexName", have3))},
	})
}
