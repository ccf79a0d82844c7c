package activities

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"ratchet/embedded/embeddedtest"
	"ratchet/internal/worker"
)

func succeed(context.Context, Task) (any, error) { return 1, nil }

func TestMiddlewareWrapsEveryHandlerTheFirstOutermost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var trace []string
		layer := func(name string) Middleware {
			return func(next HandlerFunc) HandlerFunc {
				return func(ctx context.Context, task Task) (any, error) {
					trace = append(trace, name)
					return next(ctx, task)
				}
			}
		}

		s := newScript("t")
		r := begin(t, s.config(succeed, func(c *Config) { c.Middleware = []Middleware{layer("outer"), layer("inner")} }))
		synctest.Wait()
		wantNil(t, r.stop())

		if got := strings.Join(trace, " "); got != "outer inner" {
			t.Errorf("called %s", got)
		}
	})
}

func TestAWorkerWithAllItsSlotsAtWorkIsReady(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScript("t")
		r := begin(t, s.config(func(ctx context.Context, _ Task) (any, error) {
			worker.Wait(ctx, 10*time.Minute)
			return nil, nil
		}))
		time.Sleep(5 * time.Minute) // no poll is open

		if err := r.Ready(); err != nil {
			t.Errorf("Ready: %v", err)
		}

		time.Sleep(6 * time.Minute)
		wantNil(t, r.stop())
	})
}

func TestAPollThatIsNotAnsweredInTimeIsAFailure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var failure error
		s := newScript() // answers an empty poll after 60 s
		r := begin(t, s.config(succeed, func(c *Config) {
			c.PollTimeout = 30 * time.Second
			c.Events.PollFailed = func(_ string, err error) { failure = err }
		}))
		time.Sleep(31 * time.Second)
		wantNil(t, r.stop())

		if failure == nil || !strings.Contains(failure.Error(), "poll of a was not answered within 30s") {
			t.Errorf("got %v", failure)
		}
	})
}

func TestPollsComeBackAfterQuotaErrors(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScript()
		quota := s.transport.Inject(embeddedtest.Answer("ActivityWorkerLimitExceeded"))
		r := begin(t, s.config(succeed, func(c *Config) { c.Activities[0].Slots, c.Activities[0].Pollers = 4, 4 }))
		time.Sleep(time.Minute)

		if n := r.pollers[0].allowed.Load(); n != 1 {
			t.Errorf("%d polls allowed after a minute of quota errors, want 1", n)
		}

		quota.Remove()
		time.Sleep(3 * time.Hour)

		if n := r.pollers[0].allowed.Load(); n != 4 {
			t.Errorf("%d polls allowed again, want all 4", n)
		}
		wantNil(t, r.stop())
	})
}

func TestAnOutputThatTheServiceRefusesBecomesAFailure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var done Done
		s := newScript("t")
		s.transport.Inject(embeddedtest.Answer("InvalidOutput", "SendTaskSuccess"))
		r := begin(t, s.config(succeed, func(c *Config) { c.Events.Done = func(d Done) { done = d } }))
		synctest.Wait()
		wantNil(t, r.stop())

		failures := s.of("SendTaskFailure")
		if len(failures) != 1 || !strings.Contains(failures[0].body, `"Worker.InvalidOutput"`) {
			t.Errorf("sent %v", failures)
		}

		if done.Outcome != Failed || done.Err == nil {
			t.Errorf("ended as %+v", done)
		}
	})
}

func TestWhatOffloadReturnsIsCheckedLikeAnOutput(t *testing.T) {
	for _, row := range []struct {
		is      string
		offload func() (json.RawMessage, error)
		want    string // in the failure
	}{
		{is: "a panic", offload: func() (json.RawMessage, error) { panic("disk") }, want: "Worker.Panic"},
		{is: "an error", offload: func() (json.RawMessage, error) { return nil, errors.New("disk full") }, want: "disk full"},
		{is: "no JSON", offload: func() (json.RawMessage, error) { return json.RawMessage("s3:"), nil }, want: "Worker.InvalidOutput"},
		{is: "still too large", offload: func() (json.RawMessage, error) {
			return json.RawMessage(`"` + strings.Repeat("x", maxOutput) + `"`), nil
		}, want: "Worker.DataLimit"},
	} {
		t.Run(row.is, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newScript("t")
				r := begin(t, s.config(func(context.Context, Task) (any, error) { return strings.Repeat("x", maxOutput), nil }, func(c *Config) {
					c.Offload = func(context.Context, Task, json.RawMessage) (json.RawMessage, error) { return row.offload() }
				}))
				synctest.Wait()
				wantNil(t, r.stop())

				failures := s.of("SendTaskFailure")
				if len(failures) != 1 || !strings.Contains(failures[0].body, row.want) {
					t.Errorf("sent %.300v, want %s", failures, row.want)
				}
			})
		})
	}
}

func TestEveryFaultOfAConfigurationIsReported(t *testing.T) {
	_, err := New(Config{
		ErrorPrefix: "States.",
		Activities: []Activity{
			{ARN: "a", Handle: succeed, Slots: -1},
			{Handle: succeed},
			{ARN: "a", Handle: succeed, Heartbeat: time.Millisecond},
		},
	})
	if err == nil {
		t.Fatal("no error")
	}

	want := []string{
		"activities: Config.SFN must be set",
		`activities: Config.ErrorPrefix starts with "States.", which is the service's own`,
		"activities: a has -1 slots and 0 pollers, want at least 1",
		"activities: activity 1 needs an ARN and a Handle",
		"activities: a is served twice",
		"activities: heartbeat of a is 1ms, want at least 1s",
	}
	if got := strings.Split(err.Error(), "\n"); strings.Join(got, "|") != strings.Join(want, "|") {
		t.Errorf("got\n%s\nwant\n%s", err, strings.Join(want, "\n"))
	}
}
