package activities

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"ratchet/embedded/embeddedtest"
)

// logged is a log that a test reads.
type logged struct {
	mu   sync.Mutex
	text strings.Builder
}

func (l *logged) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()

	return l.text.Write(p)
}

func (l *logged) logger() *slog.Logger { return slog.New(slog.NewTextHandler(l, nil)) }

// lines returns the lines that contain a text.
func (l *logged) lines(text string) (found []string) {
	l.mu.Lock()
	defer l.mu.Unlock()

	for line := range strings.Lines(l.text.String()) {
		if strings.Contains(line, text) {
			found = append(found, line)
		}
	}

	return found
}

// open returns how many polls of the only activity are open.
func (r *running) open() int { return r.pollers[0].openPolls() }

// allowed returns how many may be.
func (r *running) allowed() int {
	p := r.pollers[0]
	p.mu.Lock()
	defer p.mu.Unlock()

	return p.pace.allowed
}

func TestWorkerPoint02_AnEmptyPollHasNoTokenANullTokenOrAnEmptyOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScript(`{}`, `{"taskToken":null}`, `{"taskToken":""}`, `{"taskToken":"","input":"{}"}`, "t")
		var started atomic.Int32
		r := begin(t, s.config(succeed, func(c *Config) { c.Events.Started = func(Task) { started.Add(1) } }))
		synctest.Wait()
		wantNil(t, r.stop())

		if started.Load() != 1 || len(s.of("GetActivityTask")) != 6 || len(s.of("SendTaskSuccess")) != 1 {
			t.Errorf("%d tasks began after %d polls", started.Load(), len(s.of("GetActivityTask")))
		}
	})
}

func TestWorkerPoint03_AStopWaitsForAPollAsLongAsTheServiceHoldsIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		// The service hands out a task although the client has gone, 55 s into the poll.
		s := newScript()
		answered := make(chan struct{})
		s.transport.Around(func(c *embeddedtest.Call, send embeddedtest.Sender) (*http.Response, error) {
			if !c.Is("GetActivityTask") {
				return s.answer(c, send)
			}

			select {
			case <-c.Request.Context().Done():
				return nil, c.Request.Context().Err()
			case <-time.After(55 * time.Second):
				close(answered)
				return c.Respond(http.StatusOK, `{"taskToken":"late"}`), nil
			}
		})
		r := begin(t, s.config(succeed, func(c *Config) {
			c.PollGrace = 0 // the default
			c.DrainTimeout = time.Minute
		}))
		time.Sleep(time.Second)
		wantNil(t, r.stop())
		<-answered

		if n := len(s.of("SendTaskSuccess")); n != 1 || len(s.of("GetActivityTask")) != 1 {
			t.Errorf("%d answers to the task that came during the drain", n)
		}
	})
}

func TestWorkerPoint41_PollsGrowWhileTasksWaitAndShrinkWhenTheyDoNot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScript()
		r := begin(t, s.config(succeed, func(c *Config) {
			c.Rates = Rates{-1, -1, -1, -1}
			c.Activities[0].Slots, c.Activities[0].Pollers = 64, 32
		}))
		synctest.Wait()

		if n := r.open(); n != 2 {
			t.Errorf("%d polls at the start, want 2", n)
		}

		for range 100 {
			s.tokens <- "t"
		}
		synctest.Wait()

		if n := r.open(); n != 32 {
			t.Errorf("%d polls after a hundred tasks that waited, want all 32", n)
		}

		// A task every 20 s keeps no more polls busy than two.
		for range 100 {
			time.Sleep(20 * time.Second)
			s.tokens <- "t"
		}
		synctest.Wait()

		if n := r.open(); n != 2 {
			t.Errorf("%d polls when there is little to do, want 2", n)
		}
		wantNil(t, r.stop())
	})
}

func TestWorkerPoint41_QuotaErrorsHalveThePollsAndWaitASecond(t *testing.T) {
	for _, code := range []string{"ActivityWorkerLimitExceeded", "ThrottlingException", "KmsThrottlingException"} {
		synctest.Test(t, func(t *testing.T) {
			s := newScript()
			log := &logged{}
			r := begin(t, s.config(succeed, func(c *Config) {
				c.Log = log.logger()
				c.Rates = Rates{-1, -1, -1, -1}
				c.Activities[0].Slots, c.Activities[0].Pollers = 32, 16
			}))

			for range 32 {
				s.tokens <- "t"
			}
			synctest.Wait()
			quota := s.transport.Inject(embeddedtest.Answer(code))
			time.Sleep(time.Minute) // the polls that are open return
			synctest.Wait()

			before, began := len(s.of("GetActivityTask")), time.Since(s.began)
			time.Sleep(5 * time.Minute)

			if n := r.allowed(); n != 1 {
				t.Errorf("%s: %d polls allowed after minutes of quota errors, want 1", code, n)
			}

			if n := len(log.lines("polling an activity failed")); n < 4 || n > 7 {
				t.Errorf("%s: logged %d times in 5 minutes", code, n)
			}

			polls := s.of("GetActivityTask")
			for i := before + 16; i < len(polls); i++ {
				if wait := polls[i].at - polls[i-1].at; wait < time.Second {
					t.Errorf("%s: a poll %v after a quota error (at %v)", code, wait, polls[i].at-began)
				}
			}

			// Two halvings, then slow growth: every ten full polls allow one more.
			quota.Remove()
			time.Sleep(time.Minute)

			for range 16 * recoverAfter {
				s.tokens <- "t"
				synctest.Wait()
			}

			if n := r.open(); n != 16 {
				t.Errorf("%s: %d polls after a recovery, want all 16", code, n)
			}
			wantNil(t, r.stop())
		})
	}
}

