package teststate

import (
	"strings"

	"ratchet/embedded/internal/stepfunctions/asl"
	"ratchet/embedded/internal/stepfunctions/execution"
	"ratchet/embedded/internal/stepfunctions/rawjson"
	"ratchet/embedded/internal/wire"
)

// testedState is the name of a state that TestState runs, whatever its definition calls it.
// Source: LocalStack's recordings of AWS (test_state_with_variables).
const testedState = "StateName"

// Check compiles the state and fails for requests that the service or the engine refuses.
func (in *Request) Check() (*asl.Machine, error) {
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
		return nil, wire.Errorf("InvalidExecutionInput", "Invalid State Machine Execution Input: '%s'", rawjson.InputFault([]byte(in.Input)))
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
func (in *Request) checkSizes() error {
	for _, document := range []struct{ name, text string }{{"input", in.Input}, {"variables", in.Variables}, {"context", in.Context}} {
		if len(document.text) > execution.MaxDocument {
			return validation("1 validation error detected: Value at '%s' failed to satisfy constraint: "+
				"Member must have length less than or equal to %d", document.name, execution.MaxDocument)
		}
	}

	return nil
}

// compile compiles the definition: one state, or a machine with a state that has a name.
func (in *Request) compile() (*asl.Machine, error) {
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

func (in *Request) checkConfiguration(*asl.State) error {
	const negative = "1 validation error detected: Value '%d' at 'stateConfiguration.%s' failed to satisfy constraint: " +
		"Member must have value greater than or equal to 0"

	switch c := in.StateConfiguration; {
	case c == nil:
		return nil
	case c.RetrierRetryCount < 0:
		return validation(negative, c.RetrierRetryCount, "retrierRetryCount")
	case c.Failures() < 0:
		return validation(negative, c.Failures(), "mapIterationFailureCount")
	case c.MapIterationFailureCount != nil && in.Mock == nil:
		return validation("TestState does not support MapIterationFailureCount when a mock is not specified.")
	case c.MapItemReaderData != nil:
		return validation("the embedded engine's TestState takes no mapItemReaderData: the engine has no ItemReader")
	default:
		return nil
	}
}

func (in *Request) checkState(state *asl.State) error {
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

func (in *Request) checkMock(state *asl.State) error {
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
func (in *Request) checkResult(state *asl.State) error {
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

func validation(format string, args ...any) error {
	return wire.Errorf("ValidationException", format, args...)
}
