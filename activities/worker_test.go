package activities

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/sfn"

	"ratchet/embedded/embeddedtest"
	"ratchet/internal/worker"
)

func TestWorkerPoint13To17_ATaskIsAnsweredWhateverTheHandlerDoes(t *testing.T) {
	big := strings.Repeat("x", maxOutput)
	for _, c := range []struct {
		name   string
		handle HandlerFunc
		want   string // prefix of the execution's result
	}{
		{name: "an output is sent as JSON", handle: func(_ context.Context, t Task) (any, error) {
			return map[string]any{"in": t.Input, "by": t.Worker, "html": "<&>"}, nil
		}, want: `{"by":"w","html":"<&>","in":{"a":1}}`},
		{name: "no output is null", handle: func(context.Context, Task) (any, error) { return nil, nil }, want: "null"},
		{name: "raw JSON goes through", handle: func(context.Context, Task) (any, error) { return json.RawMessage(`[1, 2]`), nil }, want: "[1, 2]"},
		{name: "a named error keeps its name", handle: func(context.Context, Task) (any, error) {
			return nil, fmt.Errorf("outer: %w", Fail("Order.Declined", errors.New("no money")))
		}, want: "Order.Declined: no money"},
		{name: "any other error is unknown", handle: func(context.Context, Task) (any, error) { return nil, errors.New("what") }, want: "Order.Unknown: what"},
		{name: "names of the service's own are not used", handle: func(context.Context, Task) (any, error) {
			return nil, Fail("States.Timeout", errors.New("pretense"))
		}, want: "Order.Unknown: States.Timeout: pretense"},
		{name: "a panic", handle: func(context.Context, Task) (any, error) { panic("boom") }, want: "Order.Panic: handler panicked: boom"},
		{name: "runtime.Goexit", handle: func(context.Context, Task) (any, error) { runtime.Goexit(); return nil, nil }, want: "Order.Panic: handler called runtime.Goexit"},
		{name: "output that is no JSON", handle: func(context.Context, Task) (any, error) { return json.RawMessage(`{"a":`), nil }, want: "Order.InvalidOutput: "},
		{name: "output that cannot be encoded", handle: func(context.Context, Task) (any, error) { return make(chan int), nil }, want: "Order.InvalidOutput: "},
		{name: "output that is too large", handle: func(context.Context, Task) (any, error) { return big, nil }, want: "Order.DataLimit: "},
		{name: "a cause that is too long is cut between runes", handle: func(context.Context, Task) (any, error) {
			return nil, Fail("Order.Long", errors.New(strings.Repeat("ü", maxCause)))
		}, want: "Order.Long: " + strings.Repeat("ü", maxCause/2)},
		{name: "a handler that takes too long", handle: func(ctx context.Context, _ Task) (any, error) { <-ctx.Done(); return nil, ctx.Err() },
			want: "Order.Deadline: activities: handler took too long: context deadline exceeded"},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m := newTaskMachine(t, "")
				r := m.start(m.config(c.handle, func(cfg *Config) { cfg.Activities[0].Timeout = 300 * time.Millisecond }))
				if got := m.result(m.execute(`{"a":1}`)); !strings.HasPrefix(got, c.want) {
					t.Errorf("result %.300s, want %.300s", got, c.want)
				}

				if err := r.stop(); err != nil {
					t.Errorf("Run: %v", err)
				}
			})
		})
	}
}

func TestWorkerPoint13_ALargeOutputIsOffloaded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newTaskMachine(t, "")
		r := m.start(m.config(func(context.Context, Task) (any, error) { return strings.Repeat("x", maxOutput), nil }, func(c *Config) {
			c.Offload = func(_ context.Context, _ Task, output json.RawMessage) (json.RawMessage, error) {
				return json.RawMessage(fmt.Sprintf(`{"stored":%d}`, len(output))), nil
			}
		}))
		if got := m.result(m.execute(`{}`)); got != `{"stored":262146}` {
			t.Errorf("result %s", got)
		}

		if err := r.stop(); err != nil {
			t.Errorf("Run: %v", err)
		}
	})
}

