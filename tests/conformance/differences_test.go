//go:build conformance

package conformance

// Where the service's own words are on record: two suites whose expectations were
// taken from the service itself, and the service's documents.
const (
	dynalite    = "https://github.com/architect/dynalite (tests run against the service)"
	paritysuite = "https://github.com/paritysuite/dynamodb-conformance (captures from the service, tests/tier3/error-messages)"
	alternator  = "https://github.com/scylladb/scylladb test/alternator/test_returnvalues.py (run against the service)"
	apiDocs     = "https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/"
	devGuide    = "https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/"
)

const (
	invalid = `400 ValidationException: `
	// within is what may stand before a fault of a value in a message, and after it.
	within = `(ExpressionAttributeValues contains invalid value: )?`
	forKey = `( for key :\w+)?`
	// atItem is what an update can find out against the item only.
	atItem = `(The document path provided in the update expression is invalid for update|The provided expression refers to an attribute that does not exist in the item|An operand in the update expression has an incorrect data type)`
)

// differences lists where the service answers otherwise than DynamoDB Local 3.1.0,
// by topic. The engine follows the service.
var differences = []difference{
	// The shape of requests.
	{
		vendor: `500 InternalFailure: .*`,
		aws:    `400 (SerializationException|ValidationException): .*`,
		reason: "DynamoDB Local fails on JSON that does not fit; the service refuses it", source: dynalite,
	},
	{
		vendor: `200 .*|400 ValidationException: .*`,
		aws:    `400 SerializationException: (\w+_VALUE cannot be converted to \w+|json: .* unmarshal JSON (number|boolean) .*)`,
		reason: "DynamoDB Local takes numbers and booleans for strings", source: dynalite + " test/helpers.js",
	},
	{
		vendor: invalid + `.*`,
		aws:    invalid + `(Value .* at '.*' failed to satisfy constraint: Member must .*|TableName must be at least 3 characters long and at most 255 characters long)`,
		reason: "the service holds a request against its model first, and says so in the model's words", source: paritysuite,
	},
	{
		vendor: `200 .*`,
		aws:    invalid + `Value '.*' at '(returnConsumedCapacity|clientRequestToken|streamSpecification.streamViewType|returnValuesOnConditionCheckFailure)' failed to satisfy constraint: Member must .*|` + invalid + `Value null at 'transactItems.1.member.update.updateExpression' failed to satisfy constraint: Member must not be null`,
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
		vendor: `400 TransactionCanceledException: One of the required keys was not given a value`,
		aws:    invalid + `The provided key element does not match the schema`,
		reason: "DynamoDB Local sends this exception without reasons", source: apiDocs + "API_TransactGetItems.html",
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
		aws:    invalid + `The provided starting key is (invalid: The provided key element does not match the schema|outside query boundaries based on provided conditions)`,
		reason: "the service words it otherwise", source: dynalite + " actions/query.js",
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
		vendor: invalid + `(No Attribute Schema Defined|No provisioned throughput specified for the table|No Hash Key specified in schema.*|Too many hash keys specified.*|Two keys can not have the same name|Key Schema too big.*|Hash Key not specified in Attribute Definitions.*|The number of attributes in key schema must match.*|Member must satisfy enum value set: .*|Invalid StreamViewType: .*)`,
		aws:    invalid + `(One or more parameter values were invalid: .*|Invalid KeySchema: .*|Both the Hash Key and the Range Key element in the KeySchema have the same name)`,
		reason: "the service words it otherwise", source: dynalite + " test/createTable.js",
	},
	{
		vendor: `200 \{"TableDescription":.*`,
		aws:    invalid + `One or more parameter values were invalid: Neither ReadCapacityUnits nor WriteCapacityUnits can be specified when BillingMode is PAY_PER_REQUEST`,
		reason: "DynamoDB Local takes both", source: dynalite + " test/createTable.js",
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
		aws:    invalid + `(Table already has an enabled stream|Table has no enabled stream): TableName: \w+`,
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
		vendor: invalid + `(Invalid \w+Expression: Two document paths (?:overlap|conflict) with each other; must remove or rewrite one of these paths; path one: \[.*\], path two: )\[.*\]`,
		aws:    invalid + `(Invalid \w+Expression: Two document paths (?:overlap|conflict) with each other; must remove or rewrite one of these paths; path one: \[.*\], path two: )\[.*\]`,
		reason: "of three and more paths DynamoDB Local names a wrong second one", source: dynalite + " db/updateParser.pegjs",
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
		vendor: invalid + `Exclusive Start Key must have same size as table's key schema`,
		aws:    invalid + `The provided starting key is invalid`,
		reason: "the service words it otherwise", source: paritysuite,
	},
	{
		vendor: invalid + `One or more parameter values were invalid: Type mismatch for Index Key`,
		aws:    invalid + `One or more parameter values were invalid: Type mismatch for Index Key s Expected: S Actual: N IndexName: by-s`,
		reason: "the service names the key, the types and the index", source: dynalite + " test/putItem.js",
	},
	{
		vendor: `200 \{\}`,
		aws:    invalid + `The update expression attempted to update the secondary index key to unsupported type`,
		reason: "DynamoDB Local writes an item that its index cannot hold", source: devGuide + "GSI.html",
	},

	// Reads.
	{
		vendor: invalid + `(ALL_PROJECTED_ATTRIBUTES can be used only when Querying using an IndexName|Must specify the AttributesToGet or ProjectionExpression when choosing to get SPECIFIC_ATTRIBUTES|Cannot specify the ProjectionExpression when choosing to get only the Count|Select must be .*)`,
		aws:    invalid + `(One or more parameter values were invalid: (Select type ALL_PROJECTED_ATTRIBUTES .*|Must specify the AttributesToGet or .*)|Cannot specify the ProjectionExpression when choosing to get COUNT)`,
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

	// Batches and transactions.
	{
		vendor: invalid + `(Supplied AttributeValue has more than one datatypes set, .*|Too many items requested for the BatchWriteItem call|The supplied Item contains a null AttributeValue)`,
		aws:    invalid + `(A WriteRequest (needs|takes) .*|Value .* at 'requestItems.*' failed to satisfy constraint: .*)`,
		reason: "DynamoDB Local says this with words of another fault", source: dynalite + " test/batchWriteItem.js",
	},
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
		vendor: `400 IdempotentParameterMismatchException: `,
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
