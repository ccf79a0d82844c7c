package stepfunctions

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sfn"
	"github.com/aws/aws-sdk-go-v2/service/sfn/types"

	"ratchet/embedded/internal/stepfunctions/lambda"
	"ratchet/embedded/internal/wire"
)

// redrive redrives an execution.
func (b *bench) redrive(execution string) {
	b.t.Helper()

	if _, err := b.RedriveExecution(b.t.Context(), &sfn.RedriveExecutionInput{ExecutionArn: &execution}); err != nil {
		b.t.Fatal(err)
	}

	synctest.Wait()
}

// A redrive continues the Map Run: children that have succeeded stay, the others go on from the
// state that failed, up to MaxConcurrency at a time.
func TestRedrivenMapRun(t *testing.T) { bubble(t, testRedrivenMapRun) }

func testRedrivenMapRun(t *testing.T, b *bench) {
	activity := b.activity("w")
	machine := b.machine("m", mapOf("STANDARD", `"MaxConcurrency":3,"ToleratedFailureCount":1,`, "First",
		`"First":{"Type":"Pass","Next":"Work"},"Work":{"Type":"Task","Resource":"`+activity+`","End":true}`))
	execution := b.start(machine, "e", `[1,2,3,4]`)

	answer := func(fails string) {
		got := b.poll(activity)

		var err error
		if strings.Contains(fails, *got.Input) {
			_, err = b.SendTaskFailure(t.Context(), &sfn.SendTaskFailureInput{TaskToken: got.TaskToken, Error: aws.String("Boom")})
		} else {
			err = b.succeed(got.TaskToken, *got.Input)
		}

		if err != nil {
			t.Fatal(err)
		}

		synctest.Wait()
	}

	for range 3 {
		answer("23")
	}

	if d := b.ended(execution); aws.ToString(d.Error) != "States.ExceedToleratedFailureThreshold" {
		t.Fatal(d.Status, aws.ToString(d.Cause))
	}

	run := b.mapRuns(execution)[0]
	if c := run.ExecutionCounts; run.Status != types.MapRunStatusFailed || c.Succeeded != 1 || c.Failed != 2 || c.Aborted+c.Pending != 1 {
		t.Fatalf("%+v", c)
	}

	// One at a time: the others wait for their redrive.
	if _, err := b.UpdateMapRun(t.Context(), &sfn.UpdateMapRunInput{MapRunArn: run.MapRunArn, MaxConcurrency: aws.Int32(1)}); code(err) != "ValidationException" {
		t.Fatal(err)
	}

	b.redrive(execution)

	run = b.mapRuns(execution)[0]
	if run.Status != types.MapRunStatusRunning || *run.RedriveCount != 1 || run.RedriveDate == nil || run.StopDate != nil {
		t.Errorf("%+v", run)
	}

	for range 3 {
		answer("")
	}

	if d := b.ended(execution); aws.ToString(d.Output) != "[1,2,3,4]" {
		t.Errorf("%s %s", aws.ToString(d.Output), aws.ToString(d.Cause))
	}

	events, text := b.history(execution)
	if !strings.HasSuffix(text, "5<4 MapRunFailed 6<5 MapStateFailed 7<6 ExecutionFailed 8<0 ExecutionRedriven 9<6 MapRunRedriven "+
		"10<9 MapRunSucceeded 11<10 MapStateSucceeded 12<9 MapStateExited 13<12 ExecutionSucceeded") {
		t.Error(text)
	}

	if d := events[8].MapRunRedrivenEventDetails; *d.MapRunArn != *run.MapRunArn || *d.RedriveCount != 1 {
		t.Errorf("%+v", d)
	}

	redriven := 0
	for _, child := range b.children(run.MapRunArn, "") {
		if child.Status != types.ExecutionStatusSucceeded {
			t.Errorf("%+v", child)
		}

		redriven += int(*child.RedriveCount)
	}

	if redriven < 2 || redriven > 3 {
		t.Errorf("%d children were redriven", redriven)
	}

	list, err := b.ListExecutions(t.Context(), &sfn.ListExecutionsInput{MapRunArn: run.MapRunArn, RedriveFilter: types.ExecutionRedriveFilterRedriven})
	if err != nil || len(list.Executions) != redriven {
		t.Errorf("%+v %v", list, err)
	}
}

