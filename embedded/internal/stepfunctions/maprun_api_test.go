package stepfunctions

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sfn"
	"github.com/aws/aws-sdk-go-v2/service/sfn/types"

	"ratchet/embedded/internal/stepfunctions/keys"
	"ratchet/embedded/internal/stepfunctions/mapruns"
)

// longWait is a state that keeps a child running.
const longWait = `"W":{"Type":"Wait","Seconds":100000,"End":true}`

func (b *bench) stopExecution(execution string) {
	b.t.Helper()

	if _, err := b.StopExecution(b.t.Context(), &sfn.StopExecutionInput{ExecutionArn: &execution}); err != nil {
		b.t.Fatal(err)
	}

	synctest.Wait()
}

// MaxConcurrency bounds the children that run; the end of the parent stops them.
func TestStoppedParent(t *testing.T) { bubble(t, testStoppedParent) }

func testStoppedParent(t *testing.T, b *bench) {
	machine := b.machine("m", mapOf("STANDARD", `"MaxConcurrency":2,`, "W", longWait))
	execution := b.start(machine, "e", `[1,2,3]`)
	synctest.Wait()

	run := b.mapRuns(execution)[0]
	if run.Status != types.MapRunStatusRunning || run.ExecutionCounts.Running != 2 || run.ExecutionCounts.Pending != 1 || run.ExecutionCounts.Total != 3 {
		t.Fatalf("%+v %+v", run, run.ExecutionCounts)
	}

	b.stopExecution(execution)

	run = b.mapRuns(execution)[0]
	if run.Status != types.MapRunStatusAborted || run.ExecutionCounts.Aborted != 2 || run.ExecutionCounts.Pending != 1 || run.StopDate == nil {
		t.Errorf("%+v %+v", run, run.ExecutionCounts)
	}

	aborted := b.children(run.MapRunArn, types.ExecutionStatusAborted)
	if len(aborted) != 2 || len(b.children(run.MapRunArn, types.ExecutionStatusRunning)) != 0 {
		t.Errorf("%d children are aborted", len(aborted))
	}

	// They can be redriven with the parent only.
	if d := b.describe(*aborted[0].ExecutionArn); d.RedriveStatus != types.ExecutionRedriveStatusRedrivableByMapRun {
		t.Errorf("%+v", d)
	}

	_, err := b.RedriveExecution(t.Context(), &sfn.RedriveExecutionInput{ExecutionArn: aborted[0].ExecutionArn})
	if code(err) != "ExecutionNotRedrivable" {
		t.Error(err)
	}
}

// A child that is stopped alone does not fail the Map.
func TestStoppedChild(t *testing.T) { bubble(t, testStoppedChild) }

func testStoppedChild(t *testing.T, b *bench) {
	machine := b.machine("m", mapOf("STANDARD", "", "Pick", `"Pick":{"Type":"Choice","Choices":[{"Variable":"$","NumericEquals":1,"Next":"W"}],"Default":"G"},
		"W":{"Type":"Wait","Seconds":1000,"End":true},"G":{"Type":"Succeed"}`))
	execution := b.start(machine, "e", `[1,2]`)
	synctest.Wait()

	run := b.mapRuns(execution)[0].MapRunArn
	child := b.children(run, types.ExecutionStatusRunning)[0].ExecutionArn
	b.stopExecution(*child)

	var results []any
	if d := b.describe(execution); json.Unmarshal([]byte(aws.ToString(d.Output)), &results) != nil || len(results) != 2 || results[1] != 2.0 {
		t.Errorf("%s %s", d.Status, aws.ToString(d.Output))
	}

	if got := results[0].(map[string]any); got["Status"] != "ABORTED" || got["ExecutionArn"] != *child {
		t.Error(got)
	}
}

// The timeout of the parent ends its children, too.
func TestTimedOutParent(t *testing.T) { bubble(t, testTimedOutParent) }

func testTimedOutParent(t *testing.T, b *bench) {
	machine := b.machine("m", `{"TimeoutSeconds":60,`+mapOf("STANDARD", "", "W", longWait)[1:])
	execution := b.start(machine, "e", `[1]`)

	if d := b.ended(execution); d.Status != types.ExecutionStatusTimedOut {
		t.Fatal(d.Status)
	}
	synctest.Wait()

	if run := b.mapRuns(execution)[0]; run.Status != types.MapRunStatusAborted || run.ExecutionCounts.Aborted != 1 {
		t.Errorf("%+v %+v", run, run.ExecutionCounts)
	}
}

// A Map Run that has begun to end starts no child, also if that was decided before.
func TestEndingMapRunStartsNothing(t *testing.T) { bubble(t, testEndingMapRunStartsNothing) }

