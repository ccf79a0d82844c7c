package stepfunctions

import (
	"strings"

	"ratchet/embedded/internal/stepfunctions/asl"
	"ratchet/embedded/internal/stepfunctions/execution"
	"ratchet/embedded/internal/stepfunctions/rawjson"
	"ratchet/embedded/internal/wire"
)

type testRequest struct {
	Definition, RoleArn, Input, InspectionLevel, Variables string

	RevealSecrets      bool
	Mock               *testMock
	StateName, Context string
	StateConfiguration *testConfiguration
}

// testMock is the answer of a task, a Map or a Parallel that does not do its work.
type testMock struct {
	Result              *string
	ErrorOutput         *struct{ Error, Cause string }
	FieldValidationMode string
}

// testConfiguration describes the attempts and iterations before the mock's answer.
type testConfiguration struct {
	RetrierRetryCount        int64
	ErrorCausedByState       string // changes nothing: the error is the Map's or the Parallel's own
	MapIterationFailureCount *int64
	MapItemReaderData        *string
}

func (c *testConfiguration) retries() int64 {
	if c == nil {
		return 0
	}

	return c.RetrierRetryCount
}

func (c *testConfiguration) failures() int64 {
	if c == nil || c.MapIterationFailureCount == nil {
		return 0
	}

	return *c.MapIterationFailureCount
}

// executionMock returns the mock of a Map or Parallel, nil without a mock.
func (in *testRequest) executionMock() *execution.Mock {
	if in.Mock == nil {
		return nil
	}

	output, failed := in.Mock.answer()
	// The spaces of a result stay: LocalStack's test_base_parallel_state_mock_success.
	if failed == nil {
		output = []byte(*in.Mock.Result)
	}

	return &execution.Mock{Result: output, Failed: failed, Failures: in.StateConfiguration.failures()}
}

// answer returns the mock's result or its error.
func (m *testMock) answer() ([]byte, *execution.CallFailure) {
	if m.ErrorOutput != nil {
		return nil, &execution.CallFailure{Name: m.ErrorOutput.Error, Cause: m.ErrorOutput.Cause}
	}

	return rawjson.AppendCompact(nil, []byte(*m.Result)), nil
}

// check compiles the state and fails for requests that the service or the engine refuses.
func (in *testRequest) check() (*asl.Machine, error) {
	if err := wire.OneOf(in.InspectionLevel, "inspectionLevel", "INFO", "DEBUG", "TRACE"); err != nil {
		return nil, err
	}

	program, err := in.compile()
	if err != nil {
		return nil, err
	}

	if in.Input == "" {
		in.Input = "{}"
	}

	if err := rawjson.Valid([]byte(in.Input)); err != nil {
		return nil, wire.Errorf("InvalidExecutionInput", "Invalid State Machine Execution Input: '%s'", inputFault([]byte(in.Input)))
	}

	if err := in.checkSizes(); err != nil {
		return nil, err
	}

	if in.Variables != "" && (rawjson.Valid([]byte(in.Variables)) != nil || rawjson.KindOf([]byte(in.Variables)) != rawjson.Object) {
		return nil, validation("variables must be a JSON object")
	}

	state := program.Flow.Start
	for _, check := range []func(*asl.State) error{in.checkConfiguration, in.checkState, in.checkMock, in.checkContext, in.checkResult} {
		if err := check(state); err != nil {
			return nil, err
		}
	}

	return program, nil
}

// checkSizes fails for documents that are longer than the API allows.
// Source: https://docs.aws.amazon.com/step-functions/latest/apireference/API_TestState.html
func (in *testRequest) checkSizes() error {
	for _, document := range []struct{ name, text string }{{"input", in.Input}, {"variables", in.Variables}, {"context", in.Context}} {
		if len(document.text) > execution.MaxDocument {
			return validation("1 validation error detected: Value at '%s' failed to satisfy constraint: "+
				"Member must have length less than or equal to %d", document.name, execution.MaxDocument)
		}
	}

	return nil
}

