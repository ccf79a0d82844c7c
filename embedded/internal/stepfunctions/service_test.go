package stepfunctions

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/sfn"
	"github.com/aws/aws-sdk-go-v2/service/sfn/types"
	"github.com/aws/smithy-go"
	"go.uber.org/goleak"

	"ratchet/embedded/internal/store"
	"ratchet/embedded/internal/wire"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// bench is an open service with an SDK client of its own.
type bench struct {
	*sfn.Client
	t    testing.TB
	svc  *Service
	db   *store.DB
	stop func()
}

// open starts the service over dir; stop, also called by Cleanup, ends it.
func open(t testing.TB, dir string) *bench {
	t.Helper()
	db, err := store.Open(dir, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	svc, err := New(db, Config{Region: "us-east-1", AccountID: "000000000000"})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- svc.Run(ctx) }()
	b := &bench{t: t, svc: svc, db: db}
	b.stop = sync.OnceFunc(func() {
		cancel()
		if err := errors.Join(<-done, db.Close()); err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(b.stop)
	b.Client = sfn.New(sfn.Options{
		Region: "us-east-1", Credentials: credentials.NewStaticCredentialsProvider("k", "s", ""),
		BaseEndpoint: aws.String("http://engine"), Retryer: aws.NopRetryer{},
		HTTPClient: wire.InProcess(wire.NewHandler(slog.Default(), svc.Wire())),
	})
	return b
}

func (b *bench) activity(name string) string {
	b.t.Helper()
	a, err := b.CreateActivity(b.t.Context(), &sfn.CreateActivityInput{Name: &name})
	if err != nil {
		b.t.Fatal(err)
	}
	return *a.ActivityArn
}

func (b *bench) machine(name, definition string) string {
	b.t.Helper()
	m, err := b.CreateStateMachine(b.t.Context(), &sfn.CreateStateMachineInput{Name: &name, Definition: &definition, RoleArn: aws.String("arn:aws:iam::000000000000:role/r")})
	if err != nil {
		b.t.Fatal(err)
	}
	return *m.StateMachineArn
}

func (b *bench) start(machine, name, input string) string {
	b.t.Helper()
	in := &sfn.StartExecutionInput{StateMachineArn: &machine, Input: &input}
	if name != "" {
		in.Name = &name
	}
	e, err := b.StartExecution(b.t.Context(), in)
	if err != nil {
		b.t.Fatal(err)
	}
	return *e.ExecutionArn
}

func (b *bench) poll(activity string) *sfn.GetActivityTaskOutput {
	b.t.Helper()
	out, err := b.GetActivityTask(b.t.Context(), &sfn.GetActivityTaskInput{ActivityArn: &activity, WorkerName: aws.String("w")})
	if err != nil {
		b.t.Fatal(err)
	}
	return out
}

func (b *bench) describe(execution string) *sfn.DescribeExecutionOutput {
	b.t.Helper()
	out, err := b.DescribeExecution(b.t.Context(), &sfn.DescribeExecutionInput{ExecutionArn: &execution})
	if err != nil {
		b.t.Fatal(err)
	}
	return out
}

func (b *bench) succeed(token *string, output string) error {
	_, err := b.SendTaskSuccess(b.t.Context(), &sfn.SendTaskSuccessInput{TaskToken: token, Output: &output})
	return err
}

// code is the name of the service's error.
func code(err error) string {
	var e smithy.APIError
	if errors.As(err, &e) {
		return e.ErrorCode()
	}
	return fmt.Sprint(err)
}

func task(arn, more string) string {
	return fmt.Sprintf(`{"StartAt":"A","States":{"A":{"Type":"Task","Resource":%q,"End":true%s}}}`, arn, more)
}

func TestActivityRoundTrip(t *testing.T) {
	b := open(t, t.TempDir())
	activity := b.activity("work")
	machine := b.machine("m", task(activity, `,"TimeoutSeconds":60,"HeartbeatSeconds":10`))
	arn := b.start(machine, "one", `{"x": 1}`)
	got := b.poll(activity)
	if *got.Input != `{"x": 1}` {
		t.Fatalf("input %s", *got.Input)
	}
	if _, err := b.SendTaskHeartbeat(t.Context(), &sfn.SendTaskHeartbeatInput{TaskToken: got.TaskToken}); err != nil {
		t.Fatal(err)
	}
	if err := b.succeed(got.TaskToken, `{"y":2}`); err != nil {
		t.Fatal(err)
	}
	if err := b.succeed(got.TaskToken, `{"y":2}`); code(err) != "TaskTimedOut" {
		t.Fatalf("a second completion: %v", err)
	}
	d := b.describe(arn)
	if d.Status != types.ExecutionStatusSucceeded || *d.Output != `{"y":2}` || *d.Input != `{"x": 1}` || d.StopDate == nil {
		t.Fatalf("%+v", d)
	}
	h, err := b.GetExecutionHistory(t.Context(), &sfn.GetExecutionHistoryInput{ExecutionArn: &arn})
	if err != nil {
		t.Fatal(err)
	}
	var kinds []string
	for i, e := range h.Events {
		if e.Id != int64(i+1) || e.Timestamp == nil {
			t.Errorf("event %d: %+v", i, e)
		}
		kinds = append(kinds, string(e.Type))
	}
	want := "ExecutionStarted TaskStateEntered ActivityScheduled ActivityStarted ActivitySucceeded TaskStateExited ExecutionSucceeded"
	if strings.Join(kinds, " ") != want {
		t.Fatal(kinds)
	}
	scheduled := h.Events[2].ActivityScheduledEventDetails
	if *scheduled.Resource != activity || *scheduled.TimeoutInSeconds != 60 || *scheduled.HeartbeatInSeconds != 10 || *scheduled.Input != `{"x": 1}` {
		t.Errorf("%+v", scheduled)
	}
	if *h.Events[3].ActivityStartedEventDetails.WorkerName != "w" || *h.Events[4].ActivitySucceededEventDetails.Output != `{"y":2}` ||
		*h.Events[6].ExecutionSucceededEventDetails.Output != `{"y":2}` || *h.Events[1].StateEnteredEventDetails.Name != "A" {
		t.Errorf("details are missing: %+v", h.Events)
	}
}

func TestHistoryPages(t *testing.T) {
	b := open(t, t.TempDir())
	activity := b.activity("work")
	arn := b.start(b.machine("m", task(activity, "")), "one", `{}`)
	got := b.poll(activity)
	if err := b.succeed(got.TaskToken, `1`); err != nil {
		t.Fatal(err)
	}
	for _, reverse := range []bool{false, true} {
		p := sfn.NewGetExecutionHistoryPaginator(b, &sfn.GetExecutionHistoryInput{ExecutionArn: &arn, MaxResults: 2, ReverseOrder: reverse, IncludeExecutionData: aws.Bool(false)})
		var ids []int64
		for p.HasMorePages() {
			page, err := p.NextPage(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			for _, e := range page.Events {
				ids = append(ids, e.Id)
			}
		}
		want := "[1 2 3 4 5 6 7]"
		if reverse {
			want = "[7 6 5 4 3 2 1]"
		}
		if fmt.Sprint(ids) != want {
			t.Errorf("reverse %v: %v", reverse, ids)
		}
	}
}

// TestStartNames: a name starts once.
func TestStartNames(t *testing.T) {
	b := open(t, t.TempDir())
	activity := b.activity("work")
	machine := b.machine("m", task(activity, ""))
	first := b.start(machine, "n", `{"a":1}`)
	if again := b.start(machine, "n", `{"a":1}`); again != first {
		t.Error("the same start is another execution")
	}
	other := &sfn.StartExecutionInput{StateMachineArn: &machine, Name: aws.String("n"), Input: aws.String(`{"a":2}`)}
	if _, err := b.StartExecution(t.Context(), other); code(err) != "ExecutionAlreadyExists" {
		t.Error(err)
	}
	if err := b.succeed(b.poll(activity).TaskToken, `1`); err != nil {
		t.Fatal(err)
	}
	other.Input = aws.String(`{"a":1}`)
	if _, err := b.StartExecution(t.Context(), other); code(err) != "ExecutionAlreadyExists" {
		t.Error("after the end:", err)
	}
	var wg sync.WaitGroup
	var mu sync.Mutex
	won := map[string]int{}
	for i := range 16 {
		wg.Go(func() {
			_, err := b.StartExecution(t.Context(), &sfn.StartExecutionInput{StateMachineArn: &machine, Name: aws.String("race"), Input: aws.String(fmt.Sprint(i))})
			mu.Lock()
			defer mu.Unlock()
			won[code(err)]++
		})
	}
	wg.Wait()
	if won["<nil>"] != 1 || won["ExecutionAlreadyExists"] != 15 {
		t.Error(won)
	}
}

func TestRefusals(t *testing.T) {
	b := open(t, t.TempDir())
	ctx := t.Context()
	activity := b.activity("work")
	ok := task(activity, "")
	machine := b.machine("m", ok)
	role := aws.String("arn:aws:iam::000000000000:role/r")
	create := func(name, definition string, kind types.StateMachineType) error {
		_, err := b.CreateStateMachine(ctx, &sfn.CreateStateMachineInput{Name: &name, Definition: &definition, RoleArn: role, Type: kind})
		return err
	}
	start := func(arn, name, input string) error {
		_, err := b.StartExecution(ctx, &sfn.StartExecutionInput{StateMachineArn: &arn, Name: &name, Input: &input})
		return err
	}
	none := "arn:aws:states:us-east-1:000000000000:execution:m:none"
	for _, row := range []struct {
		says string
		err  error
		want string
	}{
		{"the same machine again", create("m", ok, ""), "<nil>"},
		{"another definition", create("m", task(activity, `,"TimeoutSeconds":1`), ""), "StateMachineAlreadyExists"},
		{"express", create("x", ok, types.StateMachineTypeExpress), "StateMachineTypeNotSupported"},
		{"a bad name", create("x y", ok, ""), "InvalidName"},
		{"a bad definition", create("x", `{"StartAt":"A","States":{"A":{"Type":"Pass"}}}`, ""), "InvalidDefinition"},
		{"a lambda", create("x", task("arn:aws:lambda:us-east-1:000000000000:function:f", ""), ""), "InvalidDefinition"},
		{"JSONata", create("x", `{"QueryLanguage":"JSONata","StartAt":"A","States":{"A":{"Type":"Succeed"}}}`, ""), "InvalidDefinition"},
		{"input that is not JSON", start(machine, "a", `{`), "InvalidExecutionInput"},
		{"input over the limit", start(machine, "a", `"`+strings.Repeat("x", 256<<10)+`"`), "ValidationException"},
		{"no such machine", start(machine+"x", "a", `{}`), "StateMachineDoesNotExist"},
		{"a machine's version", start(machine+":1", "a", `{}`), "StateMachineDoesNotExist"},
		{"not an ARN", start("m", "a", `{}`), "InvalidArn"},
		{"a token that is none", b.succeed(aws.String("abc"), `1`), "InvalidToken"},
		{"a token of nothing", b.succeed(aws.String(taskToken{}.String()), `1`), "TaskDoesNotExist"},
		{"no such execution", func() error {
			_, err := b.DescribeExecution(ctx, &sfn.DescribeExecutionInput{ExecutionArn: &none})
			return err
		}(), "ExecutionDoesNotExist"},
		{"no such activity", func() error {
			_, err := b.GetActivityTask(ctx, &sfn.GetActivityTaskInput{ActivityArn: aws.String(activity + "x")})
			return err
		}(), "ActivityDoesNotExist"},
		{"an operation of the future", func() error {
			_, err := b.PublishStateMachineVersion(ctx, &sfn.PublishStateMachineVersionInput{StateMachineArn: &machine})
			return err
		}(), "UnknownOperationException"},
	} {
		if got := code(row.err); got != row.want {
			t.Errorf("%s: %s, want %s (%v)", row.says, got, row.want, row.err)
		}
	}
	b.start(machine, "ok", `{}`)
	if err := b.succeed(b.poll(activity).TaskToken, `{`); code(err) != "InvalidOutput" {
		t.Error(err)
	}
}

func TestMachineLife(t *testing.T) {
	b := open(t, t.TempDir())
	ctx := t.Context()
	activity := b.activity("work")
	machine := b.machine("m", task(activity, ""))
	old := b.start(machine, "old", `{}`)
	changed := task(activity, `,"Comment":"changed"`)
	up, err := b.UpdateStateMachine(ctx, &sfn.UpdateStateMachineInput{StateMachineArn: &machine, Definition: &changed})
	if err != nil {
		t.Fatal(err)
	}
	d, err := b.DescribeStateMachine(ctx, &sfn.DescribeStateMachineInput{StateMachineArn: &machine})
	if err != nil || *d.Definition != changed || *d.RevisionId != *up.RevisionId || d.Status != types.StateMachineStatusActive {
		t.Fatal(d, err)
	}
	pinned, err := b.DescribeStateMachineForExecution(ctx, &sfn.DescribeStateMachineForExecutionInput{ExecutionArn: &old})
	if err != nil || *pinned.Definition == changed {
		t.Fatal("a running execution is not pinned to its definition", err)
	}
	for _, status := range []types.ExecutionStatus{"", types.ExecutionStatusRunning, types.ExecutionStatusAborted} {
		l, err := b.ListExecutions(ctx, &sfn.ListExecutionsInput{StateMachineArn: &machine, StatusFilter: status})
		want := 1
		if status == types.ExecutionStatusAborted {
			want = 0
		}
		if err != nil || len(l.Executions) != want {
			t.Errorf("list %q: %v, %v", status, l, err)
		}
	}
	if _, err := b.DeleteStateMachine(ctx, &sfn.DeleteStateMachineInput{StateMachineArn: &machine}); err != nil {
		t.Fatal(err)
	}
	if _, err := b.DescribeExecution(ctx, &sfn.DescribeExecutionInput{ExecutionArn: &old}); code(err) != "ExecutionDoesNotExist" {
		t.Error(err)
	}
	b.machine("m", changed)
	if again := b.start(machine, "old", `{}`); again != old {
		t.Error(again)
	}
	list, err := b.ListStateMachines(ctx, &sfn.ListStateMachinesInput{})
	if err != nil || len(list.StateMachines) != 1 {
		t.Error(list, err)
	}
	if got := b.poll(activity); *got.Input != `{}` {
		t.Error("the deleted machine's task is still handed out")
	}
	if n := b.svc.queue(activity).tasks.len(); n != 0 {
		t.Errorf("%d tasks are left in the queue", n)
	}
}

func TestListPages(t *testing.T) {
	b := open(t, t.TempDir())
	activity := b.activity("work")
	machine := b.machine("m", task(activity, ""))
	for i := range 7 {
		b.start(machine, fmt.Sprint("e", i), `{}`)
		if i%2 == 0 {
			if err := b.succeed(b.poll(activity).TaskToken, `1`); err != nil {
				t.Fatal(err)
			}
		} else {
			b.poll(activity)
		}
	}
	for status, want := range map[types.ExecutionStatus]string{"": "e6 e5 e4 e3 e2 e1 e0", types.ExecutionStatusSucceeded: "e6 e4 e2 e0", types.ExecutionStatusRunning: "e5 e3 e1"} {
		p := sfn.NewListExecutionsPaginator(b, &sfn.ListExecutionsInput{StateMachineArn: &machine, MaxResults: 2, StatusFilter: status})
		var names []string
		for p.HasMorePages() {
			page, err := p.NextPage(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			for _, e := range page.Executions {
				names = append(names, *e.Name)
			}
		}
		if got := strings.Join(names, " "); got != want {
			t.Errorf("%q: %s, want %s", status, got, want)
		}
	}
}

// TestOneCompletionWins: of many completions of one task exactly one counts.
func TestOneCompletionWins(t *testing.T) {
	b := open(t, t.TempDir())
	activity := b.activity("work")
	machine := b.machine("m", task(activity, ""))
	for range 20 {
		arn := b.start(machine, "", `{}`)
		token := b.poll(activity).TaskToken
		var wg sync.WaitGroup
		var mu sync.Mutex
		var winner string
		lost := map[string]int{}
		for i := range 8 {
			wg.Go(func() {
				err := b.succeed(token, fmt.Sprint(i))
				mu.Lock()
				defer mu.Unlock()
				if err == nil {
					winner += fmt.Sprint(i)
				} else {
					lost[code(err)]++
				}
			})
		}
		wg.Wait()
		if d := b.describe(arn); len(winner) != 1 || lost["TaskTimedOut"] != 7 || *d.Output != winner {
			t.Fatalf("winners %q, losers %v, output %s", winner, lost, *d.Output)
		}
	}
}

// TestTasksAreNotLostToLeavers: polls that are cancelled at any moment neither
// lose nor double a task.
func TestTasksAreNotLostToLeavers(t *testing.T) {
	b := open(t, t.TempDir())
	activity := b.activity("work")
	machine := b.machine("m", task(activity, ""))
	const executions = 200
	var wg sync.WaitGroup
	leave, stopLeaving := context.WithCancel(t.Context())
	for range 4 {
		wg.Go(func() {
			for i := 0; leave.Err() == nil; i++ {
				ctx, cancel := context.WithCancel(t.Context())
				go cancel()
				out, err := b.GetActivityTask(ctx, &sfn.GetActivityTaskInput{ActivityArn: &activity})
				cancel()
				if err == nil && out.TaskToken != nil {
					if err := b.succeed(out.TaskToken, `"leaver"`); err != nil {
						t.Error(err)
					}
				}
			}
		})
	}
	arns := make([]string, executions)
	for i := range arns {
		arns[i] = b.start(machine, "", `{}`)
	}
	stopLeaving()
	wg.Wait()
	lost := 0
	for {
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
		out, err := b.GetActivityTask(ctx, &sfn.GetActivityTaskInput{ActivityArn: &activity})
		cancel()
		if err != nil {
			break
		}
		if err := b.succeed(out.TaskToken, `"rest"`); err != nil {
			t.Error(err)
		}
	}
	for _, arn := range arns {
		if b.describe(arn).Status != types.ExecutionStatusSucceeded {
			lost++ // started for a leaver at the last moment: the answer was on its way
		}
	}
	if n := b.svc.queue(activity).tasks.len(); n != 0 {
		t.Errorf("%d tasks are left in the queue", n)
	}
	if lost > executions/4 {
		t.Errorf("%d of %d tasks went to callers that had gone", lost, executions)
	}
}

// TestTimers: waits, time-outs, heartbeats and retries on a clock that jumps.
func TestTimers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := open(t, t.TempDir())
		defer b.stop()
		activity := b.activity("work")
		machine := b.machine("m", `{"StartAt":"W","States":{"W":{"Type":"Wait","Seconds":3600,"Next":"A"},"A":{"Type":"Task","Resource":"`+activity+
			`","TimeoutSeconds":100,"HeartbeatSeconds":10,"End":true,"Retry":[{"ErrorEquals":["States.HeartbeatTimeout"],"IntervalSeconds":5,"MaxAttempts":1}],`+
			`"Catch":[{"ErrorEquals":["States.Timeout"],"Next":"T"}]},"T":{"Type":"Succeed"}}}`)
		begin := time.Now()
		arn := b.start(machine, "n", `{}`)
		idle := b.poll(activity)
		if idle.TaskToken != nil || time.Since(begin) != time.Minute {
			t.Fatalf("an idle poll took %v and gave %v", time.Since(begin), idle.TaskToken)
		}
		var got *sfn.GetActivityTaskOutput
		for got = b.poll(activity); got.TaskToken == nil; got = b.poll(activity) {
		}
		if d := time.Since(begin); d < time.Hour || d > time.Hour+time.Second {
			t.Errorf("the task came after %v", d)
		}
		second := b.poll(activity) // 10 s of silence, 5 s of retry interval
		if d := time.Since(begin); second.TaskToken == nil || d < time.Hour+15*time.Second || d > time.Hour+16*time.Second {
			t.Errorf("the retry came after %v", d)
		}
		if err := b.succeed(got.TaskToken, `1`); code(err) != "TaskTimedOut" {
			t.Error(err)
		}
		for range 12 {
			time.Sleep(8 * time.Second)
			if _, err := b.SendTaskHeartbeat(t.Context(), &sfn.SendTaskHeartbeatInput{TaskToken: second.TaskToken}); err != nil {
				t.Fatal(err)
			}
		}
		time.Sleep(8 * time.Second)
		if _, err := b.SendTaskHeartbeat(t.Context(), &sfn.SendTaskHeartbeatInput{TaskToken: second.TaskToken}); code(err) != "TaskTimedOut" {
			t.Error(err)
		}
		if d := b.describe(arn); d.Status != types.ExecutionStatusSucceeded || !strings.Contains(*d.Output, "States.Timeout") {
			t.Errorf("%+v", d)
		}
	})
}

// TestReopen: queues, tokens, timers and names survive.
func TestReopen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		b := open(t, dir)
		defer func() { b.stop() }()
		activity := b.activity("work")
		machine := b.machine("m", task(activity, `,"HeartbeatSeconds":30,"ResultPath":"$.r"`))
		waits := b.machine("w", `{"StartAt":"W","States":{"W":{"Type":"Wait","Seconds":60,"End":true}}}`)
		for i := range 5 {
			b.start(machine, fmt.Sprint("e", i), fmt.Sprintf(`{"i":%d}`, i))
		}
		waiting := b.start(waits, "w", `{}`)
		token := b.poll(activity).TaskToken
		silent := b.poll(activity)
		b.stop()

		time.Sleep(20 * time.Second)
		b = open(t, dir)
		if err := b.succeed(token, `"done"`); err != nil {
			t.Fatal(err)
		}
		for i := 2; i < 5; i++ {
			if got := b.poll(activity); *got.Input != fmt.Sprintf(`{"i":%d}`, i) {
				t.Errorf("task %d is %s: not first in, first out", i, *got.Input)
			}
		}
		d := b.describe("arn:aws:states:us-east-1:000000000000:execution:m:e0")
		if *d.Output != `{"i":0,"r":"done"}` {
			t.Error(*d.Output)
		}
		time.Sleep(10 * time.Second)
		synctest.Wait()
		if d := b.describe("arn:aws:states:us-east-1:000000000000:execution:m:e1"); d.Status != types.ExecutionStatusFailed || *d.Error != "States.Timeout" {
			t.Error("the heartbeat clock was lost:", d.Status)
		}
		if err := b.succeed(silent.TaskToken, `1`); code(err) != "TaskTimedOut" {
			t.Error(err)
		}
		time.Sleep(30 * time.Second)
		synctest.Wait()
		if d := b.describe(waiting); d.Status != types.ExecutionStatusSucceeded {
			t.Error("the wait was lost:", d.Status)
		}
		if _, err := b.StartExecution(t.Context(), &sfn.StartExecutionInput{StateMachineArn: &machine, Name: aws.String("e0"), Input: aws.String(`{"i":0}`)}); code(err) != "ExecutionAlreadyExists" {
			t.Error("the name is free again:", err)
		}
	})
}

