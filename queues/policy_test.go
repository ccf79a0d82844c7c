package queues

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"ratchet/embedded/embeddedtest"
)

func done(context.Context, Message) Outcome { return Done() }

func TestTheMiddlewareOfAConsumerWrapsItsHandlerTheFirstOutermost(t *testing.T) {
	onQueues(t, "", func(t *testing.T, q *queuePair) {
		var trace []string
		layer := func(name string) Middleware {
			return func(next Handler) Handler {
				return func(ctx context.Context, m Message) Outcome {
					trace = append(trace, name)
					return next(ctx, m)
				}
			}
		}
		cfg := q.config(done)
		cfg.Middleware = []Middleware{layer("outer"), layer("inner")}

		q.send("a")
		stop := q.run(cfg)
		synctest.Wait()
		stop()

		if !slices.Equal(trace, []string{"outer", "inner"}) {
			t.Errorf("called %v", trace)
		}
	})
}

func TestAConsumerIsReadyWhilePollsAreAnsweredOrAllSlotsAreAtWork(t *testing.T) {
	onQueues(t, "", func(t *testing.T, q *queuePair) {
		cfg := q.config(func(context.Context, Message) Outcome {
			time.Sleep(5 * time.Minute)
			return Done()
		})
		cfg.Slots, cfg.waitTime, cfg.Timeout = 1, 5*time.Second, 10*time.Minute

		c, err := New(cfg)
		if err != nil {
			t.Fatal(err)
		}
		check := func(when string, ready bool) {
			t.Helper()
			synctest.Wait()

			if err := c.Ready(); (err == nil) != ready {
				t.Errorf("%s: %v", when, err)
			}
		}
		check("before Run", true)

		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- c.Run(ctx) }()
		check("during the first poll", true)

		time.Sleep(time.Minute)
		check("while polls are answered", true)

		q.send("a")
		time.Sleep(2 * time.Minute)
		check("while the only slot is at work", true)

		time.Sleep(4 * time.Minute) // the handler has returned
		q.transport.Inject(embeddedtest.LoseRequest("ReceiveMessage"))
		time.Sleep(time.Minute)
		check("while no poll is answered", false)

		cancel()

		if err := <-ended; err != nil {
			t.Errorf("run: %v", err)
		}
	})
}

// TestTheDrainFollowsItsConfiguration has a handler that ignores the end of its context
// for a while.
func TestTheDrainFollowsItsConfiguration(t *testing.T) {
	for _, row := range []struct {
		name    string
		ignores time.Duration
		took    time.Duration
		want    error
	}{
		{name: "a handler that returns within the grace", ignores: 2 * time.Second, took: 9 * time.Second},
		{name: "a handler that does not", ignores: time.Hour, took: 7*time.Second + 3*time.Second + lastCalls, want: ErrStuck},
	} {
		t.Run(row.name, func(t *testing.T) {
			onQueues(t, "", func(t *testing.T, q *queuePair) {
				cfg := q.config(func(ctx context.Context, _ Message) Outcome {
					<-ctx.Done()
					time.Sleep(row.ignores)

					return Done()
				})
				cfg.DrainTimeout, cfg.drainGrace = 7*time.Second, 3*time.Second

				c, err := New(cfg)
				if err != nil {
					t.Fatal(err)
				}
				ctx, cancel := context.WithCancel(t.Context())
				ended := make(chan error, 1)
				go func() { ended <- c.Run(ctx) }()

				q.send("a")
				synctest.Wait()
				cancel()

				began := time.Now()
				if err := <-ended; !errors.Is(err, row.want) || time.Since(began) != row.took {
					t.Errorf("run: %v after %v, want %v after %v", err, time.Since(began), row.want, row.took)
				}
				time.Sleep(row.ignores) // the handler's goroutine ends
			})
		})
	}
}

func TestPollsThatNoRetryHelpsEndRunAfterAWhile(t *testing.T) {
	for _, row := range []struct {
		code  string
		fatal bool
	}{
		{code: "AccessDeniedException", fatal: true},
		{code: "KmsAccessDenied", fatal: true},
		{code: "ThrottlingException", fatal: false},
	} {
		onQueues(t, "", func(t *testing.T, q *queuePair) {
			q.transport.Inject(embeddedtest.Answer(row.code, "ReceiveMessage"))

			failures := 0
			cfg := q.config(done)
			cfg.fatalAfter = 20 * time.Second
			cfg.Events.PollFailed = func(error) { failures++ }

			c, err := New(cfg)
			if err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()

			if err := c.Run(ctx); (err != nil) != row.fatal || (ctx.Err() == nil) != row.fatal || failures == 0 {
				t.Errorf("%s: run: %v after %d failures", row.code, err, failures)
			}
		})
	}
}

