package teststate

import (
	"ratchet/embedded/internal/stepfunctions/execution"
	"ratchet/embedded/internal/stepfunctions/rawjson"
)

// Request is a request of TestState.
type Request struct {
	Definition, RoleArn, Input, InspectionLevel, Variables string

	RevealSecrets      bool
	Mock               *Mock
	StateName, Context string
	StateConfiguration *Configuration
}

// Mock is the answer of a task, a Map or a Parallel that does not do its work.
type Mock struct {
	Result              *string
	ErrorOutput         *struct{ Error, Cause string }
	FieldValidationMode string
}

// Configuration describes the attempts and iterations before the mock's answer.
type Configuration struct {
	RetrierRetryCount        int64
	ErrorCausedByState       string // changes nothing: the error is the Map's or the Parallel's own
	MapIterationFailureCount *int64
	MapItemReaderData        *string
}

// Retries returns how often the state was tried before.
func (c *Configuration) Retries() int64 {
	if c == nil {
		return 0
	}

	return c.RetrierRetryCount
}

// Failures returns how many iterations of a Map failed before.
func (c *Configuration) Failures() int64 {
	if c == nil || c.MapIterationFailureCount == nil {
		return 0
	}

	return *c.MapIterationFailureCount
}

// ExecutionMock returns the mock of a Map or Parallel, nil without a mock.
func (in *Request) ExecutionMock() *execution.Mock {
	if in.Mock == nil {
		return nil
	}

	output, failed := in.Mock.Answer()
	// The spaces of a result stay: LocalStack's test_base_parallel_state_mock_success.
	if failed == nil {
		output = []byte(*in.Mock.Result)
	}

	return &execution.Mock{Result: output, Failed: failed, Failures: in.StateConfiguration.Failures()}
}

// Answer returns the mock's result or its error.
func (m *Mock) Answer() ([]byte, *execution.CallFailure) {
	if m.ErrorOutput != nil {
		return nil, &execution.CallFailure{Name: m.ErrorOutput.Error, Cause: m.ErrorOutput.Cause}
	}

	return rawjson.AppendCompact(nil, []byte(*m.Result)), nil
}
