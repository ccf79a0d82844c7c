package execution

import (
	"errors"
	"strings"
	"testing"
	"time"
)

const callbackMachine = `{"StartAt":"A","States":{"A":{"Type":"Task",
	"Resource":"arn:aws:states:::aws-sdk:dynamodb:updateItem.waitForTaskToken",
	"Parameters":{"token.$":"$$.Task.Token"},"End":true}}}`

// TestATokenMayBeAnsweredBeforeTheCallThatCarriedIt covers the reader of the item who is
// faster than the answer of the call that wrote it.
func TestATokenMayBeAnsweredBeforeTheCallThatCarriedIt(t *testing.T) {
	x := newMemoryExecution(t, callbackMachine)
	if err := x.start(`{}`); err != nil {
		t.Fatal(err)
	}

	if len(x.queue) != 1 || x.queue[0].Resource != CallQueue {
		t.Fatalf("queue %+v", x.queue)
	}
	task := x.queue[0]

	call, err := x.env().Call(x.state(), task.Thread, task.Attempt)
	if err != nil || string(call.Parameters) != `{"token":"token-1"}` || call.Operation != "UpdateItem" {
		t.Fatalf("call %+v with %s, %v", call.Integration, call.Parameters, err)
	}

	if err := x.step(func(e *Env, s *State) (*Turn, error) {
		return e.Succeed(s, task.Thread, [TokenSize]byte{2}, []byte(`0`))
	}); !errors.Is(err, ErrTaskTimedOut) {
		t.Errorf("another token: %v", err)
	}

	if err := x.step(func(e *Env, s *State) (*Turn, error) {
		return e.Succeed(s, task.Thread, [TokenSize]byte{1}, []byte(`1`))
	}); err != nil {
		t.Fatal(err)
	}

	if err := x.step(func(e *Env, s *State) (*Turn, error) {
		return e.Called(s, task.Thread, task.Attempt, []byte(`{}`), nil)
	}); !errors.Is(err, ErrNotScheduled) {
		t.Errorf("the late answer of the call: %v", err)
	}

	if s := x.state(); s.Status != Succeeded || len(x.queue) != 0 {
		t.Errorf("status %v, queue %+v", s.Status, x.queue)
	}
}

// TestACallWithoutCallbackHasNoToken keeps a guessed token from ending a task that waits
// for the answer of its call only.
func TestACallWithoutCallbackHasNoToken(t *testing.T) {
	x := newMemoryExecution(t, `{"StartAt":"A","States":{"A":{"Type":"Task","Resource":"arn:aws:states:::dynamodb:getItem","End":true}}}`)
	if err := x.start(`{}`); err != nil {
		t.Fatal(err)
	}
	task := x.queue[0]

	if err := x.step(func(e *Env, s *State) (*Turn, error) {
		return e.Succeed(s, task.Thread, [TokenSize]byte{1}, []byte(`1`))
	}); !errors.Is(err, ErrTaskTimedOut) {
		t.Errorf("got %v", err)
	}

	if err := x.step(func(e *Env, s *State) (*Turn, error) {
		return e.Called(s, task.Thread, task.Attempt, []byte(`{}`), nil)
	}); err != nil || x.state().Status != Succeeded {
		t.Errorf("answered: %v, status %v", err, x.state().Status)
	}
}

// What a worker leaves out of a failure is null for Catch.
// Source: https://github.com/localstack/localstack
// tests/aws/services/stepfunctions/v2/callback/test_callback.py,
// test_sqs_failure_in_wait_for_task_tok_no_error_field.
func TestAFailureWithoutWords(t *testing.T) {
	for _, row := range []struct{ name, cause, want string }{
		{"", "", `{"Error":null,"Cause":null}`},
		{"Broken", "", `{"Error":"Broken","Cause":null}`},
		{"Broken", "why", `{"Error":"Broken","Cause":"why"}`},
	} {
		x := newMemoryExecution(t, `{"StartAt":"A","States":{"A":{"Type":"Task","Resource":"arn:aws:states:::sqs:sendMessage.waitForTaskToken",`+
			`"Catch":[{"ErrorEquals":["States.ALL"],"Next":"C"}],"End":true},"C":{"Type":"Pass","End":true}}}`)
		if err := x.start(`{}`); err != nil {
			t.Fatal(err)
		}

		id := x.queue[0].Thread
		if err := x.step(func(e *Env, s *State) (*Turn, error) { return e.Fail(s, id, [TokenSize]byte{1}, row.name, row.cause) }); err != nil {
			t.Fatal(err)
		}

		if got := x.outcome(t); got != row.want {
			t.Errorf("%q: %s", row.name, got)
		}
	}
}

// The heartbeats of a task that waits for its token count from the answer of the call that carried it.
func TestHeartbeatsOfACallback(t *testing.T) {
	x := newMemoryExecution(t, strings.Replace(callbackMachine, `"End"`, `"HeartbeatSeconds":10,"End"`, 1))
	if err := x.start(`{}`); err != nil {
		t.Fatal(err)
	}
	task := x.queue[0]

	for n, apply := range []func(e *Env, s *State) (*Turn, error){
		func(e *Env, s *State) (*Turn, error) {
			return e.Called(s, task.Thread, task.Attempt, []byte(`{}`), nil)
		},
		func(e *Env, s *State) (*Turn, error) { return e.Heartbeat(s, task.Thread, [TokenSize]byte{1}) },
		func(e *Env, s *State) (*Turn, error) { return e.Heartbeat(s, task.Thread, [TokenSize]byte{1}) },
	} {
		wait := 9 * time.Second
		if n == 0 {
			wait = 20 * time.Second
		}

		if err := errors.Join(x.sleep(wait), x.step(apply)); err != nil || x.state().Status != Running {
			t.Fatalf("step %d: %v, %v", n, x.state().Status, err)
		}
	}

	if err := x.sleep(10 * time.Second); err != nil || x.state().Status != Failed || x.state().Error != timeoutError {
		t.Errorf("without a heartbeat: %v %s, %v", x.state().Status, x.state().Error, err)
	}
}
