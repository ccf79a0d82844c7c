package activities

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/sfn"

	"ratchet/internal/worker"
)

// script answers on the wire what the engine cannot be made to: in bubbles of
// virtual time, with answers that are late, lost or refused. It hands out
// tokens that tests put in and notes each call with its time since the start.
type script struct {
	tokens chan string
	began  time.Time
	quiet  bool // note no calls
	mu     sync.Mutex
	rule   func(op, token string) error
	calls  []sentCall
}

type sentCall struct {
	op, token, body string
	at              time.Duration
}

func newScript(tokens ...string) *script {
	s := &script{tokens: make(chan string, 4096), began: time.Now()}
	for _, t := range tokens {
		s.tokens <- t
	}

	return s
}

func (s *script) config(handle HandlerFunc, edit ...func(*Config)) Config {
	c := Config{
		SFN: sfn.NewFromConfig(aws.Config{
			Region: "us-east-1", HTTPClient: &http.Client{Transport: s}, BaseEndpoint: aws.String("http://script"),
			Credentials: credentials.NewStaticCredentialsProvider("a", "b", ""),
		}),
		Activities: []Activity{{ARN: "arn:aws:states:us-east-1:0:activity:a", Handle: handle, Slots: 1, Heartbeat: 30 * time.Second}},
		Log:        slog.New(slog.DiscardHandler), PollGrace: -1,
	}
	for _, e := range edit {
		e(&c)
	}

	return c
}

// of lists the calls of one operation.
func (s *script) of(op string) []sentCall {
	s.mu.Lock()
	defer s.mu.Unlock()

	var out []sentCall
	for _, c := range s.calls {
		if c.op == op {
			out = append(out, c)
		}
	}

	return out
}

func (s *script) set(rule func(op, token string) error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.rule = rule
}

func (s *script) RoundTrip(r *http.Request) (*http.Response, error) {
	_, op, _ := strings.Cut(r.Header.Get("X-Amz-Target"), ".")
	body, _ := io.ReadAll(r.Body)
	var in struct {
		TaskToken string `json:"taskToken"`
	}
	_ = json.Unmarshal(body, &in)
	s.mu.Lock()
	if !s.quiet {
		s.calls = append(s.calls, sentCall{op, in.TaskToken, string(body), time.Since(s.began)})
	}
	rule := s.rule
	s.mu.Unlock()

	if rule != nil {
		if err := rule(op, in.TaskToken); err != nil {
			var refusal awsRefusal
			if errors.As(err, &refusal) {
				return respond(r, http.StatusBadRequest, `{"__type":"`+string(refusal)+`","message":"by the script"}`), nil
			}

			return nil, err
		}
	}

	if op != "GetActivityTask" {
		return respond(r, http.StatusOK, `{}`), nil
	}
	timer := time.NewTimer(60 * time.Second)
	defer timer.Stop()

	select {
	case <-r.Context().Done():
		return nil, r.Context().Err()
	case <-timer.C:
		return respond(r, http.StatusOK, `{"taskToken":null}`), nil
	case t := <-s.tokens:
		return respond(r, http.StatusOK, `{"taskToken":"`+t+`","input":"{}"}`), nil
	}
}

func respond(r *http.Request, status int, body string) *http.Response {
	return &http.Response{StatusCode: status, Header: http.Header{"Content-Type": {"application/x-amz-json-1.0"}},
		Body: io.NopCloser(strings.NewReader(body)), Request: r, ProtoMajor: 1, ProtoMinor: 1}
}

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
	for _, fault := range []error{awsRefusal("ThrottlingException"), errors.New("no network")} {
		synctest.Test(t, func(t *testing.T) {
			s := newScript("t")
			s.set(func(op, _ string) error {
				if op == "SendTaskHeartbeat" {
					return fault
				}
				return nil
			})
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
				t.Errorf("%d answers for a task that may be another's", n)
			}
		})
	}
}

func TestThrottlingShorterThanHeartbeatSecondsIsHarmless(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScript("t")
		s.set(func(op, _ string) error {
			if at := time.Since(s.began); op == "SendTaskHeartbeat" && at > 20*time.Second && at < 40*time.Second {
				return awsRefusal("ThrottlingException")
			}
			return nil
		})
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
			s.set(func(op, _ string) error {
				if op == "SendTaskHeartbeat" {
					return awsRefusal(code)
				}
				return nil
			})
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
		s.set(func(op, _ string) error {
			if op == "SendTaskSuccess" && time.Since(s.began) < 90*time.Second {
				return awsRefusal("ThrottlingException")
			}
			return nil
		})
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
		s.set(func(op, _ string) error { return awsRefusal("ActivityWorkerLimitExceeded") })
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
		s.set(func(string, string) error { return awsRefusal("AccessDeniedException") })
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
			c.HeartbeatsPerSecond = 100
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
		s.set(func(string, string) error { return errors.New("no network") })
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
		s.set(func(op, _ string) error {
			if op == "SendTaskSuccess" {
				return errors.New("no network")
			}
			return nil
		})
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