func testEndingMapRunStartsNothing(t *testing.T, b *bench) {
	// An Express child keeps a stopped Map Run open.
	machine := b.machine("m", mapOf("EXPRESS", `"MaxConcurrency":1,`, "W", longWait))
	execution := b.start(machine, "e", `[1,2]`)
	synctest.Wait()

	k, r, err := b.svc.runs.Named(*b.mapRuns(execution)[0].MapRunArn)
	if err != nil {
		t.Fatal(err)
	}

	inputs, _, err := b.svc.nextInputs(t.Context(), r, 1)
	if err != nil || len(inputs) != 1 {
		t.Fatal(inputs, err)
	}

	b.stopExecution(execution)

	if _, err := b.svc.startChild(t.Context(), k, r, 1, inputs[0]); !errors.Is(err, mapruns.ErrEnding) {
		t.Error(err)
	}

	if c := b.mapRuns(execution)[0].ExecutionCounts; c.Total != 2 || c.Running != 1 || c.Pending != 1 {
		t.Errorf("%+v", c)
	}
}

// A retry and a new pass through the Map start another Map Run.
func TestMapRunsOfOneState(t *testing.T) { bubble(t, testMapRunsOfOneState) }

func testMapRunsOfOneState(t *testing.T, b *bench) {
	machine := b.machine("m", mapOf("STANDARD", `"Retry":[{"ErrorEquals":["States.ExceedToleratedFailureThreshold"],"MaxAttempts":2,"IntervalSeconds":1}],`,
		"Pick", faulty))
	execution := b.start(machine, "e", `[false]`)

	if d := b.ended(execution); d.Status != types.ExecutionStatusFailed {
		t.Fatal(d.Status)
	}

	one := int32(1)
	in := &sfn.ListMapRunsInput{ExecutionArn: &execution, MaxResults: one}

	var found []string
	for pages := sfn.NewListMapRunsPaginator(b, in); pages.HasMorePages(); {
		page, err := pages.NextPage(t.Context())
		if err != nil || len(page.MapRuns) != 1 {
			t.Fatal(page, err)
		}

		found = append(found, *page.MapRuns[0].MapRunArn)

		if got := *page.MapRuns[0].StateMachineArn; got != machine+"/each" {
			t.Error(got)
		}
	}

	if len(found) != 3 || found[0] == found[1] {
		t.Error(found)
	}
}

// UpdateMapRun changes the limits of a Map Run that runs.
func TestUpdateMapRun(t *testing.T) { bubble(t, testUpdateMapRun) }

func testUpdateMapRun(t *testing.T, b *bench) {
	activity := b.activity("w")
	machine := b.machine("m", mapOf("STANDARD", `"MaxConcurrency":1,`, "W", `"W":{"Type":"Task","Resource":"`+activity+`","End":true}`))
	execution := b.start(machine, "e", `[1,2,3,4]`)
	synctest.Wait()

	run := b.mapRuns(execution)[0].MapRunArn
	update := func(in *sfn.UpdateMapRunInput) error {
		in.MapRunArn = run

		_, err := b.UpdateMapRun(t.Context(), in)
		synctest.Wait()

		return err
	}

	if err := update(&sfn.UpdateMapRunInput{MaxConcurrency: aws.Int32(0), ToleratedFailureCount: aws.Int64(2)}); err != nil {
		t.Fatal(err)
	}

	if d := b.mapRuns(execution)[0]; d.ExecutionCounts.Running != 4 || d.MaxConcurrency != 0 || d.ToleratedFailureCount != 2 {
		t.Errorf("%+v %+v", d, d.ExecutionCounts)
	}

	for range 2 {
		if _, err := b.SendTaskFailure(t.Context(), &sfn.SendTaskFailureInput{TaskToken: b.poll(activity).TaskToken}); err != nil {
			t.Fatal(err)
		}
	}

	for _, row := range []struct {
		says, reason string
		in           sfn.UpdateMapRunInput
	}{
		{says: "nothing to change", reason: "MISSING_REQUIRED_PARAMETER"},
		{says: "a negative limit", in: sfn.UpdateMapRunInput{MaxConcurrency: aws.Int32(-1)}},
		{says: "a negative tolerance", in: sfn.UpdateMapRunInput{ToleratedFailureCount: aws.Int64(-1)}},
		{says: "more than all", in: sfn.UpdateMapRunInput{ToleratedFailurePercentage: aws.Float32(101)}},
	} {
		var refused *types.ValidationException
		if err := update(&row.in); !errors.As(err, &refused) || string(refused.Reason) != row.reason {
			t.Errorf("%s: %v", row.says, err)
		}
	}

	// Two items have failed, of which one is tolerated from now on.
	if err := update(&sfn.UpdateMapRunInput{ToleratedFailureCount: aws.Int64(1), ToleratedFailurePercentage: aws.Float32(90)}); err != nil {
		t.Fatal(err)
	}

	if d := b.describe(execution); aws.ToString(d.Error) != "States.ExceedToleratedFailureThreshold" {
		t.Error(d.Status)
	}

	var refused *types.ValidationException
	if err := update(&sfn.UpdateMapRunInput{MaxConcurrency: aws.Int32(1)}); !errors.As(err, &refused) ||
		refused.Reason != types.ValidationExceptionReasonCannotUpdateCompletedMapRun {
		t.Error(err)
	}
}

