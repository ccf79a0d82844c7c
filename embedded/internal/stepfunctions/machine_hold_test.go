package stepfunctions

import (
	"runtime"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/sfn"
)

// TestAStartThatTakesLongHoldsUpItsMachinesDeletionOnly: an expression may take seconds.
func TestAStartThatTakesLongHoldsUpItsMachinesDeletionOnly(t *testing.T) {
	const definition = `{"StartAt":"P","States":{"P":{"Type":"Pass","End":true}}}`

	b := open(t, t.TempDir())
	slow := b.machine("slow", definition)

	release, held := b.svc.machines.Hold(b.svc.machines.Lookup("slow"))
	if !held {
		t.Fatal("the machine is not held")
	}

	b.start(b.machine("other", definition), "e", "{}")
	b.start(slow, "e", "{}")

	deleted := make(chan error, 1)
	go func() {
		_, err := b.DeleteStateMachine(t.Context(), &sfn.DeleteStateMachineInput{StateMachineArn: &slow})
		deleted <- err
	}()

	for !b.svc.machines.Lookup("slow").Deleting {
		runtime.Gosched()
	}

	for range 200 {
		if _, err := b.StartExecution(t.Context(), &sfn.StartExecutionInput{StateMachineArn: &slow}); code(err) != "StateMachineDeleting" {
			t.Fatalf("a start while the machine is deleted: %v", err)
		}
	}

	select {
	case err := <-deleted:
		t.Fatalf("the machine was deleted while an execution started in it: %v", err)
	default:
	}
	release()

	if err := <-deleted; err != nil || b.svc.machines.Lookup("slow") != nil {
		t.Errorf("the machine is still there, %v", err)
	}
}
