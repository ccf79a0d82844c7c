package stepfunctions

import (
	"context"
	"encoding/json"
	"time"

	"ratchet/embedded/internal/stepfunctions/asl"
	"ratchet/embedded/internal/stepfunctions/execution"
	"ratchet/embedded/internal/stepfunctions/rawjson"
)

// testedState is the name of a state that TestState runs, whatever its definition calls it.
// Source: LocalStack's recordings of AWS (test_state_with_variables).
const testedState = "StateName"

// testState runs one state without storing it.
// Source: https://docs.aws.amazon.com/step-functions/latest/apireference/API_TestState.html
func (s *Service) testState(ctx context.Context, in *testRequest) (any, error) {
	program, err := in.check()
	if err != nil {
		return nil, err
	}

	t := &test{
		in: in, program: program, secret: newSecret(),
		inspected: map[string]string{}, texts: map[string]string{},
		numbers: map[string]json.RawMessage{}, details: map[string]json.RawMessage{},
	}
	name, machine := s.newName(), s.newName()

	env := &execution.Env{
		Machine:        program,
		Identity:       func() execution.Identity { return s.testIdentity(name, machine, in.RoleArn) },
		Random:         s.random,
		ActivityExists: func(string) bool { return true }, // a mock answers its tasks
		Sequence:       func() uint64 { return 0 },
		NewSecret:      func() [execution.TokenSize]byte { return t.secret },
		Token:          func(int64, [execution.TokenSize]byte) string { return "" },
		Inspect:        t.inspect,
		Retries:        in.StateConfiguration.retries(),
		Mock:           in.executionMock(),
		Life:           ctx,
	}
	if in.Context != "" {
		env.Context = []byte(in.Context)
	}

	if in.Variables != "" {
		env.Variables = []byte(in.Variables)
	}

	t.memory = s.newMemory(env, name)
	if err := t.run(ctx); err != nil {
		return nil, err
	}

	// The number of iterations is known only after the run.
	if t.iterations != nil && in.StateConfiguration.failures() > *t.iterations {
		return nil, validation("Map iteration failure count must be less than or equal to the number of Map iterations")
	}

	return t.answer(), nil
}

// testIdentity is the identity of an execution whose machine has a random name, another one for each test.
// Source: LocalStack's recordings of AWS (test_state_task_catch_error).
func (s *Service) testIdentity(name, machine, role string) execution.Identity {
	return execution.Identity{
		ARN:         s.arn("express", machine) + ":" + name,
		RoleARN:     role,
		MachineARN:  s.arn("stateMachine", machine),
		MachineName: machine,
		NoRedrives:  true,
	}
}

// test is one call of TestState.
type test struct {
	in        *testRequest
	program   *asl.Machine
	memory    *memory
	inspected map[string]string
	texts     map[string]string // "error" and "cause" of a failure
	secret    [execution.TokenSize]byte

	numbers, details map[string]json.RawMessage // the inspection data's numbers, and its errorDetails
	iterations       *int64                     // the number of a Map's iterations; nil until its items are known

	left     bool // the state has ended
	output   []byte
	next     string
	assigned []byte
}

// inspect keeps the values of the state's fields. Values of the states after it do not count.
func (t *test) inspect(field string, value []byte) {
	if t.left {
		return
	}

	switch field {
	case "error", "cause":
		t.texts[field] = string(value)
	case "maxConcurrency", "toleratedFailureCount", "toleratedFailurePercentage":
		t.numbers[field] = value
	case "catchIndex", "retryIndex", "retryBackoffIntervalSeconds":
		t.details[field] = value
	case "iterations":
		n, _ := rawjson.Int(value)
		t.iterations = &n
	case "input":
		// A second input is the next state's: the state under test has ended.
		if _, again := t.inspected[field]; again {
			t.left = true
			return
		}

		fallthrough
	default:
		t.inspected[field] = string(value)
	}
}

// run runs the state to its end, or to the first retry. It waits for no timer: it moves the clock on to
// the end of a Wait or of a time limit.
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

		// No call is left, so only a timer can continue the state: the clock jumps to it.
		now = time.UnixMilli(m.state.NextTimer())
		turn, err = m.apply(now, func(e *execution.Env, st *execution.State) (*execution.Turn, error) { return e.Tick(st) })
	}

	return err
}

// call makes the call of a task and applies the answer. With a mock, it applies the mock instead.
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

// mock answers a task with the mock. For a call the mock takes the place of the service, for any other
// task the place of its worker.
func (t *test) mock(e *execution.Env, st *execution.State, task execution.Task) (*execution.Turn, error) {
	output, refused := t.in.Mock.answer()

	call := t.program.Flow.Start.Integration
	switch {
	// The mock describes the end of the execution that the call would start.
	case call != nil && call.Sync && refused == nil:
		return e.Succeed(st, task.Thread, t.secret, output)
	case call != nil && !call.Callback:
		return e.Called(st, task.Thread, task.Attempt, output, refused)
	}

	// An activity's task must be started before it can be answered.
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
		// State 0 is the state under test. Other states are followed only to learn which
		// state is next.
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

// inspection returns the inspection data: the values of the state's
// fields, and the variables after the state.
func (t *test) inspection() map[string]any {
	data := map[string]any{}
	for field, text := range t.inspected {
		data[field] = text
	}

	for field, number := range t.numbers {
		data[field] = number
	}

	if len(t.details) > 0 {
		data["errorDetails"] = t.details
	}

	// The service leaves out the fields that a literal Result makes pointless.
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