func TestWorkerPoint01_NoMoreTasksAreHeldThanThereAreSlots(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newTaskMachine(t, "")
		var held, most atomic.Int32

		r := m.start(m.config(func(ctx context.Context, _ Task) (any, error) {
			n := held.Add(1)
			defer held.Add(-1)

			for top := most.Load(); n > top && !most.CompareAndSwap(top, n); top = most.Load() {
			}
			worker.Wait(ctx, time.Millisecond)

			return nil, nil
		}, func(c *Config) { c.Activities[0].Slots, c.Activities[0].Pollers = 3, 8 }))
		var all []string
		for range 60 {
			all = append(all, m.execute(`{}`))
		}

		for _, arn := range all {
			m.result(arn)
		}

		if err := r.stop(); err != nil {
			t.Errorf("Run: %v", err)
		}

		if most.Load() > 3 || len(m.ends(60)) != 60 {
			t.Errorf("%d tasks at once with 3 slots", most.Load())
		}
	})
}

func TestAParkedTaskIsLeftToAnotherProgram(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newTaskMachine(t, "")
		token := make(chan Token, 1)
		r := m.start(m.config(func(_ context.Context, t Task) (any, error) { token <- t.Token; return nil, ErrParked }))
		arn := m.execute(`{}`)
		parked := <-token

		if d := m.ends(1)[0]; d.Outcome != Parked || d.Err != nil {
			t.Errorf("ended as %+v", d)
		}

		if err := r.stop(); err != nil {
			t.Errorf("Run: %v", err)
		}

		text, output := string(parked), `"later"`
		if _, err := m.sfn.SendTaskSuccess(context.Background(), &sfn.SendTaskSuccessInput{TaskToken: &text, Output: &output}); err != nil {
			t.Fatal(err)
		}

		if got := m.result(arn); got != output {
			t.Errorf("result %s", got)
		}
	})
}

func TestHeartbeatsKeepALongTaskAlive(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newTaskMachine(t, `"HeartbeatSeconds":1,`)
		r := m.start(m.config(func(ctx context.Context, _ Task) (any, error) {
			worker.Wait(ctx, 2500*time.Millisecond)
			return "done", ctx.Err()
		}, func(c *Config) { c.Activities[0].Heartbeat = time.Second }))
		if got := m.result(m.execute(`{}`)); got != `"done"` {
			t.Errorf("result %s", got)
		}

		if err := r.stop(); err != nil {
			t.Errorf("Run: %v", err)
		}

		beats := m.transport.Count("SendTaskHeartbeat")
		if beats < 6 || beats > 12 {
			t.Errorf("%d heartbeats in 2.5 s", beats)
		}
	})
}

func TestThrottledHeartbeatsEndTheHandlerBeforeTheServiceGivesTheTaskAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newTaskMachine(t, `"HeartbeatSeconds":1,`)
		m.transport.Inject(embeddedtest.Throttle("SendTaskHeartbeat"))

		var took atomic.Int64
		r := m.start(m.config(func(ctx context.Context, _ Task) (any, error) {
			began := time.Now()
			<-ctx.Done()
			took.Store(int64(time.Since(began)))
			return nil, context.Cause(ctx)
		}, func(c *Config) { c.Activities[0].Heartbeat = time.Second }))
		arn := m.execute(`{}`)

		d := m.ends(1)[0]
		if d.Outcome != Lost || !errors.Is(d.Err, ErrTaskLost) {
			t.Errorf("ended as %+v", d)
		}

		if d := time.Duration(took.Load()); d >= time.Second || d < 500*time.Millisecond {
			t.Errorf("the handler ended after %v", d)
		}

		if m.transport.Count("SendTaskFailure") != 0 {
			t.Error("a task that another worker may have was answered")
		}

		if got := m.result(arn); !strings.HasPrefix(got, "States.Timeout") && !strings.HasPrefix(got, "States.HeartbeatTimeout") {
			t.Errorf("result %s", got)
		}

		if err := r.stop(); err != nil {
			t.Errorf("Run: %v", err)
		}
	})
}