func TestWorkerPoint41_TheFirstQuotaErrorWaitsASecond(t *testing.T) {
	for _, code := range []string{"ActivityWorkerLimitExceeded", "ThrottlingException", "KmsThrottlingException"} {
		synctest.Test(t, func(t *testing.T) {
			s := newScript()
			s.transport.Inject(embeddedtest.Answer(code, "GetActivityTask").Next(1))
			r := begin(t, s.config(succeed))
			time.Sleep(10 * time.Second)
			wantNil(t, r.stop())

			if polls := s.of("GetActivityTask"); len(polls) != 2 || polls[1].at-polls[0].at < time.Second {
				t.Errorf("%s: polls %v, want the second a second after the first", code, polls)
			}
		})
	}
}

func TestPollsGrowSlowlyAfterAQuotaError(t *testing.T) {
	began := time.Now()
	p := newPace(64)
	full := func(n int) {
		for range n {
			p.answered(true, 0)
		}
	}

	full(62)
	p.exceeded(began)

	if p.allowed != 32 {
		t.Errorf("%d polls after a halving", p.allowed)
	}

	p.exceeded(began.Add(-time.Second)) // a poll that was on its way at the time
	full(recoverAfter - 1)

	if p.allowed != 32 {
		t.Errorf("%d polls after %d full ones", p.allowed, recoverAfter-1)
	}

	full(1)

	if p.allowed != 33 {
		t.Errorf("%d polls after %d full ones", p.allowed, recoverAfter)
	}
}

func TestWorkerPoint41_OneDeniedActivityDoesNotEndTheOthers(t *testing.T) {
	for _, code := range []string{"AccessDeniedException", "ActivityDoesNotExist", "KmsAccessDeniedException", "KmsInvalidStateException"} {
		synctest.Test(t, func(t *testing.T) {
			s := newScript()
			log := &logged{}
			denied := make(chan error, 4)
			denial := s.transport.Inject(embeddedtest.Answer(code, "GetActivityTask").If(func(c *embeddedtest.Call) bool {
				return strings.Contains(string(c.Body()), ":other")
			}))
			done := make(ends, 1)
			r := begin(t, s.config(succeed, done.note, func(c *Config) {
				c.Log = log.logger()
				c.Activities = append(c.Activities, Activity{ARN: "arn:aws:states:us-east-1:0:activity:other", Handle: succeed})
				c.Events.Denied = func(activity string, err error) {
					if activity != "other" {
						t.Errorf("%s is denied: %v", activity, err)
					}
					denied <- err
				}
			}))
			time.Sleep(119 * time.Second)

			if len(denied) != 0 {
				t.Errorf("%s: denied before two minutes are over", code)
			}
			time.Sleep(30 * time.Second)

			if err := <-denied; err == nil || !strings.Contains(err.Error(), code) || !strings.Contains(err.Error(), ":other") {
				t.Errorf("%s: reported %v", code, err)
			}

			if n := len(log.lines("level=ERROR")); n != 1 {
				t.Errorf("%s: %d errors in the log", code, n)
			}

			if err := r.Ready(); err == nil || !strings.Contains(err.Error(), code) {
				t.Errorf("Ready: %v", err)
			}
			s.tokens <- "t"

			if d := <-done; d.Outcome != Succeeded || d.Task.Activity != "a" {
				t.Errorf("%s: a task of the other activity ended as %+v", code, d)
			}

			// Another stop would return the denial. An operator may also lift it.
			denial.Remove()
			time.Sleep(2 * time.Minute)

			if err := <-denied; err != nil {
				t.Errorf("%s: reported %v", code, err)
			}

			if err := r.Ready(); err != nil {
				t.Errorf("Ready: %v", err)
			}
			wantNil(t, r.stop())
		})
	}
}