// Children that wait for their redrive have a status of their own.
func TestPendingRedrive(t *testing.T) { bubble(t, testPendingRedrive) }

func testPendingRedrive(t *testing.T, b *bench) {
	machine := b.machine("m", mapOf("STANDARD", `"ItemsPath":"$.items","MaxConcurrencyPath":"$.most",`, "W", longWait))
	execution := b.start(machine, "e", `{"items":[1,2,3],"most":3}`)
	synctest.Wait()

	run := b.mapRuns(execution)[0].MapRunArn
	if _, err := b.UpdateMapRun(t.Context(), &sfn.UpdateMapRunInput{MapRunArn: run, MaxConcurrency: aws.Int32(1)}); err != nil {
		t.Fatal(err)
	}

	b.stopExecution(execution)
	b.redrive(execution)

	c := b.mapRuns(execution)[0].ExecutionCounts
	if c.Running != 1 || *c.PendingRedrive != 2 || c.Aborted != 0 || c.Total != 3 {
		t.Errorf("%+v", c)
	}

	all, pending := b.children(run, ""), b.children(run, "PENDING_REDRIVE")
	if len(pending) != 2 || *pending[0].ExecutionArn != *all[0].ExecutionArn || pending[0].Status != "PENDING_REDRIVE" || all[1].Status != "PENDING_REDRIVE" {
		t.Errorf("%+v", pending)
	}

	if d := b.describe(*pending[0].ExecutionArn); d.Status != "PENDING_REDRIVE" {
		t.Error(d.Status)
	}

	// The Map Run that ends leaves them as they were.
	b.stopExecution(execution)

	c = b.mapRuns(execution)[0].ExecutionCounts
	if c.Aborted != 3 || *c.PendingRedrive != 0 || len(b.children(run, "PENDING_REDRIVE")) != 0 {
		t.Errorf("%+v", c)
	}

	_, err := b.ListExecutions(t.Context(), &sfn.ListExecutionsInput{StateMachineArn: &machine, StatusFilter: "PENDING_REDRIVE"})
	if code(err) != "ValidationException" {
		t.Error(err)
	}
}

// Express children are not stopped: the Map Run ends after them, and a redrive that comes before
// waits for that. It runs them again from their first state.
func TestExpressChildren(t *testing.T) { bubble(t, testExpressChildren) }

func testExpressChildren(t *testing.T, b *bench) {
	machine := b.machine("m", mapOf("EXPRESS", `"ToleratedFailureCount":1,`, "P", `"P":{"Type":"Pass","Next":"W"},"W":{"Type":"Wait","Seconds":1000,"End":true}`))
	execution := b.start(machine, "e", `[1]`)
	synctest.Wait()

	child := b.children(b.mapRuns(execution)[0].MapRunArn, "")[0].ExecutionArn

	b.stopExecution(execution)

	if run := b.mapRuns(execution)[0]; run.Status != types.MapRunStatusRunning {
		t.Errorf("%+v", run)
	}

	b.redrive(execution)

	if run := b.mapRuns(execution)[0]; run.ExecutionCounts.Running != 1 || *run.RedriveCount != 1 {
		t.Errorf("%+v", run)
	}

	time.Sleep(301 * time.Second) // the limit of an Express execution
	synctest.Wait()

	// It has timed out, and has been started again.
	run := b.mapRuns(execution)[0]
	if d := b.describe(*child); run.Status != types.MapRunStatusRunning || d.Status != types.ExecutionStatusRunning || *d.RedriveCount != 1 || d.RedriveDate != nil {
		t.Errorf("%+v %+v", run, d)
	}

	if d := b.ended(execution); !strings.Contains(aws.ToString(d.Output), `"Status":"TIMED_OUT"`) {
		t.Errorf("%s %s", d.Status, aws.ToString(d.Output))
	}
}

