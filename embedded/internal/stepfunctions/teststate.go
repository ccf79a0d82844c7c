package stepfunctions

import (
	"context"
	"encoding/json"
	"maps"
	"time"

	"ratchet/embedded/internal/stepfunctions/asl"
	"ratchet/embedded/internal/stepfunctions/execution"
	"ratchet/embedded/internal/stepfunctions/rawjson"
	"ratchet/embedded/internal/wire"
)

// testedState is the name of a state that TestState runs.
const testedState = "StateName"

type testRequest struct {
	Definition, RoleArn, Input, InspectionLevel, Variables string

	RevealSecrets bool
	Mock          *testMock
	// The engine refuses these.
	StateName, Context string
	StateConfiguration json.RawMessage
}

// testMock is what a task answers instead of its call.
type testMock struct {
	Result      *string
	ErrorOutput *struct{ Error, Cause string }
}

// testState runs one state without storing it.
// Source: https://docs.aws.amazon.com/step-functions/latest/apireference/API_TestState.html
func (s *Service) testState(ctx context.Context, in *testRequest) (any, error) {
	program, err := in.check()
	if err != nil {
		return nil, err
	}

	t := &test{in: in, program: program, inspected: map[string]string{}, texts: map[string]string{}, secret: newSecret()}
	name := s.newName()

	env := &execution.Env{
		Machine:        program,
		Identity:       func() execution.Identity { return s.testIdentity(name, in.RoleArn) },
		Random:         s.random,
		ActivityExists: func(string) bool { return true }, // a mock answers its tasks
		Sequence:       func() uint64 { return 0 },
		NewSecret:      func() [execution.TokenSize]byte { return t.secret },
		Token:          func(int64, [execution.TokenSize]byte) string { return "" },
		Inspect:        t.inspect,
	}
	if in.Variables != "" {
		env.Variables = []byte(in.Variables)
	}

	t.memory = s.newMemory(env, name)
	if err := t.run(ctx); err != nil {
		return nil, err
	}

	return t.answer(), nil
}

func (s *Service) testIdentity(name, role string) execution.Identity {
	const machine = "TestState"

	return execution.Identity{
		ARN:         s.arn("express", machine) + ":" + name,
		RoleARN:     role,
		MachineARN:  s.arn("stateMachine", machine),
		MachineName: machine,
		NoRedrives:  true,
	}
}

// check compiles the state and fails for requests that the service or the engine refuses.
func (in *testRequest) check() (*asl.Machine, error) {
	if in.StateName != "" || in.Context != "" || in.StateConfiguration != nil {
		return nil, validation("the embedded engine's TestState takes no stateName, context and stateConfiguration")
	}

	if err := wire.OneOf(in.InspectionLevel, "inspectionLevel", "INFO", "DEBUG", "TRACE"); err != nil {
		return nil, err
	}

	program, found := asl.ParseState(testedState, []byte(in.Definition))
	if program == nil {
		return nil, wire.Errorf("InvalidDefinition", "%v", found.Err())
	}

	if in.Input == "" {
		in.Input = "{}"
	}

	if err := rawjson.Valid([]byte(in.Input)); err != nil {
		return nil, wire.Errorf("InvalidExecutionInput", "Invalid State Machine Execution Input: '%s'", inputFault([]byte(in.Input)))
	}

	if in.Variables != "" && (rawjson.Valid([]byte(in.Variables)) != nil || rawjson.KindOf([]byte(in.Variables)) != rawjson.Object) {
		return nil, validation("variables must be a JSON object")
	}

	if err := in.checkState(program.Flow.Start); err != nil {
		return nil, err
	}

	return program, in.checkMock(program.Flow.Start)
}

func (in *testRequest) checkState(state *asl.State) error {
	switch {
	case state.Kind == asl.Map || state.Kind == asl.Parallel:
		return wire.Errorf("InvalidDefinition", "TestState API does not support Map or Parallel states. "+
			"Supported state types include: [Task, Wait, Pass, Succeed, Fail, Choice]")
	case state.Kind != asl.Task || in.Mock != nil:
		return nil
	case in.RoleArn == "":
		return validation("RoleArn must be specified when testing a Task state")
	case state.Integration == nil:
		return wire.Errorf("InvalidDefinition", "TestState API does not support activities.")
	case state.Integration.Callback:
		return wire.Errorf("InvalidDefinition", "TestState API does not support the service integration pattern .waitForTaskToken.")
	default:
		return nil
	}
}

func (in *testRequest) checkMock(state *asl.State) error {
	mock := in.Mock
	switch {
	case mock == nil:
		return nil
	case state.Kind != asl.Task:
		return validation("State type '%s' is not supported when a mock is specified", state.Kind)
	case in.RevealSecrets:
		return validation("TestState does not support RevealSecrets when a mock is specified.")
	case mock.Result != nil && mock.ErrorOutput != nil:
		return validation("A test mock should have only one of the following fields: [result, errorOutput].")
	case mock.Result == nil && mock.ErrorOutput == nil:
		return validation("A test mock must have one of the following fields: [result, errorOutput].")
	case mock.Result != nil && rawjson.Valid([]byte(*mock.Result)) != nil:
		return validation("Mocked result must be JSON.")
	}

	return nil
}

