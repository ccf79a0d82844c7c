package stepfunctions

import (
	"encoding/binary"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/sfn"

	"ratchet/embedded/internal/stepfunctions/execution"
	"ratchet/embedded/internal/stepfunctions/keys"
	"ratchet/embedded/internal/stepfunctions/requests"
)

// reopens opens another service over the store, which fails if an execution runs without its machine.
func (b *bench) reopens() {
	b.t.Helper()

	if _, err := New(b.db, Config{Region: "us-east-1", AccountID: "000000000000", Log: slog.New(slog.DiscardHandler)}); err != nil {
		b.t.Errorf("after the deletion: %v", err)
	}
}

// An execution of a machine that is being deleted cannot be redriven: it would run without the machine,
// and the engine could not be opened any more.
func TestRedriveWhileTheMachineIsDeleted(t *testing.T) {
	bubble(t, testRedriveWhileTheMachineIsDeleted)
}

func testRedriveWhileTheMachineIsDeleted(t *testing.T, b *bench) {
	activity := b.activity("w")
	machine := b.machine("m", `{"StartAt":"W","States":{"W":{"Type":"Task","Resource":"`+activity+`","HeartbeatSeconds":10,"End":true,
		"Retry":[{"ErrorEquals":["States.ALL"],"IntervalSeconds":1000}]}}}`)
	execution := b.start(machine, "e", `{}`)
	b.stopExecution(execution)

	// The deletion has aborted what ran, and has not removed it yet.
	marked, err := b.svc.machines.Mark(machine)
	if err != nil {
		t.Fatal(err)
	}

	_, redriveErr := b.RedriveExecution(t.Context(), &sfn.RedriveExecutionInput{ExecutionArn: &execution})

	if redriveErr == nil {
		b.poll(activity)
	}

	if done, err := b.svc.removeEnded(marked, nil); !done || err != nil {
		t.Fatal(done, err)
	}

	time.Sleep(time.Minute) // a task without a heartbeat is retried
	synctest.Wait()
	b.reopens()

	if code(redriveErr) != "ExecutionNotRedrivable" {
		t.Error(redriveErr)
	}
}

// A child that a Map Run redrives while its machine is deleted does not come back after it.
func TestChildIsRedrivenWhileTheMachineIsDeleted(t *testing.T) {
	bubble(t, testChildIsRedrivenWhileTheMachineIsDeleted)
}

func testChildIsRedrivenWhileTheMachineIsDeleted(t *testing.T, b *bench) {
	machine := b.machine("m", mapOf("STANDARD", "", "W", longWait))
	parent := b.start(machine, "e", `[1]`)
	synctest.Wait()

	arn := *b.children(b.mapRuns(parent)[0].MapRunArn, "")[0].ExecutionArn

	child, _, err := b.svc.executionNamed(arn)
	if err != nil {
		t.Fatal(err)
	}
	b.stopExecution(parent)

	// The deletion comes between the reading of the child and the writing.
	_, err = b.svc.stimulate(t.Context(), child, func(env *execution.Env, st *execution.State) (*execution.Turn, error) {
		turn, err := env.Redrive(st)

		if _, err := b.DeleteStateMachine(t.Context(), &sfn.DeleteStateMachineInput{StateMachineArn: &machine}); err != nil {
			t.Error(err)
		}

		return turn, err
	})
	b.reopens()

	if !errors.Is(err, requests.ErrNoExecution) {
		t.Error(err)
	}
}

// An execution that is deleted with its machine after its name was looked up does not exist for the
// caller, and holds up no Map Run.
func TestExecutionIsDeletedSinceItWasFound(t *testing.T) {
	bubble(t, testExecutionIsDeletedSinceItWasFound)
}

func testExecutionIsDeletedSinceItWasFound(t *testing.T, b *bench) {
	machine := b.machine("m", mapOf("STANDARD", "", "W", longWait))
	parent := b.start(machine, "e", `[1]`)
	synctest.Wait()

	run, r, err := b.svc.runs.Named(*b.mapRuns(parent)[0].MapRunArn)
	if err != nil {
		t.Fatal(err)
	}

	gone := []keys.Execution{{Machine: run.ID, ID: 1 << 40}}
	if err := errors.Join(b.svc.stopEach(t.Context(), gone), b.svc.redriveEach(t.Context(), run, r, gone)); err != nil {
		t.Error(err)
	}

	batch := b.db.NewBatch()
	batch.Set(keys.ExecutionName(run.Machine, "gone"), binary.BigEndian.AppendUint64(nil, 1<<40))

	if err := batch.Commit(); err != nil {
		t.Fatal(err)
	}

	arn := strings.TrimSuffix(parent, ":e") + ":gone"

	_, stopErr := b.StopExecution(t.Context(), &sfn.StopExecutionInput{ExecutionArn: &arn})
	_, redriveErr := b.RedriveExecution(t.Context(), &sfn.RedriveExecutionInput{ExecutionArn: &arn})
	_, describeErr := b.DescribeExecution(t.Context(), &sfn.DescribeExecutionInput{ExecutionArn: &arn})

	for _, err := range []error{stopErr, redriveErr, describeErr} {
		if code(err) != "ExecutionDoesNotExist" {
			t.Error(err)
		}
	}
}
