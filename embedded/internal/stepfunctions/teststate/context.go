package teststate

import (
	"strings"

	"ratchet/embedded/internal/stepfunctions/asl"
	"ratchet/embedded/internal/stepfunctions/rawjson"
)

// contextFields are the fields of a context object that a test may have, and their kinds.
// Sources: LocalStack's recordings of AWS (test_state_context_object), and for the fields
// https://docs.aws.amazon.com/step-functions/latest/dg/input-output-contextobject.html
var contextFields = map[string]map[string]string{
	"Execution": {
		"Id": "string", "Input": "", "Name": "string", "RoleArn": "string", "StartTime": "string",
		"RedriveCount": "number", "RedriveTime": "string",
	},
	"State":        {"EnteredTime": "string", "Name": "string", "RetryCount": "number"},
	"StateMachine": {"Id": "string", "Name": "string"},
	"Task":         {"Token": "string"},
}

func (in *Request) checkContext(state *asl.State) error {
	if in.Context == "" {
		return nil
	}

	object := []byte(in.Context)
	if rawjson.Valid(object) != nil || rawjson.KindOf(object) != rawjson.Object {
		return invalidContext("the Context object must be a JSON object")
	}

	for c := rawjson.Walk(object); c.Next(); {
		name, _ := rawjson.Text(c.Key)
		if err := checkContextPart(state, name, c.Value); err != nil {
			return err
		}
	}

	return nil
}

func checkContextPart(state *asl.State, part string, value []byte) error {
	fields := contextFields[part]
	// Only these two patterns give a task a token.
	waits := strings.HasSuffix(state.Resource, ".waitForTaskToken") || strings.Contains(state.Resource, ".sync")
	switch {
	case part == "Map":
		return invalidContext("'Map' field is not supported when mocking a Context object")
	case fields == nil:
		return invalidContext("Field '" + part + "' is not allowed")
	case rawjson.KindOf(value) != rawjson.Object:
		return invalidContext(part + " must be an object")
	case part == "Task" && !waits:
		return invalidContext("Context object contains 'Task' when state is not a Task state " +
			"with a '.sync' or '.waitForTaskToken' service integration pattern")
	}

	for c := rawjson.Walk(value); c.Next(); {
		name, _ := rawjson.Text(c.Key)

		kind, ok := fields[name]
		if !ok {
			return invalidContext("Field '" + name + "' is not allowed")
		}

		if kind != "" && kindNames[rawjson.KindOf(c.Value)] != kind {
			return invalidContext(part + "." + name + " must be a " + kind)
		}
	}

	return nil
}

func invalidContext(text string) error {
	return validation("Invalid Context object provided: %s", text)
}