func TestNotYetIsNoAttempt(t *testing.T) {
	onQueues(t, "", func(t *testing.T, q *queuePair) {
		calls := 0
		cfg := q.config(func(context.Context, Message) Outcome {
			if calls++; calls <= 10 {
				return NotYet(time.Second, errors.New("the service does not answer"))
			}

			return Retry(time.Second, nil)
		})
		cfg.Attempts = 2

		q.send("a")
		q.run(cfg)
		time.Sleep(time.Minute)
		synctest.Wait()
		q.expect("in the end", "0+0 1+0")

		if calls != 12 {
			t.Errorf("%d calls, want 10 that do not count and 2 that do", calls)
		}
	})
}

func TestARejectedMessageReturnsWhileTheDeadLetterQueueCannotBeReached(t *testing.T) {
	onQueues(t, "", func(t *testing.T, q *queuePair) {
		outage := q.transport.Inject(embeddedtest.LoseRequest("SendMessage"))

		var (
			mu           sync.Mutex // the hook runs on the goroutine of each message
			dispositions []Disposition
		)
		cfg := q.config(func(context.Context, Message) Outcome { return Reject(errors.New("never")) })
		cfg.Events.Ended = func(e Ended) {
			mu.Lock()
			defer mu.Unlock()
			dispositions = append(dispositions, e.Disposition)
		}

		q.send("a")
		q.run(cfg)
		time.Sleep(time.Minute)
		q.expect("during the outage no message is lost", "0+1 0+0")
		outage.Remove()
		time.Sleep(10 * time.Minute)
		synctest.Wait()
		q.expect("after it", "0+0 1+0")

		mu.Lock()
		defer mu.Unlock()

		if last := len(dispositions) - 1; last < 1 || dispositions[0] != Returned || dispositions[last] != DeadLettered {
			t.Errorf("dispositions %v", dispositions)
		}
	})
}

func TestTheReasonOfADeadLetterIsTextThatTheServiceTakes(t *testing.T) {
	for _, row := range []struct {
		is   string
		err  error
		want string
	}{
		{is: "no reason", err: nil, want: "rejected"},
		{is: "an empty reason", err: errors.New(""), want: "rejected"},
		{is: "characters that XML forbids", err: errors.New("a\x00b\x1bc\uFFFEd\xffe\tf"), want: "a?b?c?d?e\tf"},
		{is: "a long reason, cut between characters", err: errors.New("x" + strings.Repeat("ü", maxReason)), want: "x" + strings.Repeat("ü", maxReason/2-1) + "..."},
	} {
		if got := reasonText(row.err); got != row.want {
			t.Errorf("%s: got %.60q (%d bytes)", row.is, got, len(got))
		}
	}
}

func TestTheMarginOfALambdaIsTheTimeToReportTheBatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()

		began := time.Now()
		l := newLambda(t, LambdaConfig{Margin: 4 * time.Second, Handler: func(ctx context.Context, _ Message) Outcome {
			<-ctx.Done()
			return Retry(0, ctx.Err())
		}})

		out, err := l.Handle(ctx, event(t, "q", "a"))
		if err != nil || failed(out) != "m0" || time.Since(began) != 6*time.Second {
			t.Errorf("failed %q, %v, after %v", failed(out), err, time.Since(began))
		}
	})
}

func TestEveryFaultOfAConfigurationIsReported(t *testing.T) {
	_, err := New(Config{
		SQS:        sqs.New(sqs.Options{}),
		Slots:      -1,
		Visibility: time.Millisecond,
		Timeout:    -time.Second,
		Backoff:    Backoff{Base: time.Hour, Max: time.Second},

		DrainTimeout: -time.Second,
	})
	if err == nil {
		t.Fatal("no error")
	}

	want := []string{
		"queues: Config.SQS and Config.Handler must be set",
		"queues: Config.QueueURL is empty",
		"queues: Config.Slots is -1, want at least 1",
		"queues: Config.Visibility is 1ms, want 1s to 12h in whole seconds",
		"queues: Config.Timeout is -1s, want at most 12h",
		"queues: Config.DrainTimeout is -1s, want at least 0",
		"queues: Backoff from 1h0m0s to 1s: want 0 < Base <= Max <= 12h",
	}
	if got := strings.Split(err.Error(), "\n"); !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", err, strings.Join(want, "\n"))
	}
}

func TestKindsNameThemselves(t *testing.T) {
	for kind, want := range map[Kind]string{KindRetry: "retry", KindDone: "done", KindInProgress: "in_progress", KindReject: "reject", 9: "unknown"} {
		if got := kind.String(); got != want {
			t.Errorf("kind %d is %q, want %q", kind, got, want)
		}
	}
}