// The operations refuse what does not exist.
func TestMapRunRefusals(t *testing.T) { bubble(t, testMapRunRefusals) }

func testMapRunRefusals(t *testing.T, b *bench) {
	machine := b.machine("m", mapOf("STANDARD", "", "Pick", faulty))
	execution := b.start(machine, "e", `[true]`)
	b.ended(execution)
	run := *b.mapRuns(execution)[0].MapRunArn

	for _, row := range []struct{ arn, want string }{
		{run, "<nil>"},
		{run[:len(run)-1], "ResourceNotFound"},
		{strings.Replace(run, "each", "other", 1), "ResourceNotFound"},
		{strings.Replace(run, ":m/", ":n/", 1), "ResourceNotFound"},
		{strings.Replace(run, "us-east-1", "us-east-2", 1), "ResourceNotFound"},
		{"arn:aws:states:us-east-1:000000000000:mapRun:m/each:" + strings.Repeat("z", 36), "ResourceNotFound"},
		{machine, "InvalidArn"},
		{"run", "InvalidArn"},
	} {
		_, err := b.DescribeMapRun(t.Context(), &sfn.DescribeMapRunInput{MapRunArn: &row.arn})
		_, listErr := b.ListExecutions(t.Context(), &sfn.ListExecutionsInput{MapRunArn: &row.arn})
		_, updateErr := b.UpdateMapRun(t.Context(), &sfn.UpdateMapRunInput{MapRunArn: &row.arn, MaxConcurrency: aws.Int32(1)})

		want := row.want
		if code(err) != want || code(listErr) != want || want != "<nil>" && code(updateErr) != want {
			t.Errorf("%s: %v, %v, %v", row.arn, err, listErr, updateErr)
		}
	}

	_, err := b.ListExecutions(t.Context(), &sfn.ListExecutionsInput{MapRunArn: &run, StateMachineArn: &machine})
	if code(err) != "ValidationException" {
		t.Error(err)
	}

	// A Map in a machine is no machine.
	labeled := machine + "/each"
	_, startErr := b.StartExecution(t.Context(), &sfn.StartExecutionInput{StateMachineArn: &labeled})

	_, describeErr := b.DescribeStateMachine(t.Context(), &sfn.DescribeStateMachineInput{StateMachineArn: &labeled})
	_, deleteErr := b.DeleteStateMachine(t.Context(), &sfn.DeleteStateMachineInput{StateMachineArn: &labeled})

	for _, err := range []error{startErr, describeErr, deleteErr} {
		if code(err) != "ValidationException" {
			t.Error(err)
		}
	}

	var refused *types.ValidationException
	if !errors.As(startErr, &refused) || refused.Reason != types.ValidationExceptionReasonApiDoesNotSupportLabeledArns {
		t.Error(startErr)
	}
}

// Deleting a machine ends and removes its Map Runs and their children.
func TestDeletedMachineWithMapRuns(t *testing.T) { bubble(t, testDeletedMachineWithMapRuns) }

func testDeletedMachineWithMapRuns(t *testing.T, b *bench) {
	machine := b.machine("m", mapOf("STANDARD", "", "Inner", `"Inner":{"Type":"Map","Label":"inner","End":true,"ItemProcessor":{
		"ProcessorConfig":{"Mode":"DISTRIBUTED","ExecutionType":"EXPRESS"},"StartAt":"W","States":{`+longWait+`}}}`))
	b.start(machine, "e", `[[1],[2,3]]`)
	synctest.Wait()

	if _, err := b.DeleteStateMachine(t.Context(), &sfn.DeleteStateMachineInput{StateMachineArn: &machine}); err != nil {
		t.Fatal(err)
	}
	synctest.Wait()

	for _, kind := range []byte{keys.MapRun, keys.RunOf, keys.Running, keys.Ended, keys.Status, keys.History, keys.Name} {
		found := ""
		err := b.db.Scan(keys.Of(kind), keys.Of(kind+1), false, func(k, _ []byte) (bool, error) {
			found += fmt.Sprintf(" %q", k)
			return true, nil
		})
		if err != nil || found != "" {
			t.Errorf("%c: %s %v", kind, found, err)
		}
	}
}
