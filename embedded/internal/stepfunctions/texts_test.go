package stepfunctions

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sfn"
	"github.com/aws/aws-sdk-go-v2/service/sfn/types"
	"github.com/aws/smithy-go"
)

// TestRefusalsHaveTheWordsOfTheService compares the texts with those recorded on AWS.
func TestRefusalsHaveTheWordsOfTheService(t *testing.T) {
	b := open(t, t.TempDir())
	machine := b.machine("m", `{"StartAt":"A","States":{"A":{"Type":"Succeed"}}}`)
	long := strings.Repeat("x", 4000)

	for _, row := range []struct {
		is   string
		call func() error
		want string
	}{
		{"a page that is too large", func() error {
			_, err := b.ListActivities(t.Context(), &sfn.ListActivitiesInput{MaxResults: 1001})
			return err
		}, "ValidationException: 1 validation error detected: Value '1001' at 'maxResults' failed to satisfy constraint: Member must have value less than or equal to 1000"},
		{"a token that is too long", func() error {
			_, err := b.ListActivities(t.Context(), &sfn.ListActivitiesInput{NextToken: &long})
			return err
		}, "ValidationException: 1 validation error detected: Value at 'nextToken' failed to satisfy constraint: Member must have length less than or equal to 1024"},
		{"a token of executions that is too long", func() error {
			_, err := b.ListExecutions(t.Context(), &sfn.ListExecutionsInput{StateMachineArn: &machine, NextToken: &long})
			return err
		}, "Member must have length less than or equal to 3096"},
		{"an unknown status", func() error {
			_, err := b.ListExecutions(t.Context(), &sfn.ListExecutionsInput{StateMachineArn: &machine, StatusFilter: types.ExecutionStatus("DONE")})
			return err
		}, "Value 'DONE' at 'statusFilter' failed to satisfy constraint: Member must satisfy enum value set: [SUCCEEDED, TIMED_OUT, PENDING_REDRIVE, ABORTED, FAILED, RUNNING]"},
		{"an input that is a word", func() error {
			_, err := b.StartExecution(t.Context(), &sfn.StartExecutionInput{StateMachineArn: &machine, Input: aws.String("not some json")})
			return err
		}, "InvalidExecutionInput: Invalid State Machine Execution Input: 'Unrecognized token 'not': was expecting (JSON String, Number, Array, Object or token 'null', 'true' or 'false')'"},
		{"an input with single quotes", func() error {
			_, err := b.StartExecution(t.Context(), &sfn.StartExecutionInput{StateMachineArn: &machine, Input: aws.String("{'not': 'json'")})
			return err
		}, "InvalidExecutionInput: Invalid State Machine Execution Input: 'Unexpected character (''' (code 39)): was expecting double-quote to start field name'"},
		{"an input that ends early", func() error {
			_, err := b.StartExecution(t.Context(), &sfn.StartExecutionInput{StateMachineArn: &machine, Input: aws.String(`{"a":`)})
			return err
		}, "InvalidExecutionInput: Invalid State Machine Execution Input: 'Invalid execution input.'"},
		{"an update of nothing", func() error {
			_, err := b.UpdateStateMachine(t.Context(), &sfn.UpdateStateMachineInput{StateMachineArn: &machine})
			return err
		}, "MissingRequiredParameter: Either the definition, the role ARN, the LoggingConfiguration, or the TracingConfiguration must be specified"},
	} {
		var api smithy.APIError
		if err := row.call(); !errors.As(err, &api) || !strings.Contains(fmt.Sprintf("%s: %s", api.ErrorCode(), api.ErrorMessage()), row.want) {
			t.Errorf("%s: %v, want %s", row.is, err, row.want)
		}
	}
}

func TestAMachineHasARevisionIDFromItsFirstUpdateOn(t *testing.T) {
	b := open(t, t.TempDir())
	machine := b.machine("m", `{"StartAt":"A","States":{"A":{"Type":"Succeed"}}}`)
	revision := func() string {
		t.Helper()

		d, err := b.DescribeStateMachine(t.Context(), &sfn.DescribeStateMachineInput{StateMachineArn: &machine})
		if err != nil {
			t.Fatal(err)
		}

		return aws.ToString(d.RevisionId)
	}

	if id := revision(); id != "" {
		t.Errorf("before: %q", id)
	}

	if _, err := b.UpdateStateMachine(t.Context(), &sfn.UpdateStateMachineInput{
		StateMachineArn: &machine, Definition: aws.String(`{"StartAt":"B","States":{"B":{"Type":"Succeed"}}}`),
	}); err != nil {
		t.Fatal(err)
	}

	if id := revision(); id == "" {
		t.Error("after it there is none")
	}
}
