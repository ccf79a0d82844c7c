package activities

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"ratchet/embedded/embeddedtest"
	"ratchet/internal/worker"
)

func wantNil(t *testing.T, err error) {
	t.Helper()

	if err != nil {
		t.Errorf("Run: %v", err)
	}
}

func TestSelfFenceComesBeforeHeartbeatSecondsAreOver(t *testing.T) {
	for _, fault := range []embeddedtest.Fault{embeddedtest.Throttle("SendTaskHeartbeat"), embeddedtest.LoseRequest("SendTaskHeartbeat")} {
		synctest.Test(t, func(t *testing.T) {
			s := newScript("t")
			s.transport.Inject(fault)
			began := time.Now()
			var ended time.Duration
			var cause error
			r := begin(t, s.config(func(ctx context.Context, _ Task) (any, error) {
				<-ctx.Done()
				ended, cause = time.Since(began), context.Cause(ctx)
				return nil, cause
			}))
			time.Sleep(2 * time.Minute)
			wantNil(t, r.stop())

			if !errors.Is(cause, ErrTaskLost) || ended >= 30*time.Second || ended < 25*time.Second {
				t.Errorf("handler ended after %v by %v", ended, cause)
			}

			if n := len(s.of("SendTaskFailure")); n != 0 {
				t.Errorf("%d answers for a task that another worker may have", n)
			}
		})
	}
}

func TestWorkerPoint07_ThrottlingShorterThanHeartbeatSecondsIsHarmless(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScript("t")
		s.transport.Inject(embeddedtest.Throttle("SendTaskHeartbeat").If(func(*embeddedtest.Call) bool {
			at := time.Since(s.began)
			return at > 20*time.Second && at < 40*time.Second
		}))
		r := begin(t, s.config(func(ctx context.Context, _ Task) (any, error) {
			worker.Wait(ctx, 2*time.Minute)
			return "ok", ctx.Err()
		}))
		time.Sleep(3 * time.Minute)
		wantNil(t, r.stop())

		if n := len(s.of("SendTaskSuccess")); n != 1 {
			t.Errorf("%d successes", n)
		}
	})
}

func TestWorkerPoint06_TheHandlerEndsAtOnceWhenTheServiceSaysTheTaskIsLost(t *testing.T) {
	for _, code := range []string{"TaskTimedOut", "TaskDoesNotExist", "InvalidToken"} {
		synctest.Test(t, func(t *testing.T) {
			s := newScript("t")
			s.transport.Inject(embeddedtest.Answer(code, "SendTaskHeartbeat"))
			var done Done
			r := begin(t, s.config(func(ctx context.Context, _ Task) (any, error) {
				<-ctx.Done()
				return "too late", nil
			}, func(c *Config) { c.Events.Done = func(d Done) { done = d } }))
			time.Sleep(time.Minute)
			wantNil(t, r.stop())

			if done.Outcome != Lost || done.Ran > 10*time.Second || len(s.of("SendTaskSuccess")) != 0 {
				t.Errorf("%s: ended as %+v", code, done)
			}
		})
	}
}

func TestWorkerPoint03_APollStaysOpenForSixtySecondsAndThroughAStop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScript()
		var done Done
		r := begin(t, s.config(func(context.Context, Task) (any, error) { return 1, nil }, func(c *Config) {
			c.PollGrace, c.Events.Done = 65*time.Second, func(d Done) { done = d }
		}))
		time.Sleep(70 * time.Second)

		if n := len(s.of("GetActivityTask")); n != 2 {
			t.Errorf("%d polls in 70 s", n)
		}
		go func() { time.Sleep(10 * time.Second); s.tokens <- "late" }()
		wantNil(t, r.stop())

		if done.Outcome != Succeeded {
			t.Errorf("a token that came during the drain ended as %+v", done)
		}
	})
}

func TestATokenThatArrivesAfterTheDrainTimeoutIsGivenBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScript()
		r := begin(t, s.config(func(context.Context, Task) (any, error) { return 1, nil }, func(c *Config) {
			c.DrainTimeout, c.PollGrace = time.Second, 65*time.Second
		}))
		synctest.Wait()
		go func() { time.Sleep(10 * time.Second); s.tokens <- "late" }()

		if err := r.stop(); !errors.Is(err, ErrForced) {
			t.Errorf("Run: %v", err)
		}

		answers := s.of("SendTaskFailure")
		if len(answers) != 1 || !strings.Contains(answers[0].body, `"Worker.WorkerShutdown"`) {
			t.Errorf("answers %v", answers)
		}
	})
}

func TestAnUnreachableServiceDoesNotKeepTheWorkerFromStopping(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScript("t")
		s.transport.Inject(embeddedtest.LoseRequest("SendTaskSuccess"))
		var done Done
		r := begin(t, s.config(func(context.Context, Task) (any, error) { return 1, nil },
			func(c *Config) { c.Events.Done = func(d Done) { done = d } }))
		time.Sleep(time.Second)
		began := time.Now()

		if err := r.stop(); !errors.Is(err, ErrForced) {
			t.Errorf("Run: %v", err)
		}

		if took := time.Since(began); took > 51*time.Second || done.Outcome != Unanswered {
			t.Errorf("stopped after %v, the task ended as %+v", took, done)
		}
	})
}