// A redrive that comes while a Map Run is failing continues it when it has ended.
func TestRedriveOfAFailingMapRun(t *testing.T) { bubble(t, testRedriveOfAFailingMapRun) }

func testRedriveOfAFailingMapRun(t *testing.T, b *bench) {
	machine := b.machine("m", mapOf("EXPRESS", "", "Pick", `"Pick":{"Type":"Choice","Choices":[{"Variable":"$","BooleanEquals":false,"Next":"Bad"}],"Default":"W"},
		"Bad":{"Type":"Fail","Error":"Boom"},"W":{"Type":"Wait","Seconds":100,"End":true}`))
	execution := b.start(machine, "e", `[true,false]`)
	synctest.Wait()

	run := b.mapRuns(execution)[0]
	if run.Status != types.MapRunStatusRunning || run.ExecutionCounts.Failed != 1 || run.ExecutionCounts.Running != 1 {
		t.Fatalf("%+v %+v", run, run.ExecutionCounts)
	}

	b.stopExecution(execution)
	b.redrive(execution)

	if d := b.ended(execution); aws.ToString(d.Error) != "States.ExceedToleratedFailureThreshold" {
		t.Error(d.Status)
	}

	if bad := b.children(run.MapRunArn, types.ExecutionStatusFailed); len(bad) != 1 || *bad[0].RedriveCount != 1 {
		t.Errorf("%+v", bad)
	}
}

// The redrive of a parent whose task has waited for an execution starts another one, as on AWS,
// where a redriven task is scheduled again.
// Source: https://docs.aws.amazon.com/step-functions/latest/dg/redrive-executions.html
func TestRedriveOfANestedExecution(t *testing.T) { bubble(t, testRedriveOfANestedExecution) }

func testRedriveOfANestedExecution(t *testing.T, b *bench) {
	activity := b.activity("w")
	child := b.machine("child", task(activity, ""))
	parent := b.machine("parent", `{"StartAt":"A","States":{"A":{"Type":"Task","Resource":"arn:aws:states:::states:startExecution.sync:2",
		"Parameters":{"StateMachineArn":"`+child+`","Input":{}},"OutputPath":"$.Output","End":true}}}`)
	execution := b.start(parent, "e", `{}`)

	if _, err := b.SendTaskFailure(t.Context(), &sfn.SendTaskFailureInput{TaskToken: b.poll(activity).TaskToken, Error: aws.String("Boom")}); err != nil {
		t.Fatal(err)
	}

	if d := b.ended(execution); aws.ToString(d.Error) != "States.TaskFailed" {
		t.Fatal(d.Status, aws.ToString(d.Error))
	}

	b.redrive(execution)

	if err := b.succeed(b.poll(activity).TaskToken, `"done"`); err != nil {
		t.Fatal(err)
	}

	if d := b.ended(execution); aws.ToString(d.Output) != `"done"` {
		t.Error(d.Status, aws.ToString(d.Cause))
	}

	list, err := b.ListExecutions(t.Context(), &sfn.ListExecutionsInput{StateMachineArn: &child})
	if err != nil || len(list.Executions) != 2 || *list.Executions[1].RedriveCount != 0 || list.Executions[1].Status != types.ExecutionStatusFailed {
		t.Errorf("%+v %v", list, err)
	}
}

// A redrive reaches the Map Runs of children, too.
func TestRedriveOfNestedMapRuns(t *testing.T) { bubble(t, testRedriveOfNestedMapRuns) }

