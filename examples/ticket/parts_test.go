package main

import (
	"context"
	"strings"
	"testing"

	sfntypes "github.com/aws/aws-sdk-go-v2/service/sfn/types"

	"ratchet/server"
	"ratchet/server/ratchettest"
	"ratchet/transitions"
)

// start starts the workflow on an engine of the test, and returns the messages to customers.
func start(t *testing.T) (*ratchettest.Env, <-chan string) {
	t.Helper()

	told := make(chan string, 10)

	parts, err := newParts(func(_ context.Context, key, _ string) error {
		told <- key
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}

	return ratchettest.Start(t, ratchettest.Config{Server: server.Config{Parts: parts}}), told
}

func TestAResolvedOneIsClosedAndTheCustomerIsToldOnce(t *testing.T) {
	env, told := start(t)

	env.Execute(transitions.NewOrder{ID: "ticket-1", Metadata: transitions.Metadata{"topic": "invoice"}})
	env.WantOrder("ticket-1", "ASSIGNED", 2)
	env.Move("ticket-1", "resolve")

	env.WantOrder("ticket-1", "CLOSED", 4)
	env.WantExecution("ticket-1", sfntypes.ExecutionStatusSucceeded)
	env.WantJournal("ticket-1", "OPEN", "ASSIGNED", "RESOLVED", "CLOSED")

	// The key has the incarnation of the order between its id and the transition.
	if key := <-told; !strings.HasPrefix(key, "ticket-1/") || !strings.HasSuffix(key, "/4/answer") || len(told) > 0 {
		t.Errorf("the customer was told under %q, and %d times more", key, len(told))
	}
}

func TestAWithdrawnOneEndsItsExecution(t *testing.T) {
	env, told := start(t)

	env.Execute(transitions.NewOrder{ID: "ticket-1"})
	env.WantOrder("ticket-1", "ASSIGNED", 2)
	env.Move("ticket-1", "withdraw")

	env.WantExecution("ticket-1", sfntypes.ExecutionStatusSucceeded)
	env.WantJournal("ticket-1", "OPEN", "ASSIGNED", "WITHDRAWN")

	if len(told) > 0 {
		t.Errorf("the customer was told under %q", <-told)
	}
}

// TestDefinitionStateMachineAndStepsFit makes the check that every command makes before it begins.
func TestDefinitionStateMachineAndStepsFit(t *testing.T) {
	parts, err := newParts(nil)
	if err != nil {
		t.Fatal(err)
	}

	if _, err := (server.Config{Parts: parts}).CheckWorkflow(); err != nil {
		t.Error(err)
	}
}
