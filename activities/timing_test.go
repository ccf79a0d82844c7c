package activities

import (
	"context"
	"errors"
	"log/slog"
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

func TestHeartbeatsComeWithinAThirdOfHeartbeatSecondsAndNoneAfterTheAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScript("t")
		r := begin(t, s.config(func(ctx context.Context, _ Task) (any, error) {
			worker.Wait(ctx, 10*time.Minute)
			return nil, ctx.Err()
		}))
		time.Sleep(11 * time.Minute)
		wantNil(t, r.stop())

		last := time.Duration(0)
		beats := s.of("SendTaskHeartbeat")
		for _, b := range beats {
			if b.at-last > 10*time.Second || b.at-last < 7*time.Second {
				t.Errorf("a beat came %v after the one before", b.at-last)
			}
			last = b.at
		}

		answers := s.of("SendTaskSuccess")
		if len(beats) < 60 || len(answers) != 1 || last > answers[0].at {
			t.Errorf("%d beats, last at %v; answers %v", len(beats), last, answers)
		}
	})
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

func TestThrottlingShorterThanHeartbeatSecondsIsHarmless(t *testing.T) {
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

func TestTheHandlerEndsAtOnceWhenTheServiceSaysTheTaskIsLost(t *testing.T) {
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

func TestAnAnswerThatCannotBeDeliveredKeepsTheTaskAlive(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScript("t")
		s.transport.Inject(embeddedtest.Throttle("SendTaskSuccess").If(func(*embeddedtest.Call) bool {
			return time.Since(s.began) < 90*time.Second
		}))
		var done Done
		r := begin(t, s.config(func(context.Context, Task) (any, error) { return 1, nil },
			func(c *Config) { c.Events.Done = func(d Done) { done = d } }))
		time.Sleep(2 * time.Minute)
		wantNil(t, r.stop())

		if done.Outcome != Succeeded {
			t.Errorf("ended as %+v", done)
		}

		last := time.Duration(0)
		for _, b := range s.of("SendTaskHeartbeat") {
			if b.at-last > 20*time.Second {
				t.Errorf("no beat for %v", b.at-last)
			}
			last = b.at
		}

		answers := s.of("SendTaskSuccess")
		for _, a := range answers {
			if a.body != answers[0].body {
				t.Errorf("answer changed: %s", a.body)
			}
		}

		if last > answers[len(answers)-1].at {
			t.Error("a beat after the answer")
		}
	})
}

func TestAPollStaysOpenForSixtySecondsAndThroughAStop(t *testing.T) {
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
		wantNil(t, r.stop())

		answers := s.of("SendTaskFailure")
		if len(answers) != 1 || !strings.Contains(answers[0].body, `"Worker.WorkerShutdown"`) {
			t.Errorf("answers %v", answers)
		}
	})
}

func TestPollErrorsAreLoggedOnceAMinuteAndQuotaErrorsReduceThePolls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScript()
		s.transport.Inject(embeddedtest.Answer("ActivityWorkerLimitExceeded"))
		var log strings.Builder
		r := begin(t, s.config(func(context.Context, Task) (any, error) { return 1, nil }, func(c *Config) {
			c.Log = slog.New(slog.NewTextHandler(&log, nil))
			c.Activities[0].Slots, c.Activities[0].Pollers = 8, 8
		}))
		time.Sleep(5 * time.Minute)
		wantNil(t, r.stop())

		if n := strings.Count(log.String(), "\n"); n < 4 || n > 6 {
			t.Errorf("%d lines in 5 minutes", n)
		}

		if n := len(s.of("GetActivityTask")); n > 100 {
			t.Errorf("%d polls although the service says there are too many", n)
		}

		if n := r.pollers[0].allowed.Load(); n != 1 {
			t.Errorf("%d pollers left", n)
		}
	})
}

func TestAPollErrorThatNoRetryChangesIsFatalAfterAWhile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScript()
		s.transport.Inject(embeddedtest.Answer("AccessDeniedException"))
		began := time.Now()
		r := begin(t, s.config(func(context.Context, Task) (any, error) { return 1, nil }))
		<-r.done

		if took := time.Since(began); r.stop() == nil || took < 2*time.Minute || took > 3*time.Minute {
			t.Errorf("Run: %v after %v", r.stop(), took)
		}
	})
}

func TestTheHeartbeatsOfAllTasksShareOneRateLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScript()
		for range 1000 {
			s.tokens <- "t"
		}
		r := begin(t, s.config(func(ctx context.Context, _ Task) (any, error) {
			worker.Wait(ctx, time.Minute)
			return nil, ctx.Err()
		}, func(c *Config) {
			c.Rates.SendTaskHeartbeat = 100
			c.Activities[0].Slots, c.Activities[0].Pollers = 1000, 4
		}))
		time.Sleep(2 * time.Minute)
		wantNil(t, r.stop())

		beats := s.of("SendTaskHeartbeat")
		for i := 110; i < len(beats); i++ {
			if beats[i].at-beats[i-110].at < time.Second {
				t.Fatalf("110 beats in %v", beats[i].at-beats[i-110].at)
			}
		}

		if n := len(s.of("SendTaskSuccess")); n != 1000 {
			t.Errorf("%d of 1000 tasks succeeded with %d beats", n, len(beats))
		}
	})
}

func TestTheWorkerIsUnreadyWhenNoPollIsAnswered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScript()
		r := begin(t, s.config(func(context.Context, Task) (any, error) { return 1, nil }))
		time.Sleep(65 * time.Second)

		if err := r.Ready(); err != nil {
			t.Errorf("Ready: %v", err)
		}
		s.transport.Inject(embeddedtest.LoseRequest())
		time.Sleep(3 * time.Minute)

		if r.Ready() == nil {
			t.Error("ready although no poll was answered for minutes")
		}
		wantNil(t, r.stop())
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
		wantNil(t, r.stop())

		if took := time.Since(began); took > 51*time.Second || done.Outcome != Unanswered {
			t.Errorf("stopped after %v, the task ended as %+v", took, done)
		}
	})
}
