//go:build conformance

package conformance

// Where the service's own words are on record: two suites whose expectations were
// taken from the service itself, and the service's documents.
const (
	dynalite    = "https://github.com/architect/dynalite (tests run against the service)"
	nuboDB      = "https://github.com/nubo-db/dynamodb-conformance (captures from the service, tests/tier3/error-messages)"
	paritysuite = "https://github.com/paritysuite/dynamodb-conformance (captures from the service, tests/tier3/error-messages)"
	alternator  = "https://github.com/scylladb/scylladb test/alternator/test_returnvalues.py (run against the service)"
	apiDocs     = "https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/"
	devGuide    = "https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/"
)

const (
	invalid = `400 ValidationException: `
	// within matches the text that may stand before and after a fault of a value in a message.
	within = `(ExpressionAttributeValues contains invalid value: )?`
	forKey = `( for key :\w+)?`
	// atItem matches the faults that an update can find out against the item only.
	atItem = `(The document path provided in the update expression is invalid for update|The provided expression refers to an attribute that does not exist in the item|An operand in the update expression has an incorrect data type)`
)

// differences lists where the service answers otherwise than DynamoDB Local 3.1.0,
// by topic. The engine follows the service.
var differences = []difference{
	// The shape of requests.
	{
		vendor: `500 InternalFailure: .*`,
		aws:    `400 (SerializationException|ValidationException|ResourceNotFoundException): .*`,
		reason: "DynamoDB Local fails on JSON that does not fit, and on an index that is not there; the service refuses it", source: dynalite,
	},
	{
		vendor: `200 .*|400 ValidationException: .*`,
		aws:    `400 SerializationException: (\w+_VALUE cannot be converted to \w+|Unexpected token received from parser)`,
		reason: "DynamoDB Local takes numbers and booleans for strings", source: dynalite + " test/helpers.js",
	},
	{
		vendor: `400 \w+: .*`,
		aws:    invalid + `(\d+ validation errors detected: )?Value .* at '.*' failed to satisfy constraint: (Member|Map keys|Map value) must .*`,
		reason: "the service holds a request against its model first, says so in the model's words, and names all members that do not fit", source: paritysuite,
	},
	{
		vendor: `400 \w+: .*`,
		aws:    invalid + `(1 validation error detected: )?(Value at '(Limit|RequestItems\.\w+\.member\.Keys)' failed to satisfy constraint: Member must .*|The requestItems parameter is required for Batch(Get|Write)Item)`,
		reason: "and in newer words for some members that are the only ones", source: nuboDB + " query, batchGetItem, batchWriteItem",
	},
	{
		vendor: invalid + `(Invalid table/index name. .*|Value null at 'tableName' failed to satisfy constraint: Member must not be null)`,
		aws:    invalid + `The parameter 'TableName' is required but was not present in the request`,
		reason: "the operations on tables have words of their own for a table that is not named", source: paritysuite + " createTable, " + dynalite + " test/describeTable.js",
	},

	// The order of validation. The ladders in embedded/internal/dynamodb/order_*_test.go have it.
	{
		vendor: `400 ResourceNotFoundException: Cannot do operations on a non-existent table`,
		aws:    invalid + `.*`,
		reason: "the service looks for the table when everything that the request itself shows is right", source: dynalite + ", validations/*.js before actions/*.js; " + paritysuite + " queryKeyCondition",
	},
	{
		vendor: invalid + `(One of the required keys was not given a value|The number of conditions on the keys is invalid|Invalid attribute value type|One or more parameter values were invalid: Type mismatch for key.*|One or more parameter values are not valid. The AttributeValue for a key attribute cannot .*|Provided list of item keys contains duplicates|A value provided cannot be converted into a number)`,
		aws:    invalid + `(Invalid \w+Expression: .*|ExpressionAttribute(Names|Values) (must|contains|can) .*|Value provided in ExpressionAttribute(Names|Values) unused .*)`,
		reason: "and compares keys with the table's after that, of a batch with each other, too", source: dynalite + " test/putItem.js, test/batchGetItem.js",
	},
	{
		vendor: invalid + `A value provided cannot be converted into a number`,
		aws:    invalid + `Supplied AttributeValue has more than one datatypes set, must contain exactly one of the supported datatypes`,
		reason: "the service looks for empty requests of a batch before it looks at the values of any", source: dynalite + " test/batchWriteItem.js",
	},
	{
		vendor: `200 .*`,
		aws:    invalid + `(\d validation errors detected: )?Value ('.*'|null) at '(returnConsumedCapacity|clientRequestToken|streamSpecification.streamViewType|(\S+\.)?returnValuesOnConditionCheckFailure|keySchema.\d.member.keyType|provisionedThroughput.\w+|transactItems.\d.member.update.updateExpression)' failed to satisfy constraint: Member must .*`,
		reason: "DynamoDB Local does not look at these members", source: apiDocs,
	},

	// Values.
	{
		vendor: invalid + within + `A value provided cannot be converted into a number` + forKey,
		aws:    invalid + within + `The parameter cannot be converted to a numeric value(: .*)?` + forKey,
		reason: "the service names the text that is no number", source: paritysuite,
	},
	{
		vendor: invalid + within + `DynamoDB only supports precision up to 38 digits` + forKey,
		aws:    invalid + within + `Attempting to store more than 38 significant digits in a Number` + forKey,
		reason: "the service words it otherwise", source: dynalite,
	},
	{
		vendor: invalid + within + `DynamoDB only supports precision up to 38 digits` + forKey,
		aws:    invalid + within + `Number (over|under)flow. Attempting to store a number with magnitude (larger|smaller) than supported range` + forKey,
		reason: "of a number that has too many digits and is out of range, the service looks at the range first", source: dynalite + " validations/index.js",
	},
	{
		vendor: invalid + within + `One or more parameter values were invalid: Input collection (\[.*\] |of type BS )contains duplicates\.?` + forKey,
		aws:    invalid + within + `One or more parameter values were invalid: Input collection \[.*\] ?(of type BS )?contains duplicates\.` + forKey,
		reason: "the service ends the sentence and lists binary members", source: dynalite,
	},
	{
		vendor: invalid + within + `The supplied Item contains a null AttributeValue(: \w+ is null)?` + forKey,
		aws:    invalid + within + `Supplied AttributeValue is empty, must contain exactly one of the supported datatypes` + forKey,
		reason: "the service has no words for null besides those for {}", source: paritysuite,
	},
	{
		vendor: `200 (\{"Item":\{"id":\{"S":"b"\},"w":\{"N":"[^"]*"\}\}\}|\{"Item":\{"id":\{"S":"b"\},"w":\{"NS":\["-1","10","1E\+2","2"\]\}\}\})`,
		aws:    `200 \{"Item":\{"id":\{"S":"b"\},"w":\{"NS?":(\[("-?\d+",?)+\]|"-?[\d.]+")\}\}\}`,
		reason: "DynamoDB Local keeps a number of an update in the notation in which it came, of an item it does not; the service normalizes all", source: devGuide + "HowItWorks.NamingRulesDataTypes.html",
	},

	{
		vendor: invalid + `Nesting Levels have exceeded supported limits`,
		aws:    invalid + `ExpressionAttributeValues contains invalid value: Nesting Levels have exceeded supported limits: .*`,
		reason: "DynamoDB Local lets one level too many into an expression and refuses it in the item; the limit of 32 holds for both", source: devGuide + "ServiceQuotas.html",
	},

	{
		vendor: invalid + `ExpressionAttributeValues contains invalid value: .* for key :[nm]`,
		aws:    invalid + `ExpressionAttributeValues contains invalid value: .* for key :[nm]`,
		reason: "of several bad values either side names one; DynamoDB Local the first of a hash map", source: apiDocs + "API_UpdateItem.html",
	},

	// Keys.
	{
		vendor: invalid + `(The number of conditions on the keys is invalid|One of the required keys was not given a value|One or more parameter values were invalid: Type mismatch for key|Invalid attribute value type|Get Condition for key not in key list)`,
		aws:    invalid + `The provided key element does not match the schema`,
		reason: "the service has one message for keys that do not fit", source: paritysuite,
	},
	{
		vendor: invalid + `(One of the required keys was not given a value|The number of conditions on the keys is invalid)`,
		aws:    `400 (TransactionCanceledException: .*ValidationError.*|ResourceNotFoundException: Requested resource not found|ValidationException: Transaction request cannot include multiple operations on one item|ValidationException: One or more parameter values are not valid. The AttributeValue for a key attribute cannot contain an empty string value. Key: h)`,
		reason: "a key that does not fit its table cancels a transaction of writes, as it does one of reads, if all tables are there and no other key has an empty value", source: nuboDB + " transactGetItems; " + paritysuite + " transactWriteItems",
	},
	{
		vendor: `400 TransactionCanceledException: (One of the required keys was not given a value|The number of conditions on the keys is invalid)`,
		aws:    `400 (TransactionCanceledException: .*|ValidationException: .*|ResourceNotFoundException: Requested resource not found)`,
		reason: "DynamoDB Local sends this exception without reasons, also if another table is not there", source: apiDocs + "API_TransactGetItems.html; " + nuboDB + " transactGetItems",
	},
	{
		vendor: invalid + `(One of the required keys was not given a value|Invalid attribute value type|One or more parameter values were invalid: Type mismatch for key)`,
		aws:    invalid + `One or more parameter values were invalid: (Missing the key \w+ in the item|Type mismatch for key \w+ expected: \w+ actual: \w+)`,
		reason: "the service names the key", source: dynalite + " test/putItem.js",
	},
	{
		vendor: invalid + `Hash primary key values must be under 2048 bytes, and range primary key values must be under 1024 bytes`,
		aws:    invalid + `One or more parameter values were invalid: (Size of hashkey has exceeded the maximum size limit of2048 bytes|Aggregated size of all range keys has exceeded the size limit of 1024 bytes)`,
		reason: "the service says which key is too long", source: dynalite + " test/putItem.js",
	},
	{
		vendor: invalid + `(Exclusive Start Key must have same size as table's key schema|Type mismatch for attribute to update|The provided starting key does not match the range key predicate)`,
		aws:    invalid + `(The provided key element does not match the schema|The provided starting key is (invalid(: The provided key element does not match the schema)?|outside query boundaries based on provided conditions))`,
		reason: "the service words it otherwise", source: dynalite + " actions/query.js",
	},

	{
		vendor: invalid + `(Supplied AttributeValue is empty, .*|One or more parameter values were invalid: .*)`,
		aws:    invalid + `The provided starting key is invalid: (Supplied AttributeValue is empty, .*|One or more parameter values were invalid: .*)`,
		reason: "the service says which member the value is of", source: dynalite + " test/query.js",
	},

	// Tables and streams that are not there, or cannot be made.
	{
		vendor: `400 ResourceNotFoundException: Cannot do operations on a non-existent table`,
		aws:    `400 ResourceNotFoundException: Requested resource not found(: Table: \w+ not found)?`,
		reason: "the service words it otherwise", source: dynalite,
	},
	{
		vendor: `400 ResourceInUseException: Cannot create preexisting table`,
		aws:    `400 ResourceInUseException: Table already exists: \w+`,
		reason: "the service names the table", source: paritysuite,
	},
	{
		vendor: invalid + `(No Attribute Schema Defined|No provisioned throughput specified for the table|No Hash Key specified in schema.*|Too many hash keys specified.*|Two keys can not have the same name|Key Schema too big.*|(Hash|Range) Key not specified in Attribute Definitions.*|The number of attributes in key schema must match.*|(Global|Local) Secondary Index (hash|range) key not specified in Attribute Definitions.*|GSI list is empty/invalid|Local [Ss]econdary [Ii]ndices .*|Indexes must have a projection specified|No attributes should be specified to be projected unless projection type is INCLUDE|If Projection type INCLUDE is specified, some .*|Member must satisfy enum value set: .*|Invalid StreamViewType: .*)`,
		aws:    invalid + `(One or more parameter values were invalid: .*|Invalid KeySchema: .*|Both the Hash Key and the Range Key element in the KeySchema have the same name|The KeySchema contains multiple key attributes with the same name)`,
		reason: "the service words it otherwise", source: dynalite + " test/createTable.js",
	},
	{
		vendor: `200 \{"TableDescription":.*`,
		aws:    invalid + `One or more parameter values were invalid: (Neither ReadCapacityUnits nor WriteCapacityUnits can be specified when BillingMode is PAY_PER_REQUEST|ProvisionedThroughput should not be specified for index: \w+ when BillingMode is PAY_PER_REQUEST|List of LocalSecondaryIndexes is empty)`,
		reason: "DynamoDB Local takes units on demand, and a list of no indexes", source: dynalite + " test/createTable.js",
	},
	{
		vendor: invalid + `(Only one global secondary index update per index is allowed simultaneously\.|Update global secondary index action is null)`,
		aws:    invalid + `One or more parameter values were invalid: (Only one global secondary index update per index is allowed simultaneously. Index: \w+|One of GlobalSecondaryIndexUpdate.Update, .* must not be null)`,
		reason: "the service says it at length", source: dynalite + " test/updateTable.js",
	},
	{
		vendor: invalid + `(The requested throughput value equals the current value|Nothing to update)`,
		aws:    invalid + `(The provisioned throughput for the table will not change\. .*|At least one of ProvisionedThroughput, BillingMode, .* is required)`,
		reason: "the service says it at length", source: dynalite + " actions/updateTable.js",
	},
	{
		vendor: `200 \{"TableDescription":.*"TableStatus":"ACTIVE"\}\}`,
		aws:    `200 \{"TableDescription":.*"TableStatus":"DELETING"\}\}`,
		reason: "a table that goes is DELETING", source: apiDocs + "API_DeleteTable.html",
	},
	{
		vendor: invalid + `(Table already has an enabled stream|Table has no stream to disable)`,
		aws:    invalid + `(Table already has an enabled stream|Table has no stream to disable): TableName: \w+`,
		reason: "the service names the table", source: apiDocs + "API_UpdateTable.html",
	},
	{
		vendor: invalid + `TimeToLive is active on a different AttributeName`,
		aws:    invalid + `TimeToLive is active on a different AttributeName: current AttributeName is \w+`,
		reason: "the service names the attribute", source: apiDocs + "API_UpdateTimeToLive.html",
	},
	{
		vendor: `400 ResourceNotFoundException: Shard does not exist`,
		aws:    `400 ResourceNotFoundException: Requested resource not found: Shard: \S+ does not exist`,
		reason: "the service names the shard", source: apiDocs + "API_streams_GetShardIterator.html",
	},
	{
		vendor: invalid + `(One or more parameter values were invalid: Invalid SequenceNumber|Value 'x' at 'sequenceNumber' failed to satisfy constraint: .*|Invalid ShardIterator)`,
		aws:    invalid + `(SequenceNumber must be specified when ShardIteratorType is AT_SEQUENCE_NUMBER|Invalid SequenceNumber x in request: .*|Invalid ShardIterator: .*)`,
		reason: "the engine says what is wrong with its own names", source: apiDocs + "API_streams_GetShardIterator.html",
	},

	// Expressions.
	{
		vendor: invalid + `ExpressionAttributeValues can only be specified when using expressions: FilterExpression is null`,
		aws:    invalid + `Invalid FilterExpression: The expression can not be empty;`,
		reason: "DynamoDB Local takes an empty filter beside a projection for none", source: dynalite + " test/scan.js",
	},
	{
		vendor: invalid + `Invalid \w+Expression: (Internal server error|Syntax error; .*)`,
		aws:    invalid + `Invalid \w+Expression: Syntax error; token: ":\w+", near: "\. ?:.*`,
		reason: "DynamoDB Local's parser fails on a value behind a dot", source: dynalite + " db/conditionParser.pegjs",
	},
	{
		vendor: invalid + `.*operator or function: attribute_type, operand type: \{B, BOOL, BS, DECIMAL, .*\}`,
		aws:    invalid + `.*operator or function: attribute_type, operand type: \{B, BOOL, BS, L, M, N, NS, NULL, S, SS\}`,
		reason: "DynamoDB Local lists types that only it knows", source: dynalite + " db/conditionParser.pegjs",
	},
	{
		vendor: invalid + `(Invalid \w+Expression: The BETWEEN operator requires .*)java.nio.HeapByteBuffer.*`,
		aws:    invalid + `Invalid \w+Expression: The BETWEEN operator requires .*`,
		reason: "DynamoDB Local shows a Java object in the place of binary", source: apiDocs + "API_AttributeValue.html",
	},
	{
		vendor: `.*`,
		aws:    invalid + `Invalid \w+Expression: Attribute name is a reserved keyword; reserved keyword: (?i:size|convert)`,
		reason: "the service reserves SIZE and CONVERT, DynamoDB Local does not", source: devGuide + "ReservedWords.html",
	},
	{
		vendor: invalid + `((?:Invalid \w+Expression: )?Two document paths (?:overlap|conflict) with each other; must remove or rewrite one of these paths; path one: \[.*\], path two: )\[.*\]`,
		aws:    invalid + `((?:Invalid \w+Expression: )?Two document paths (?:overlap|conflict) with each other; must remove or rewrite one of these paths; path one: \[.*\], path two: )\[.*\]`,
		reason: "of three and more paths DynamoDB Local names a wrong second one", source: dynalite + " db/updateParser.pegjs",
	},
	{
		vendor: invalid + `Key attributes must be scalars; list random access '\[\]' and map lookup '.' are not allowed: Key: \w+`,
		aws:    invalid + `(KeyConditionExpressions cannot have conditions on nested attributes|Filter Expression can only contain non-primary key attributes: Primary key attribute: \w+)`,
		reason: "a key condition is looked at before the table is known, and a filter must not name a key at all", source: dynalite + " test/query.js",
	},
	{
		vendor: invalid + `Query condition missed key schema element`,
		aws:    invalid + `Query condition missed key schema element: \w+`,
		reason: "the service names the element", source: dynalite + " test/query.js",
	},
	{
		vendor: `200 \{"Attributes":\{"(m|l)":.*`,
		aws:    `200 \{"Attributes":\{"(m":\{"M":\{"k":\{"\w":"\w+"\}\}\}|l":\{"L":\[\{"N":"1"\}\]\})\}\}`,
		reason: "UPDATED_OLD and UPDATED_NEW show of a map or list only what was written", source: alternator,
	},
	{
		vendor: `200 \{"Item":\{"id":\{"S":"(remove|delete)"\}\}\}`,
		aws:    `200 \{\}`,
		reason: "an update that only removes creates no item", source: alternator,
	},

	{
		vendor: invalid + atItem,
		aws:    invalid + atItem,
		reason: "of several faults against the item DynamoDB Local reports one by the order of a hash map", source: apiDocs + "API_UpdateItem.html",
	},

	// Indexes.
	{
		vendor: invalid + `Consistent read cannot be true when querying a GSI`,
		aws:    invalid + `Consistent reads are not supported on global secondary indexes`,
		reason: "the service words it otherwise", source: paritysuite,
	},
	{
		vendor: invalid + `One or more parameter values were invalid: Type mismatch for Index Key`,
		aws:    invalid + `One or more parameter values were invalid: Type mismatch for Index Key s Expected: S Actual: N IndexName: by-s`,
		reason: "the service names the key, the types and the index", source: dynalite + " test/putItem.js",
	},
	{
		vendor: `200 \{("Items":\[\])?\}`,
		aws:    invalid + `The update expression attempted to update the secondary index key to unsupported type`,
		reason: "DynamoDB Local writes an item that its index cannot hold", source: devGuide + "GSI.html",
	},

	// Reads.
	{
		vendor: invalid + `(ALL_PROJECTED_ATTRIBUTES can be used only when Querying using an IndexName|Must specify the AttributesToGet or ProjectionExpression when choosing to get SPECIFIC_ATTRIBUTES|Cannot specify the (?:ProjectionExpression|AttributesToGet) when choosing to get only the Count|Select must be .*)`,
		aws:    invalid + `(One or more parameter values were invalid: (Select type ALL_PROJECTED_ATTRIBUTES .*|Must specify the AttributesToGet or .*)|Cannot specify the (?:ProjectionExpression|AttributesToGet) when choosing to get COUNT)`,
		reason: "the words vary between the service's regions; the rule is the same", source: paritysuite,
	},
	{
		vendor: invalid + `(If segment is specified, total segment must also be specified|If total segments is specified, a particular segment must also be specified for this request|Value '2' at 'segment' failed .*)`,
		aws:    invalid + `The (TotalSegments parameter is required|Segment parameter is (required|zero-based)) .*`,
		reason: "the service words it otherwise", source: dynalite + " test/scan.js",
	},
	{
		vendor: `200 \{"ConsumedCapacity":\{"CapacityUnits":0.0,"TableName":"empty"\},.*`,
		aws:    `200 \{"ConsumedCapacity":\{"CapacityUnits":0.5,"TableName":"empty"\},.*`,
		reason: "a read of nothing costs the smallest read", source: devGuide + "read-write-operations.html",
	},
	{
		vendor: `200 \{"ConsumedCapacity":\{"CapacityUnits":[0-9.]+,"TableName":"(streamed|indexed)"\}\}`,
		aws:    `200 \{\}`,
		reason: "DynamoDB Local shows capacity that nobody asked for, on tables with a stream or an index", source: apiDocs + "API_DeleteItem.html",
	},

	{
		vendor: invalid + `Return values set to invalid value`,
		aws:    invalid + `ReturnValues can only be ALL_OLD or NONE`,
		reason: "the service says which values there are", source: dynalite + " test/putItem.js",
	},

	{
		vendor: invalid + `(Conditions can be of length 1 or 2 only|Query key condition not supported)`,
		aws:    `400 (ValidationException: (The number of query conditions \(\d+\) exceeds the number of key attributes defined in the schema \(\d+\)|The provided starting key is invalid.*|The table does not have the specified index: .*)|ResourceNotFoundException: .*)`,
		reason: "the service counts the conditions against the key, of which an index may have eight attributes", source: paritysuite + " queryKeyConditionOperands",
	},

	// Legacy parameters.
	{
		vendor: invalid + `Either the KeyConditions or KeyConditionExpression parameter must be specified in the request\.`,
		aws:    invalid + `Conditions can be of length 1 or 2 only`,
		reason: "an empty KeyConditions is there, with too few conditions", source: dynalite + " test/query.js",
	},
	{
		vendor: `200 .*`,
		aws:    `200 \{"Attributes":\{.*"w":\{"N":"1"\}.*`,
		reason: "DynamoDB Local does nothing where an AttributeUpdate has no Action; the service's default is PUT", source: apiDocs + "API_AttributeValueUpdate.html",
	},
	{
		vendor: invalid + `One or more parameter values were invalid: (ADD action|DELETE action with value) is not supported for the type [A-Z]+`,
		aws:    invalid + `One or more parameter values were invalid: (ADD action|DELETE action with value) is not supported for the type [A-Z]+`,
		reason: "the service names the type as the protocol does: S, not STRING", source: dynalite + " test/updateItem.js",
	},
	{
		vendor: invalid + `(Only scalar types can be used as (Hash|Range) Key values|Query key condition not supported)|500 InternalFailure: .*`,
		aws:    invalid + `Attempted conditional constraint is not an indexable operation`,
		reason: "the service has one message for comparisons that no key takes", source: dynalite + " test/query.js",
	},
	{
		vendor: invalid + `Cannot have two attributes with the same name`,
		aws:    invalid + `One or more parameter values were invalid: Duplicate value in attribute name: \w+`,
		reason: "the service names the attribute", source: dynalite + " test/getItem.js",
	},
	{
		vendor: `200 .*`,
		aws:    invalid + `Value '\[\]' at 'attributesToGet' failed to satisfy constraint: Member must have length greater than or equal to 1`,
		reason: "the model wants one attribute at least", source: apiDocs + "API_Query.html",
	},

	// PartiQL.
	{
		vendor: invalid + `(Statement wasn't well formed, can't be processed: .*|Unsupported operation: (Literal|Struct|CreateTable|DropTable|VariableReference))`,
		aws:    invalid + `Statement wasn't well formed, can't be processed: .*`,
		reason: "the service says what it expected where DynamoDB Local repeats the statement", source: paritysuite + ", partiqlGrammar",
	},
	{
		vendor: invalid + `(Unrecognized function: \w+|The first argument to SET_(ADD|DELETE) must equal the assignment value)`,
		aws:    invalid + `(Unrecognized function: \w+|The first argument to SET_(ADD|DELETE) must equal the assignment value) at [0-9:]+`,
		reason: "the service says where", source: paritysuite + ", partiqlFunctions",
	},
	{
		vendor: invalid + `Number (over|under)flow.*`,
		aws:    invalid + `Number (over|under)flow.* under root\S*`,
		reason: "the service says where in the value", source: paritysuite + ", partiqlGrammar",
	},
	{
		vendor: invalid + `(Table name should be within the length .*|FROM clause may only contain a single table name in data manipulation statements)`,
		aws:    invalid + `This operation is not supported on an index`,
		reason: "the service says so before it looks for the table", source: "https://docs.rs/crate/dynoxide-rs/3.2.0/source/tests/partiql_index_qualifier.rs",
	},
	{
		vendor: `400 DuplicateItem: Duplicate primary key exists in table`,
		aws:    `400 DuplicateItemException: Duplicate primary key exists in table`,
		reason: "DynamoDB Local sends the exception under a name that no SDK knows", source: apiDocs + "API_ExecuteStatement.html",
	},
	{
		vendor: `200 .*`,
		aws:    invalid + `Must have at least one non-optional hash key condition in WHERE clause when using ORDER BY clause\.`,
		reason: "DynamoDB Local takes ORDER BY without one partition key or a list of them, and does not order by it then", source: devGuide + "ql-reference.select.html",
	},
	{
		vendor: `200 .*`,
		aws:    invalid + `(Statement wasn't well formed, can't be processed: (Unexpected token after expression|Expected MISSING or NULL after IS)?|Unexpected path component at .*|Unsupported operator in Update Expression. Operator: =|The function is not allowed to be used this way in an expression; function: begins_with)`,
		reason: "the engine refuses what the documentation does not have: comparisons of conditions, IS with other types, variables as indexes, @", source: devGuide + "ql-operators.html",
	},

	{
		vendor: `200 \{"Responses":\[(.*)(Cannot do operations on a non-existent table|Only single item select is supported|Invalid operation. Only select, insert, update and delete operations are valid)(.*)\]\}`,
		aws:    `200 \{"Responses":\[(.*)(Requested resource not found|Select statements within BatchExecuteStatement must specify the primary key in the where clause\.|Statement wasn't well formed, can't be processed: Expected data manipulation)(.*)\]\}`,
		reason: "the service words it otherwise", source: paritysuite + ", partiql/batchExecuteStatement",
	},
	{
		vendor: invalid + `Unsupported operation: VariableReference`,
		aws:    invalid + `Validation failed in TransactStatements\[0\]: Statement wasn't well formed, can't be processed: .*`,
		reason: "the service says which statement, and what it expected", source: paritysuite + ", partiqlGrammar",
	},
	{
		vendor: `400 TransactionCanceledException: ValidationError Where clause does not contain a mandatory equality on all key attributes`,
		aws:    `400 TransactionCanceledException: .*"Message":"Where clause does not contain a mandatory equality on all key attributes"\}\]\}`,
		reason: "DynamoDB Local sends this exception without reasons", source: apiDocs + "API_ExecuteTransaction.html",
	},

	{
		vendor: invalid + `The table does not have the specified index: none`,
		aws:    invalid + `The table does not have the specified index`,
		reason: "the service names the index in a Query, not in a statement", source: paritysuite + ", partiqlIndexQualifier",
	},
	{
		vendor: `200 \{"Items":\[\{"c":.*`,
		aws:    invalid + `One or more parameter values were invalid: Secondary index by-c does not project one or more filter attributes: \[n\]|200 \{"Items":\[\]\}`,
		reason: "a filter sees what the index has; by key it may name nothing else", source: paritysuite + ", partiql/indexQualifier",
	},
	{
		vendor: invalid + `Consistent read cannot be true when scanning a GSI`,
		aws:    invalid + `(Strongly consistent read is not supported on Global Secondary Indexes|Consistent reads are not supported on global secondary indexes)`,
		reason: "the service words it otherwise, a Scan as a Query, a statement in words of its own", source: paritysuite + ", indexReads, partiqlIndexQualifier",
	},

	// Batches and transactions.
	{
		vendor: `400 TransactionCanceledException: .*`,
		aws:    `400 TransactionCanceledException: .*"Message":"The conditional request failed".*`,
		reason: "the service ends this message with no full stop", source: apiDocs + "API_TransactWriteItems.html",
	},
	{
		vendor: invalid + atItem,
		aws:    `400 TransactionCanceledException: Transaction cancelled, .*ValidationError.*`,
		reason: "what an update can only find out in the transaction cancels it, with the reason in its place", source: apiDocs + "API_TransactWriteItems.html",
	},
	{
		vendor: `400 TransactionCanceledException: .*Type mismatch for key"\}\]\}`,
		aws:    `400 TransactionCanceledException: .*Type mismatch for key \w+ expected: \w+ actual: \w+"\}\]\}`,
		reason: "the service names the key", source: paritysuite,
	},
	{
		vendor: `400 IdempotentParameterMismatchException: .*`,
		aws:    `400 IdempotentParameterMismatchException: .+`,
		reason: "the service says a sentence", source: apiDocs + "API_TransactWriteItems.html",
	},
	{
		vendor: `200 \{"ConsumedCapacity":\[\{"CapacityUnits":2.0,"TableName":"ranged"\},\{"CapacityUnits":2.0,"TableName":"single"\}\].*`,
		aws:    `200 \{"ConsumedCapacity":\[\{"CapacityUnits":2.0,("ReadCapacityUnits":2.0,)?"TableName":"ranged"(,"WriteCapacityUnits":2.0)?\},.*`,
		reason: "of transactions the service tells reads from writes", source: apiDocs + "API_ConsumedCapacity.html",
	},
	{
		vendor: invalid + `Value null at 'transactItems' failed to satisfy constraint: Member must not be null`,
		aws:    invalid + `Invalid Request: TransactGetItems should contain Get requests`,
		reason: "DynamoDB Local says the same about every such request", source: paritysuite,
	},
}
