package activities

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

type greeting struct {
	Name string `json:"name"`
}

func greet(_ context.Context, in greeting) (string, error) {
	if in.Name == "" {
		return "", Fail("Hello.NoName", errors.New("who?"))
	}

	return "hello, " + in.Name, nil
}

func TestATypedHandlerDecodesItsInputStrictly(t *testing.T) {
	for _, row := range []struct{ input, want string }{
		{`{"name":"world"}`, `"hello, world"`},
		{` {"name":"world"} `, `"hello, world"`},
		{`{}`, "Hello.NoName: who?"},
		{`{"name":"world","age":3}`, `Order.InvalidInput: input of a: json: unknown field "age"`},
		{`{"name":"world"} {}`, "Order.InvalidInput: input of a: data after the end"},
		{`{"name":3}`, "Order.InvalidInput: input of a: json: cannot unmarshal number"},
		{`{"name":`, "Order.InvalidInput: input of a: "},
		{``, "Order.InvalidInput: input of a: EOF"},
	} {
		out, err := Typed(greet)(t.Context(), Task{Activity: "a", Input: json.RawMessage(row.input)})

		var got string
		if err != nil {
			name, cause := nameOf("Order.", err)
			got = name + ": " + cause
		} else {
			text, _ := json.Marshal(out)
			got = string(text)
		}

		if !strings.HasPrefix(got, row.want) {
			t.Errorf("%s: %s, want %s", row.input, got, row.want)
		}
	}
}

func TestRegisterAddsAnActivityBeforeRun(t *testing.T) {
	m := newTaskMachine(t, "")
	cfg := m.config(nil)
	activity := cfg.Activities[0]
	cfg.Activities = nil

	worker, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}

	if err := Register(worker, activity, greet); err != nil {
		t.Fatal(err)
	}

	if err := Register(worker, activity, greet); err == nil || !strings.Contains(err.Error(), "is served twice") {
		t.Errorf("a second handler: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ran := make(chan error, 1)
	go func() { ran <- worker.Run(ctx) }()

	if got := m.result(m.execute(`{"name":"world"}`)); got != `"hello, world"` {
		t.Errorf("result %s", got)
	}

	other := activity
	other.ARN += "-other"

	if err := Register(worker, other, greet); err == nil || !strings.Contains(err.Error(), "the worker runs already") {
		t.Errorf("while it runs: %v", err)
	}
	cancel()
	wantNil(t, <-ran)
}

func TestAHandlersContextKnowsItsTaskAndTakesItsProgress(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScript("t")
		progress := make(chan any, 8)
		d := s.ofTask(t, func(ctx context.Context, task Task) (any, error) {
			if got, ok := TaskFrom(ctx); !ok || got.Token != task.Token {
				t.Errorf("TaskFrom: %v, %v", got, ok)
			}

			for i := range 3 {
				if err := RecordHeartbeat(ctx, i); err != nil {
					t.Errorf("RecordHeartbeat: %v", err)
				}
			}
			<-ctx.Done()

			if err := RecordHeartbeat(ctx, "late"); !errors.Is(err, ErrDeadline) {
				t.Errorf("RecordHeartbeat after the deadline: %v", err)
			}

			return 1, nil
		}, func(c *Config) {
			c.Activities[0].Timeout = time.Second
			c.Events.Progress = func(task Task, p any) { progress <- fmt.Sprint(task.Activity, p) }
		})

		for _, want := range []string{"a0", "a1", "a2", "alate"} {
			if got := <-progress; got != want {
				t.Errorf("progress %v, want %s", got, want)
			}
		}

		if d.Progress != "late" || d.Outcome != Succeeded {
			t.Errorf("ended as %+v", d)
		}

		if n := len(s.of("SendTaskHeartbeat")); n != 0 {
			t.Errorf("%d heartbeats were sent for progress", n)
		}
	})

	if _, ok := TaskFrom(t.Context()); ok {
		t.Error("a task outside of a handler")
	}

	if err := RecordHeartbeat(t.Context(), 1); err == nil {
		t.Error("progress outside of a handler")
	}
}

func TestMiddlewareWrapsEveryHandlerTheFirstOutermost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		trace := make(chan string, 8)
		layer := func(name string) Middleware {
			return func(next HandlerFunc) HandlerFunc {
				return func(ctx context.Context, task Task) (any, error) {
					trace <- name
					return next(ctx, task)
				}
			}
		}

		s := newScript("t")
		s.ofTask(t, succeed, func(c *Config) {
			c.Middleware = []Middleware{layer("outer"), layer("inner")}
			c.Activities[0].Middleware = []Middleware{layer("its own"), layer("innermost")}
		})

		for _, want := range []string{"outer", "inner", "its own", "innermost"} {
			if got := <-trace; got != want {
				t.Errorf("called %s, want %s", got, want)
			}
		}
	})
}