// test is one call of TestState.
type test struct {
	in        *testRequest
	program   *asl.Machine
	memory    *memory
	inspected map[string]string
	texts     map[string]string // "error" and "cause" of a failure
	secret    [execution.TokenSize]byte

	left     bool // the state has ended
	output   []byte
	next     string
	assigned []byte
}

// inspect keeps what the state's fields made of their data. Those of the states after it do
// not count.
func (t *test) inspect(field string, value []byte) {
	if t.left {
		return
	}

	switch field {
	case "error", "cause":
		t.texts[field] = string(value)
	case "input":
		if _, again := t.inspected[field]; again { // of the state after it
			t.left = true
			return
		}

		fallthrough
	default:
		t.inspected[field] = string(value)
	}
}

// run runs the state to its end, or to the first retry. It waits for no timer: the clock of
// a Wait and of a limit is moved on.
func (t *test) run(ctx context.Context) error {
	now := t.memory.s.cfg.Clock.Now()
	input := []byte(t.in.Input)
	m := t.memory

	turn, err := m.apply(now, func(e *execution.Env, st *execution.State) (*execution.Turn, error) { return e.Start(st, input) })
	for err == nil && !t.follow(turn) && m.state.Status == execution.Running && !m.state.Backoff() {
		if len(m.calls) > 0 {
			task := m.calls[0]
			m.calls = m.calls[1:]
			turn, err = t.call(ctx, now, task)

			continue
		}

		now = time.UnixMilli(m.state.NextTimer())
		turn, err = m.apply(now, func(e *execution.Env, st *execution.State) (*execution.Turn, error) { return e.Tick(st) })
	}

	return err
}

// call makes the call of a task and applies its answer, or that of the mock.
func (t *test) call(ctx context.Context, now time.Time, task execution.Task) (*execution.Turn, error) {
	m := t.memory
	if t.in.Mock != nil {
		return m.apply(now, func(e *execution.Env, st *execution.State) (*execution.Turn, error) { return t.mock(e, st, task) })
	}

	call, err := m.env.Call(m.state, task.Thread, task.Attempt)
	if err != nil {
		return nil, err
	}

	output, refused := m.s.callService(ctx, call, "")
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}

	return m.apply(now, func(e *execution.Env, st *execution.State) (*execution.Turn, error) {
		return e.Called(st, task.Thread, task.Attempt, output, refused)
	})
}

// mock answers a task with the mock: a call in the place of its service, any other task in
// that of its worker.
func (t *test) mock(e *execution.Env, st *execution.State, task execution.Task) (*execution.Turn, error) {
	var output []byte
	var refused *execution.CallFailure
	if mock := t.in.Mock; mock.ErrorOutput != nil {
		refused = &execution.CallFailure{Name: mock.ErrorOutput.Error, Cause: mock.ErrorOutput.Cause}
	} else {
		output = rawjson.AppendCompact(nil, []byte(*mock.Result))
	}

	call := t.program.Flow.Start.Integration
	if call != nil && !call.Callback {
		return e.Called(st, task.Thread, task.Attempt, output, refused)
	}

	if call == nil {
		if _, turn, err := e.StartTask(st, task.Thread, task.Attempt, "", t.secret); err != nil {
			return turn, err
		}
	}

	if refused != nil {
		return e.Fail(st, task.Thread, t.secret, refused.Name, refused.Cause)
	}

	return e.Succeed(st, task.Thread, t.secret, output)
}

// follow looks for the end of the state in a turn and reports whether it has ended.
func (t *test) follow(turn *execution.Turn) bool {
	for i := range turn.Events {
		e := &turn.Events[i]
		switch {
		case t.output == nil && e.Type == execution.StateExited && e.State == 0:
			t.output, t.assigned, t.left = e.Doc.JSON, e.Assigned, true
		case t.output != nil && e.Type == execution.StateEntered:
			t.next = t.program.States[e.State].Name
			return true
		}
	}

	return t.output != nil
}

// answer returns the answer of TestState.
func (t *test) answer() map[string]any {
	answer := map[string]any{"status": t.status()}
	for field, text := range t.texts {
		if text != "" {
			answer[field] = text
		}
	}

	if t.output != nil {
		answer["output"] = string(t.output)
	}

	if t.next != "" {
		answer["nextState"] = t.next
	}

	if level := t.in.InspectionLevel; level == "DEBUG" || level == "TRACE" {
		answer["inspectionData"] = t.inspection()
	}

	return answer
}

func (t *test) status() string {
	_, failed := t.texts["error"]
	switch {
	case !failed:
		return "SUCCEEDED"
	case t.output != nil:
		return "CAUGHT_ERROR"
	case t.memory.state.Backoff():
		return "RETRIABLE"
	default:
		return "FAILED"
	}
}

// inspection returns the inspection data: what the state's fields made of its data, and the
// variables after it.
func (t *test) inspection() map[string]string {
	data := maps.Clone(t.inspected)

	// The service leaves out what a literal Result makes pointless.
	if t.program.Flow.Start.Result != nil {
		delete(data, "afterInputPath")
		delete(data, "afterParameters")
	}

	variables := []byte("{}")
	if t.in.Variables != "" {
		variables = []byte(t.in.Variables)
	}

	if t.assigned != nil {
		variables = rawjson.Merge(variables, t.assigned)
	}

	if rawjson.Len(variables) > 0 {
		data["variables"] = string(variables)
	}

	return data
}