// compile compiles the definition: one state, or a machine with a state that has a name.
func (in *testRequest) compile() (*asl.Machine, error) {
	var program *asl.Machine
	var found asl.Diagnostics

	if in.StateName == "" {
		program, found = asl.ParseState(testedState, []byte(in.Definition))
	} else {
		program, found = asl.ParseSingle([]byte(in.Definition), in.StateName, testedState)
	}

	switch err := found.Err(); {
	case err != nil:
		return nil, wire.Errorf("InvalidDefinition", "%v", err)
	case program == nil:
		return nil, validation("State not found in definition")
	}

	return program, nil
}

func (in *testRequest) checkConfiguration(*asl.State) error {
	const negative = "1 validation error detected: Value '%d' at 'stateConfiguration.%s' failed to satisfy constraint: " +
		"Member must have value greater than or equal to 0"

	switch c := in.StateConfiguration; {
	case c == nil:
		return nil
	case c.RetrierRetryCount < 0:
		return validation(negative, c.RetrierRetryCount, "retrierRetryCount")
	case c.failures() < 0:
		return validation(negative, c.failures(), "mapIterationFailureCount")
	case c.MapIterationFailureCount != nil && in.Mock == nil:
		return validation("TestState does not support MapIterationFailureCount when a mock is not specified.")
	case c.MapItemReaderData != nil:
		return validation("the embedded engine's TestState takes no mapItemReaderData: the engine has no ItemReader")
	default:
		return nil
	}
}

func (in *testRequest) checkState(state *asl.State) error {
	switch {
	case in.Mock != nil:
		return nil
	case state.Kind == asl.Map || state.Kind == asl.Parallel:
		return wire.Errorf("InvalidDefinition", "TestState API does not support Map or Parallel states. "+
			"Supported state types include: [Task, Wait, Pass, Succeed, Fail, Choice]")
	case state.Kind != asl.Task:
		return nil
	case in.RoleArn == "":
		return validation("RoleArn must be specified when testing a Task state")
	case state.Foreign:
		return wire.Errorf("InvalidDefinition", "Invalid State Machine Definition: '"+asl.CodeResource+": "+asl.ForeignResource+"'", state.Resource)
	case state.Integration == nil:
		return wire.Errorf("InvalidDefinition", "TestState API does not support activities.")
	case state.Integration.Callback || state.Integration.Sync:
		_, pattern, _ := strings.Cut(state.Integration.Resource, ".")
		return wire.Errorf("InvalidDefinition", "TestState API does not support the service integration pattern .%s.", pattern)
	default:
		return nil
	}
}

func (in *testRequest) checkMock(state *asl.State) error {
	mock := in.Mock
	switch {
	case mock == nil:
		return nil
	case state.Kind != asl.Task && state.Kind != asl.Map && state.Kind != asl.Parallel:
		return validation("State type '%s' is not supported when a mock is specified", state.Kind)
	case in.RevealSecrets:
		return validation("TestState does not support RevealSecrets when a mock is specified.")
	case mock.Result != nil && mock.ErrorOutput != nil:
		return validation("A test mock should have only one of the following fields: [result, errorOutput].")
	case mock.Result == nil && mock.ErrorOutput == nil:
		return validation("A test mock must have one of the following fields: [result, errorOutput].")
	case mock.Result != nil && rawjson.Valid([]byte(*mock.Result)) != nil:
		return validation("Mocked result must be valid JSON")
	}

	return wire.OneOf(mock.FieldValidationMode, "mock.fieldValidationMode", "STRICT", "PRESENT", "NONE")
}

// checkResult checks the shape of a mocked result.
func (in *testRequest) checkResult(state *asl.State) error {
	if in.Mock == nil || in.Mock.Result == nil {
		return nil
	}

	result := []byte(*in.Mock.Result)
	if state.Kind == asl.Task {
		return checkFields(state, result, in.Mock.FieldValidationMode)
	}

	if rawjson.KindOf(result) != rawjson.Array {
		return validation("Mocked result must be an array.")
	}

	if state.Kind == asl.Parallel && rawjson.Len(result) != len(state.Branches) {
		return validation("Mocked result must contain the same number of items as number of Parallel branches.")
	}

	return nil
}

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

func (in *testRequest) checkContext(state *asl.State) error {
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