func testRedriveOfNestedMapRuns(t *testing.T, b *bench) {
	activity := b.activity("w")
	machine := b.machine("m", mapOf("STANDARD", "", "Inner", `"Inner":{"Type":"Map","Label":"inner","End":true,"ItemProcessor":{
		"ProcessorConfig":{"Mode":"DISTRIBUTED","ExecutionType":"STANDARD"},"StartAt":"W","States":{
		"W":{"Type":"Task","Resource":"`+activity+`","End":true}}}}`))
	execution := b.start(machine, "e", `[[1,2],[3]]`)
	synctest.Wait()

	if err := b.succeed(b.poll(activity).TaskToken, `"first"`); err != nil {
		t.Fatal(err)
	}
	synctest.Wait()

	outer := b.mapRuns(execution)[0]
	b.stopExecution(execution)

	if c := b.mapRuns(execution)[0].ExecutionCounts; c.Aborted != 2 {
		t.Fatalf("%+v", c)
	}

	for _, child := range b.children(outer.MapRunArn, "") {
		if inner := b.mapRuns(*child.ExecutionArn)[0]; inner.Status != types.MapRunStatusAborted || inner.ExecutionCounts.Aborted != 1 {
			t.Errorf("%+v %+v", inner, inner.ExecutionCounts)
		}
	}

	b.redrive(execution)

	for range 2 {
		if err := b.succeed(b.poll(activity).TaskToken, `"again"`); err != nil {
			t.Fatal(err)
		}
	}

	if d := b.ended(execution); strings.Count(aws.ToString(d.Output), "again") != 2 || strings.Count(*d.Output, "first") != 1 {
		t.Errorf("%s %s", aws.ToString(d.Output), aws.ToString(d.Cause))
	}
}

// The same for a Map Run that fails because an input cannot be made.
func TestRedriveOfAMapRunWithoutAnInput(t *testing.T) { bubble(t, testRedriveOfAMapRunWithoutAnInput) }

func testRedriveOfAMapRunWithoutAnInput(t *testing.T, b *bench) {
	machine := b.machine("m", mapOf("EXPRESS", `"ItemSelector":{"v.$":"$$.Map.Item.Value.v"},`, "W", `"W":{"Type":"Wait","Seconds":100,"End":true}`))
	execution := b.start(machine, "e", `[{"v":1},{}]`)
	synctest.Wait()
	b.stopExecution(execution)
	b.redrive(execution)

	if d := b.ended(execution); aws.ToString(d.Error) != "States.Runtime" {
		t.Error(d.Status, aws.ToString(d.Error))
	}

	run := b.mapRuns(execution)[0]
	if run.Status != types.MapRunStatusFailed || *run.RedriveCount != 1 || run.ExecutionCounts.Succeeded != 1 || run.ExecutionCounts.Pending != 1 {
		t.Errorf("%+v %+v", run, run.ExecutionCounts)
	}
}

// A redriven Standard child goes on with the state that failed, an Express one with its first.
func TestWhereARedrivenChildGoesOn(t *testing.T) { bubble(t, testWhereARedrivenChildGoesOn) }

func testWhereARedrivenChildGoesOn(t *testing.T, b *bench) {
	calls, bad := map[string]int{}, true
	b.svc.calls.Services = map[string]wire.Service{"lambda": lambda.Service(map[string]lambda.Function{
		"count": func(_ context.Context, payload []byte) ([]byte, error) {
			calls[string(payload)]++
			return payload, nil
		},
		"fail": func(_ context.Context, payload []byte) ([]byte, error) {
			if bad {
				return nil, errors.New("bad")
			}

			return payload, nil
		},
	})}

	call := func(name, rest string) string {
		return `{"Type":"Task","Resource":"arn:aws:states:::lambda:invoke","Parameters":{"FunctionName":"` + name + `","Payload.$":"$"},"OutputPath":"$.Payload",` + rest + `}`
	}

	for _, row := range []struct {
		kind string
		want int
	}{{"STANDARD", 1}, {"EXPRESS", 2}} {
		bad = true
		machine := b.machine("m"+row.kind, mapOf(row.kind, "", "First", `"First":`+call("count", `"Next":"Second"`)+`,"Second":`+call("fail", `"End":true`)))
		execution := b.start(machine, "e", `["`+row.kind+`"]`)

		if d := b.ended(execution); d.Status != types.ExecutionStatusFailed {
			t.Fatal(d.Status)
		}

		bad = false
		b.redrive(execution)

		if d := b.ended(execution); aws.ToString(d.Output) != `["`+row.kind+`"]` || calls[`"`+row.kind+`"`] != row.want {
			t.Errorf("%s: %s %s, %v", row.kind, d.Status, aws.ToString(d.Output), calls)
		}
	}
}
