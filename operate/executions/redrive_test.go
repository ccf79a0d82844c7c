package executions_test

import (
	"context"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sfn"
	"github.com/aws/aws-sdk-go-v2/service/sfn/types"

	"ratchet/operate/executions"
)

// recordingSFN remembers the client tokens of redrives.
type recordingSFN struct {
	*sfn.Client

	mu     sync.Mutex
	tokens []string
}

func (r *recordingSFN) RedriveExecution(ctx context.Context, in *sfn.RedriveExecutionInput, options ...func(*sfn.Options)) (*sfn.RedriveExecutionOutput, error) {
	r.mu.Lock()
	r.tokens = append(r.tokens, aws.ToString(in.ClientToken))
	r.mu.Unlock()

	return r.Client.RedriveExecution(ctx, in, options...)
}

// TestEachRedriveHasItsOwnClientToken: with the token of an earlier redrive, Step Functions would
// take the call for a repeat and run nothing.
func TestEachRedriveHasItsOwnClientToken(t *testing.T) {
	e := newOrderExecutions(t)
	e.place("o-1")

	client := &recordingSFN{Client: e.sfn}

	redriver, err := executions.New(executions.Config{
		SFN:     client,
		Orders:  e.orders,
		Machine: func(context.Context) (string, error) { return e.machine, nil },
	})
	if err != nil {
		t.Fatal(err)
	}

	for range 3 {
		e.ended("o-1")

		if _, err := redriver.Redrive(t.Context(), "o-1"); err != nil {
			t.Fatal(err)
		}
	}
	e.ended("o-1")

	client.mu.Lock()
	defer client.mu.Unlock()

	if slices.Sort(client.tokens); len(slices.Compact(client.tokens)) != 3 || slices.Contains(client.tokens, "") {
		t.Errorf("tokens %q", client.tokens)
	}
}

// TestAnExecutionThatWasStoppedHasFailed: ABORTED and TIMED_OUT are ends without success, too.
func TestAnExecutionThatWasStoppedHasFailed(t *testing.T) {
	e := newOrderExecutions(t)
	e.place("wait-1")

	arn, err := e.ARN(t.Context(), "wait-1")
	if err != nil {
		t.Fatal(err)
	}

	if _, err := e.sfn.StopExecution(t.Context(), &sfn.StopExecutionInput{ExecutionArn: &arn}); err != nil {
		t.Fatal(err)
	}
	e.ended("wait-1")

	lines, _ := e.survey(time.Now(), executions.Filter{})
	equal(t, "the survey", lines, []string{"wait-1 failed"})

	action, _, err := e.Repair(t.Context(), "wait-1", false)
	equal(t, "the repair", []any{action, err}, []any{executions.Redriven, nil})

	for status, want := range map[types.ExecutionStatus]bool{
		types.ExecutionStatusFailed: true, types.ExecutionStatusTimedOut: true, types.ExecutionStatusAborted: true,
		types.ExecutionStatusRunning: false, types.ExecutionStatusSucceeded: false,
	} {
		if got := (executions.Execution{Status: status}).Failed(); got != want {
			t.Errorf("%s: failed %t", status, got)
		}
	}
}
