package stepfunctions

import (
	"context"
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

	"ratchet/embedded/internal/stepfunctions/lambda"
	"ratchet/embedded/internal/store"
	"ratchet/embedded/internal/wire"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// bench is an open service with its own SDK client.
type bench struct {
	*sfn.Client
	t    testing.TB
	svc  *Service
	db   *store.DB
	stop func()
}

// open starts a service on dir. stop ends it; the test's cleanup calls it too.
func open(t testing.TB, dir string) *bench {
	t.Helper()
	return openWith(t, dir, nil)
}

// openWith is open with functions that tasks invoke.
func openWith(t testing.TB, dir string, functions map[string]lambda.Function) *bench {
	t.Helper()

	db, err := store.Open(store.Config{Dir: dir, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}

	svc, err := New(db, Config{
		Region: "us-east-1", AccountID: "000000000000", Services: map[string]wire.Service{"lambda": lambda.Service(functions)},
	})
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
		Region:       "us-east-1",
		Credentials:  credentials.NewStaticCredentialsProvider("k", "s", ""),
		BaseEndpoint: aws.String("http://engine"),
		Retryer:      aws.NopRetryer{},
		HTTPClient:   wire.InProcess(wire.NewHandler(slog.Default(), svc.Wire())),
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

	m, err := b.CreateStateMachine(b.t.Context(), &sfn.CreateStateMachineInput{
		Name:       &name,
		Definition: &definition,
		RoleArn:    aws.String("arn:aws:iam::000000000000:role/r"),
	})
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

	out, err := b.GetActivityTask(b.t.Context(), &sfn.GetActivityTaskInput{
		ActivityArn: &activity,
		WorkerName:  aws.String("worker 1: /?"), // any text
	})
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

// code returns the name of the service's error, "<nil>" for no error.
func code(err error) string {
	var e smithy.APIError
	if errors.As(err, &e) {
		return e.ErrorCode()
	}

	return fmt.Sprint(err)
}

// task returns a definition with one Task for the activity; more is appended to its fields.
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

	const want = "ExecutionStarted TaskStateEntered ActivityScheduled ActivityStarted ActivitySucceeded " +
		"TaskStateExited ExecutionSucceeded"
	if strings.Join(kinds, " ") != want {
		t.Fatal(kinds)
	}

	scheduled := h.Events[2].ActivityScheduledEventDetails
	if *scheduled.Resource != activity || *scheduled.TimeoutInSeconds != 60 ||
		*scheduled.HeartbeatInSeconds != 10 || *scheduled.Input != `{"x": 1}` {
		t.Errorf("%+v", scheduled)
	}

	if *h.Events[1].StateEnteredEventDetails.Name != "A" ||
		*h.Events[3].ActivityStartedEventDetails.WorkerName != "worker 1: /?" ||
		*h.Events[4].ActivitySucceededEventDetails.Output != `{"y":2}` ||
		*h.Events[6].ExecutionSucceededEventDetails.Output != `{"y":2}` {
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
		p := sfn.NewGetExecutionHistoryPaginator(b, &sfn.GetExecutionHistoryInput{
			ExecutionArn:         &arn,
			MaxResults:           2,
			ReverseOrder:         reverse,
			IncludeExecutionData: aws.Bool(false),
		})

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

// Starting a name again returns the running execution if the input is the same. It fails if
// the input differs or the execution has ended. Of concurrent starts with different inputs
// one succeeds.
func TestANameStartsOnce(t *testing.T) {
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
	outcomes := map[string]int{}
	for i := range 16 {
		wg.Go(func() {
			_, err := b.StartExecution(t.Context(), &sfn.StartExecutionInput{
				StateMachineArn: &machine,
				Name:            aws.String("race"),
				Input:           aws.String(fmt.Sprint(i)),
			})

			mu.Lock()
			defer mu.Unlock()

			outcomes[code(err)]++
		})
	}
	wg.Wait()

	if outcomes["<nil>"] != 1 || outcomes["ExecutionAlreadyExists"] != 15 {
		t.Error(outcomes)
	}
}

func TestStopAndRedrive(t *testing.T) {
	b := open(t, t.TempDir())

	ctx := t.Context()

	activity := b.activity("work")
	arn := b.start(b.machine("m", task(activity, "")), "n", `{}`)
	stop := &sfn.StopExecutionInput{ExecutionArn: &arn, Error: aws.String("E"), Cause: aws.String("C")}
	if _, err := b.StopExecution(ctx, stop); err != nil {
		t.Fatal(err)
	}

	d := b.describe(arn)
	if d.Status != types.ExecutionStatusAborted || *d.Error != "E" || d.RedriveStatus != types.ExecutionRedriveStatusRedrivable {
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

// A repeated request to redrive gets the answer of the first for 15 minutes, also when the execution has
// ended since, and another one redrives. Of the tokens the last ten count.
// Source: https://docs.aws.amazon.com/step-functions/latest/apireference/API_RedriveExecution.html
func TestARepeatedRedriveIsOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		b := open(t, dir)
		arn := b.start(b.machine("m", `{"StartAt":"A","States":{"A":{"Type":"Fail"}}}`), "n", `{}`)

		redrive := func(token string, redrives int32) time.Time {
			t.Helper()
			time.Sleep(time.Second)

			out, err := b.RedriveExecution(t.Context(), &sfn.RedriveExecutionInput{ExecutionArn: &arn, ClientToken: &token})
			if err != nil {
				t.Fatal(err)
			}

			if n := *b.describe(arn).RedriveCount; n != redrives {
				t.Fatalf("%s: %d redrives, want %d", token, n, redrives)
			}

			return *out.RedriveDate
		}

		first := redrive("one", 1)
		b.stop()

		b = open(t, dir)
		if again := redrive("one", 1); !again.Equal(first) {
			t.Errorf("repeated: %v, not %v", again, first)
		}

		time.Sleep(15 * time.Minute)
		redrive("one", 2)

		for n := range int32(10) {
			redrive(fmt.Sprint("token-", n), 3+n)
		}

		redrive("token-0", 12)
		redrive("one", 13)

		if again := redrive("one", 13); again.Equal(first) {
			t.Error("an old answer")
		}

		for _, token := range []string{"", "white space", strings.Repeat("x", 65)} {
			_, err := b.RedriveExecution(t.Context(), &sfn.RedriveExecutionInput{ExecutionArn: &arn, ClientToken: &token})
			if code(err) != "ValidationException" {
				t.Errorf("%q: %v", token, err)
			}
		}
	})
}

// An Express execution ends after five minutes.
// Source: https://docs.aws.amazon.com/step-functions/latest/dg/service-quotas.html
func TestAnExpressExecutionHasFiveMinutes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := open(t, t.TempDir())
		for seconds, want := range map[int]string{299: "SUCCEEDED", 301: "TIMED_OUT"} {
			name := fmt.Sprint("m", seconds)

			if _, err := b.CreateStateMachine(t.Context(), &sfn.CreateStateMachineInput{
				Name: &name, Type: types.StateMachineTypeExpress, RoleArn: aws.String("arn:aws:iam::000000000000:role/r"),
				Definition: aws.String(fmt.Sprintf(`{"StartAt":"W","States":{"W":{"Type":"Wait","Seconds":%d,"End":true}}}`, seconds)),
			}); err != nil {
				t.Fatal(err)
			}

			began := time.Now()

			out, err := b.StartSyncExecution(t.Context(), &sfn.StartSyncExecutionInput{StateMachineArn: aws.String(b.svc.account.ARN("stateMachine", name))})
			if err != nil || string(out.Status) != want || time.Since(began) > 300*time.Second {
				t.Errorf("%d seconds: %v after %v, %v", seconds, out, time.Since(began), err)
			}
		}
	})
}
