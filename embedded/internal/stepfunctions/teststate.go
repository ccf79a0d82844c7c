package stepfunctions

import (
	"context"
	"time"

	"ratchet/embedded/internal/stepfunctions/asl"
	"ratchet/embedded/internal/stepfunctions/execution"
	"ratchet/embedded/internal/stepfunctions/teststate"
)

// testState runs one state without storing it.
// Source: https://docs.aws.amazon.com/step-functions/latest/apireference/API_TestState.html
func (s *Service) testState(ctx context.Context, in *teststate.Request) (any, error) {
	program, err := in.Check()
	if err != nil {
		return nil, err
	}

	t := &test{in: in, program: program, result: in.NewResult(program), secret: newSecret()}
	name, machine := s.newName(), s.newName()

	env := &execution.Env{
		Machine:        program,
		Identity:       func() execution.Identity { return s.testIdentity(name, machine, in.RoleArn) },
		Random:         s.random,
		ActivityExists: func(string) bool { return true }, // a mock answers its tasks
		Sequence:       func() uint64 { return 0 },
		NewSecret:      func() [execution.TokenSize]byte { return t.secret },
		Token:          func(int64, [execution.TokenSize]byte) string { return "" },
		Inspect:        t.result.Inspect,
		Retries:        in.StateConfiguration.Retries(),
		Mock:           in.ExecutionMock(),
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

	if err := t.result.CheckIterations(); err != nil {
		return nil, err
	}

	return t.result.Answer(t.memory.state.Backoff()), nil
}

// testIdentity is the identity of an execution whose machine has a random name, another one for each test.
// Source: LocalStack's recordings of AWS (test_state_task_catch_error).
func (s *Service) testIdentity(name, machine, role string) execution.Identity {
	return execution.Identity{
		ARN:         s.account.ARN("express", machine) + ":" + name,
		RoleARN:     role,
		MachineARN:  s.account.ARN("stateMachine", machine),
		MachineName: machine,
		NoRedrives:  true,
	}
}

// test is one call of TestState.
type test struct {
	in      *teststate.Request
	program *asl.Machine
	result  *teststate.Result
	memory  *memory
	secret  [execution.TokenSize]byte
}

// run runs the state to its end, or to the first retry. It waits for no timer: it moves the clock on to
// the end of a Wait or of a time limit.
func (t *test) run(ctx context.Context) error {
	now := t.memory.s.cfg.Clock.Now()
	input := []byte(t.in.Input)
	m := t.memory

	turn, err := m.apply(now, func(e *execution.Env, st *execution.State) (*execution.Turn, error) { return e.Start(st, input) })
	for err == nil && !t.result.Follow(turn) && m.state.Status == execution.Running && !m.state.Backoff() {
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

	output, refused := m.s.calls.Call(ctx, call, "")
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
	output, refused := t.in.Mock.Answer()

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