func TestStopAndRedrive(t *testing.T) {
	b := open(t, t.TempDir())
	ctx := t.Context()
	activity := b.activity("work")
	arn := b.start(b.machine("m", task(activity, "")), "n", `{}`)
	if _, err := b.StopExecution(ctx, &sfn.StopExecutionInput{ExecutionArn: &arn, Error: aws.String("E"), Cause: aws.String("C")}); err != nil {
		t.Fatal(err)
	}
	if d := b.describe(arn); d.Status != types.ExecutionStatusAborted || *d.Error != "E" || d.RedriveStatus != types.ExecutionRedriveStatusRedrivable {
		t.Fatalf("%+v", d)
	}
	if _, err := b.RedriveExecution(ctx, &sfn.RedriveExecutionInput{ExecutionArn: &arn}); err != nil {
		t.Fatal(err)
	}
	if err := b.succeed(b.poll(activity).TaskToken, `1`); err != nil {
		t.Fatal(err)
	}
	if d := b.describe(arn); d.Status != types.ExecutionStatusSucceeded || *d.RedriveCount != 1 {
		t.Fatalf("%+v", d)
	}
	if _, err := b.RedriveExecution(ctx, &sfn.RedriveExecutionInput{ExecutionArn: &arn}); code(err) != "ExecutionNotRedrivable" {
		t.Error(err)
	}
}

func TestValidateDefinition(t *testing.T) {
	b := open(t, t.TempDir())
	out, err := b.ValidateStateMachineDefinition(t.Context(), &sfn.ValidateStateMachineDefinitionInput{
		Definition: aws.String(`{"StartAt":"A","States":{"A":{"Type":"Pass","Next":"B"},"C":{"Type":"Succeed","Foo":1}}}`)})
	if err != nil || out.Result != types.ValidateStateMachineDefinitionResultCodeFail || len(out.Diagnostics) < 3 {
		t.Fatal(out, err)
	}
	found, _ := json.Marshal(out.Diagnostics)
	for _, want := range []string{"MISSING_TRANSITION_TARGET", "SCHEMA_VALIDATION_FAILED", "/States/A/Next", "not reachable"} {
		if !strings.Contains(string(found), want) {
			t.Errorf("%s is not in %s", want, found)
		}
	}
}