func TestAStoppedExecutionEndsTheHandler(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newTaskMachine(t, `"HeartbeatSeconds":1,`)
		entered := make(chan struct{})
		r := m.start(m.config(func(ctx context.Context, _ Task) (any, error) {
			close(entered)
			<-ctx.Done()
			return nil, context.Cause(ctx)
		}, func(c *Config) { c.Activities[0].Heartbeat = time.Second }))
		arn := m.execute(`{}`)
		<-entered

		if _, err := m.sfn.StopExecution(context.Background(), &sfn.StopExecutionInput{ExecutionArn: &arn}); err != nil {
			t.Fatal(err)
		}

		if d := m.ends(1)[0]; d.Outcome != Lost || !errors.Is(d.Err, ErrTaskLost) {
			t.Errorf("ended as %+v", d)
		}

		if err := r.stop(); err != nil {
			t.Errorf("Run: %v", err)
		}
	})
}

func TestAnAnswerIsRepeatedUntilItIsAccepted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newTaskMachine(t, "")
		m.transport.Inject(embeddedtest.Throttle("SendTaskSuccess").Next(3))

		r := m.start(m.config(func(context.Context, Task) (any, error) { return 1, nil }))
		if got := m.result(m.execute(`{}`)); got != "1" {
			t.Errorf("result %s", got)
		}

		if d := m.ends(1)[0]; d.Outcome != Succeeded {
			t.Errorf("ended as %+v", d)
		}

		if err := r.stop(); err != nil {
			t.Errorf("Run: %v", err)
		}
	})
}

func TestWorkerPoint11_ALostAnswerCountsAndIsReportedAsUnknown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newTaskMachine(t, "")
		m.transport.Inject(embeddedtest.LoseAnswer("SendTaskSuccess").Next(1))

		r := m.start(m.config(func(context.Context, Task) (any, error) { return 1, nil }))
		if got := m.result(m.execute(`{}`)); got != "1" {
			t.Errorf("result %s", got)
		}

		if d := m.ends(1)[0]; d.Outcome != Unknown {
			t.Errorf("ended as %+v", d)
		}

		if err := r.stop(); err != nil {
			t.Errorf("Run: %v", err)
		}
	})
}

func TestAnUndeliverableAnswerGivesTheSlotBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newTaskMachine(t, "")
		m.transport.Inject(embeddedtest.LoseRequest("SendTaskSuccess", "SendTaskFailure", "SendTaskHeartbeat"))

		r := m.start(m.config(func(context.Context, Task) (any, error) { return 1, nil }, func(c *Config) {
			c.answerTimeout, c.Activities[0].Slots = 100*time.Millisecond, 1
		}))
		m.execute(`{}`)
		m.execute(`{}`)

		for _, d := range m.ends(2) {
			if d.Outcome != Unanswered || d.Err == nil {
				t.Errorf("ended as %+v", d)
			}
		}

		if err := r.stop(); err != nil {
			t.Errorf("Run: %v", err)
		}
	})
}