func TestTheWorkerEndsWhenEveryActivityIsDeniedAndSaysSoAtTheEnd(t *testing.T) {
	for _, row := range []struct {
		is    string
		match string
		ends  bool
	}{
		{"all", ":activity:", true},
		{"one of two", ":other", false},
	} {
		synctest.Test(t, func(t *testing.T) {
			s := newScript()
			s.transport.Inject(embeddedtest.Answer("AccessDeniedException", "GetActivityTask").If(func(c *embeddedtest.Call) bool {
				return strings.Contains(string(c.Body()), row.match)
			}))
			began := time.Now()
			r := begin(t, s.config(succeed, func(c *Config) {
				c.Activities = append(c.Activities, Activity{ARN: "arn:aws:states:us-east-1:0:activity:other", Handle: succeed})
			}))
			time.Sleep(150 * time.Second)

			select {
			case <-r.done:
				if !row.ends {
					t.Errorf("%s denied: the worker ended", row.is)
				}
			default:
				if row.ends {
					t.Errorf("%s denied: the worker goes on", row.is)
				}
			}

			err := r.stop()
			if err == nil || !strings.Contains(err.Error(), ":other") || strings.Contains(err.Error(), ":activity:a ") != row.ends {
				t.Errorf("%s denied: Run: %v after %v", row.is, err, time.Since(began))
			}
		})
	}
}

func TestWorkerPoint41_OnlyAnUnbrokenRunOfOneRefusalIsFatal(t *testing.T) {
	for _, row := range []struct {
		is     string
		answer func(at time.Duration) string // an error code; "" answers the poll
	}{
		{"an outage, then one refusal", func(at time.Duration) string {
			if at < 3*time.Minute {
				return "InternalServerError"
			}

			return []string{"UnrecognizedClientException", ""}[int(at/time.Minute)%2]
		}},
		{"refusals of two kinds", func(at time.Duration) string {
			return []string{"UnrecognizedClientException", "AccessDeniedException"}[int(at/time.Minute)%2]
		}},
		{"refusals and quota errors", func(at time.Duration) string {
			return []string{"AccessDeniedException", "ThrottlingException"}[int(at/time.Minute)%2]
		}},
		{"refusals with an answer between", func(at time.Duration) string {
			return []string{"AccessDeniedException", ""}[int(at/(90*time.Second))%2]
		}},
	} {
		t.Run(row.is, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newScript()
				s.transport.Around(func(c *embeddedtest.Call, _ embeddedtest.Sender) (*http.Response, error) {
					if code := row.answer(time.Since(s.began)); code != "" {
						return nil, &embeddedtest.Error{Code: code}
					}
					time.Sleep(time.Second)

					return c.Respond(http.StatusOK, `{}`), nil
				})
				var denied atomic.Int32
				r := begin(t, s.config(succeed, func(c *Config) {
					c.Events.Denied = func(string, error) { denied.Add(1) }
				}))
				time.Sleep(30 * time.Minute)
				wantNil(t, r.stop())

				if denied.Load() != 0 {
					t.Errorf("denied %d times", denied.Load())
				}
			})
		})
	}
}

func TestWorkerPoint43_ReadyIsTrueOnlyAfterARecentPollOfEveryActivity(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScript()

		w, err := New(s.config(succeed))
		if err != nil {
			t.Fatal(err)
		}

		if w.Ready() == nil {
			t.Error("ready before Run")
		}
		began := time.Now()
		r := begin(t, s.config(succeed, func(c *Config) {
			c.Activities = append(c.Activities, Activity{ARN: "arn:aws:states:us-east-1:0:activity:other", Handle: succeed})
		}))
		want := func(ready bool) {
			t.Helper()
			synctest.Wait()

			if err := r.Ready(); (err == nil) != ready {
				t.Errorf("after %v: Ready: %v", time.Since(began), err)
			}
		}
		want(false)

		s.tokens <- "t" // a poll of one of the two activities is answered
		want(false)
		time.Sleep(60 * time.Second) // now all are
		want(true)

		refusal := s.transport.Inject(embeddedtest.Answer("AccessDeniedException", "GetActivityTask").If(func(c *embeddedtest.Call) bool {
			return strings.Contains(string(c.Body()), ":other")
		}))
		time.Sleep(60 * time.Second) // the poll that was open is answered
		want(true)
		time.Sleep(71 * time.Second)
		want(false)
		refusal.Remove()
		time.Sleep(75 * time.Second)
		want(true)
		wantNil(t, r.stop())
		want(false)
	})
}

func TestWorkerPoint43_ADrainingWorkerIsNotReady(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScript("t")
		r := begin(t, s.config(lasts(20*time.Second)))
		time.Sleep(time.Second)

		if err := r.Ready(); err != nil {
			t.Errorf("Ready: %v", err)
		}
		go r.stop()
		synctest.Wait()

		if r.Ready() == nil {
			t.Error("ready while draining")
		}
		<-r.done
	})
}

func TestAWorkerWithAllItsSlotsAtWorkIsReady(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScript("t")
		r := begin(t, s.config(lasts(10*time.Minute)))
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
		failures := make(chan error, 1)
		s := newScript()
		s.transport.Inject(hang("GetActivityTask").Next(1))
		r := begin(t, s.config(succeed, func(c *Config) {
			c.Events.PollFailed = func(_ string, err error) { failures <- err }
		}))
		time.Sleep(71 * time.Second)
		wantNil(t, r.stop())

		if err := <-failures; !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "poll of a was not answered within 1m10s") {
			t.Errorf("got %v", err)
		}
	})
}
