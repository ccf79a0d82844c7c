package teststate

import (
	"maps"
	"slices"

	"ratchet/embedded/internal/stepfunctions/asl"
	"ratchet/embedded/internal/stepfunctions/rawjson"
)

// field is the type of a member of an answer in the API of a service.
type field struct {
	kind     string // of kindNames; "" for any
	required bool
	fields   map[string]field // of an object
}

// answers are the members of the answers of optimized integrations, as far as mocks of them are checked.
// Members that are not listed are not checked. AWS does not check the digests of a message either.
// Sources: LocalStack's recordings of AWS
// (test_field_validation_mode); the API references of the services.
var answers = map[string]map[string]field{
	"states:startExecution": {
		"ExecutionArn": {kind: "string", required: true},
		"StartDate":    {kind: "string", required: true},
	},
	"states:startExecution.sync":   described,
	"states:startExecution.sync:2": described,
	"lambda:invoke": {
		"StatusCode": {kind: "number"}, "Payload": {kind: "string"}, "FunctionError": {kind: "string"},
		"LogResult": {kind: "string"}, "ExecutedVersion": {kind: "string"},
	},
	"sqs:sendMessage":     {"MessageId": {kind: "string"}, "SequenceNumber": {kind: "string"}},
	"dynamodb:getItem":    {"Item": {kind: "object"}, "ConsumedCapacity": consumed},
	"dynamodb:putItem":    written,
	"dynamodb:updateItem": written,
	"dynamodb:deleteItem": written,
}

var (
	// described is the answer of DescribeExecution, which a task asks for that waits for an execution.
	// Source: https://docs.aws.amazon.com/step-functions/latest/dg/test-state-isolation.html
	described = map[string]field{
		"ExecutionArn":    {kind: "string", required: true},
		"StateMachineArn": {kind: "string", required: true},
		"StartDate":       {required: true}, // a number in executions
		"Status":          {kind: "string", required: true},
	}
	written = map[string]field{
		"Attributes": {kind: "object"}, "ConsumedCapacity": consumed, "ItemCollectionMetrics": {kind: "object"},
	}
	consumed = field{kind: "object", fields: map[string]field{
		"TableName": {kind: "string"}, "CapacityUnits": {kind: "number"},
		"ReadCapacityUnits": {kind: "number"}, "WriteCapacityUnits": {kind: "number"},
		"Table": units, "LocalSecondaryIndexes": {kind: "object"}, "GlobalSecondaryIndexes": {kind: "object"},
	}}
	units = field{kind: "object", fields: map[string]field{
		"CapacityUnits": {kind: "number"}, "ReadCapacityUnits": {kind: "number"}, "WriteCapacityUnits": {kind: "number"},
	}}
)

var kindNames = map[rawjson.Kind]string{
	rawjson.String: "string", rawjson.Number: "number", rawjson.Object: "object", rawjson.Array: "array",
}

// checkFields checks the mocked result of a task against the API of its service. The mode PRESENT accepts
// missing members, NONE checks nothing, and STRICT is the default.
func checkFields(state *asl.State, result []byte, mode string) error {
	i := state.Integration
	// A function by its ARN may return anything.
	if i == nil || i.Function != "" || mode == "NONE" || rawjson.KindOf(result) != rawjson.Object {
		return nil
	}

	fields := answers[i.ResourceType+":"+i.Resource]
	if mode != "PRESENT" {
		for _, name := range slices.Sorted(maps.Keys(fields)) {
			if _, ok := rawjson.Member(result, name); fields[name].required && !ok {
				return schemaError("Required field '%s' is missing", name)
			}
		}
	}

	return checkKinds(fields, result)
}

func checkKinds(fields map[string]field, object []byte) error {
	for c := rawjson.Walk(object); c.Next(); {
		name, _ := rawjson.Text(c.Key)

		f := fields[name]
		if f.kind == "" {
			continue
		}

		if kind := kindNames[rawjson.KindOf(c.Value)]; kind != f.kind {
			return schemaError("Field '%s' must be %s", name, withArticle(f.kind))
		}

		if err := checkKinds(f.fields, c.Value); err != nil {
			return err
		}
	}

	return nil
}

func withArticle(kind string) string {
	if kind == "object" || kind == "array" {
		return "an " + kind
	}

	return "a " + kind
}

func schemaError(format string, args ...any) error {
	return validation("Mock result schema validation error: "+format, args...)
}