func TestAStopLetsTasksFinishThenCancelsThemThenAnswersThem(t *testing.T) {
	for _, c := range []struct {
		name   string
		handle HandlerFunc
		want   string
		err    error
	}{
		{name: "a task that finishes in time succeeds", handle: func(ctx context.Context, _ Task) (any, error) {
			worker.Wait(ctx, 100*time.Millisecond)
			return "ok", ctx.Err()
		}, want: `"ok"`, err: nil},
		{name: "a task that does not is interrupted", handle: func(ctx context.Context, _ Task) (any, error) { <-ctx.Done(); return nil, ctx.Err() },
			want: "Order.WorkerShutdown: activities: worker shutting down: context canceled", err: ErrForced},
		{name: "a task that ignores that is answered for", handle: func(ctx context.Context, _ Task) (any, error) {
			worker.Wait(context.Background(), time.Second)
			return nil, nil
		}, want: "Order.WorkerShutdown: the worker stopped and the handler did not", err: ErrStuck},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m := newTaskMachine(t, "")
				entered, left := make(chan struct{}), make(chan struct{})
				r := m.start(m.config(func(ctx context.Context, t Task) (any, error) {
					close(entered)
					defer close(left)
					return c.handle(ctx, t)
				}, func(c *Config) { c.DrainTimeout, c.drainGrace = 300*time.Millisecond, 200*time.Millisecond }))
				arn := m.execute(`{}`)
				<-entered

				if err := r.stop(); !errors.Is(err, c.err) {
					t.Errorf("Run: %v, want %v", err, c.err)
				}

				if got := m.result(arn); got != c.want {
					t.Errorf("result %s, want %s", got, c.want)
				}
				<-left
			})
		})
	}
}

func TestWorkerPoint17_AHandlerThatIgnoresItsDeadlineIsAnsweredForAndItsSlotIsFree(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newTaskMachine(t, "")
		release := make(chan struct{})
		var n atomic.Int32

		r := m.start(m.config(func(context.Context, Task) (any, error) {
			if n.Add(1) == 1 {
				<-release
			}
			return "ok", nil
		}, func(c *Config) {
			c.Activities[0].Slots, c.Activities[0].Timeout, c.drainGrace = 1, 50*time.Millisecond, 50*time.Millisecond
		}))
		if got := m.result(m.execute(`{}`)); got != "Order.Deadline: the handler did not return" {
			t.Errorf("result %s", got)
		}

		if got := m.result(m.execute(`{}`)); got != `"ok"` {
			t.Errorf("result %s", got)
		}
		close(release)
		m.until("the handler has returned", func() bool { return r.pollers[0].strandedHandlers() == 0 })

		if err := r.stop(); err != nil {
			t.Errorf("Run: %v", err)
		}
	})
}

func TestPollErrorsAreRetriedAndFatalOnlyWhenNoRetryHelps(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newTaskMachine(t, "")
		quota := m.transport.Inject(embeddedtest.Answer("ActivityWorkerLimitExceeded", "GetActivityTask"))

		var failures atomic.Int32
		r := m.start(m.config(func(context.Context, Task) (any, error) { return 1, nil }, func(c *Config) {
			c.fatalAfter = 200 * time.Millisecond
			c.Events.PollFailed = func(string, error) { failures.Add(1) }
		}))
		m.until("a poll was refused", func() bool { return failures.Load() >= 2 })
		quota.Remove()

		if got := m.result(m.execute(`{}`)); got != "1" {
			t.Errorf("result %s", got)
		}

		if err := r.Ready(); err != nil {
			t.Errorf("Ready: %v", err)
		}
		m.transport.Inject(embeddedtest.Answer("ActivityDoesNotExist", "GetActivityTask"))
		m.execute(`{}`)
		<-r.done

		if err := r.stop(); err == nil || !strings.Contains(err.Error(), "ActivityDoesNotExist") {
			t.Errorf("Run: %v", err)
		}
	})
}

func TestTokensAreNotPrinted(t *testing.T) {
	secret := Token("AAAAsecret")
	task := Task{Token: secret, Activity: "a", Worker: "w", Input: json.RawMessage(`{"card":1}`)}
	var out strings.Builder
	log := slog.New(slog.NewTextHandler(&out, nil))
	log.Info("x", "token", secret, "task", task)
	fmt.Fprintf(&out, "%v %s %#v %+v", secret, secret, secret, []any{secret})

	if s := out.String(); strings.Contains(s, "secret") || strings.Contains(s, "card") || strings.Count(s, secret.String()) < 5 {
		t.Error(s)
	}
}
