package activities

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"ratchet/embedded/embeddedtest"
)

// ignores is a handler that does not look at its context.
func ignores(d time.Duration) HandlerFunc {
	return func(context.Context, Task) (any, error) {
		time.Sleep(d)
		return "done", nil
	}
}

func TestWorkerPoint42_TheResultOfRunTellsACleanDrainFromAForcedOne(t *testing.T) {
	for _, row := range []struct {
		is     string
		handle HandlerFunc
		took   time.Duration
		want   []error
		answer string // "" is a success
	}{
		{is: "a handler that finishes in time", handle: lasts(20 * time.Second), took: 19 * time.Second},
		{is: "a handler that finishes after the end of its context", handle: func(ctx context.Context, _ Task) (any, error) {
			<-ctx.Done()
			return 1, nil
		}, took: 30 * time.Second},
		{is: "a handler that is interrupted", handle: lasts(time.Hour), took: 30 * time.Second,
			want: []error{ErrForced}, answer: "Worker.WorkerShutdown"},
		{is: "a handler that ignores the end of its context", handle: ignores(time.Minute), took: 40 * time.Second,
			want: []error{ErrForced, ErrStuck}, answer: "Worker.WorkerShutdown"},
	} {
		t.Run(row.is, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newScript("t")
				done := make(ends, 1)
				r := begin(t, s.config(row.handle, done.note))
				time.Sleep(time.Second)
				began := time.Now()
				err := r.stop()

				for _, sentinel := range []error{ErrForced, ErrStuck} {
					if want := contains(row.want, sentinel); errors.Is(err, sentinel) != want {
						t.Errorf("Run: %v, want %v: %v", err, sentinel, want)
					}
				}

				if len(row.want) == 0 && err != nil {
					t.Errorf("Run: %v", err)
				}

				if took := time.Since(began); took != row.took {
					t.Errorf("stopped after %v, want %v", took, row.took)
				}

				if d := <-done; d.ErrorName != row.answer {
					t.Errorf("ended as %+v", d)
				}

				beats := s.of("SendTaskHeartbeat")
				if len(beats) < int(row.took/(10*time.Second)) {
					t.Errorf("%d heartbeats during the drain", len(beats))
				}
				time.Sleep(time.Minute) // the stuck handler returns
			})
		})
	}
}

func contains(all []error, e error) bool {
	for _, a := range all {
		if errors.Is(a, e) {
			return true
		}
	}

	return false
}

func TestWorkerPoint42_AbortEndsAtOnce(t *testing.T) {
	for _, row := range []struct {
		is     string
		handle HandlerFunc
		fault  embeddedtest.Fault
		stop   time.Duration // between the stop and Abort; negative: there is no stop
		stuck  bool
		most   time.Duration
	}{
		{is: "during a drain", handle: lasts(time.Hour), stop: 10 * time.Second},
		{is: "without a stop before", handle: lasts(time.Hour), stop: -1},
		{is: "with the stop", handle: lasts(time.Hour), stop: 0},
		{is: "after the handlers' contexts have ended", handle: ignores(time.Hour), stop: 35 * time.Second, stuck: true, most: 500 * time.Millisecond},
		{is: "with a handler that is stuck", handle: ignores(time.Hour), stop: time.Second, stuck: true, most: 500 * time.Millisecond},
		{is: "with a service that cannot be reached", handle: lasts(time.Hour), stop: time.Second,
			fault: embeddedtest.LoseRequest("SendTaskFailure"), most: time.Second},
	} {
		t.Run(row.is, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newScript("t")
				if row.fault.Err != nil {
					s.transport.Inject(row.fault)
				}
				r := begin(t, s.config(row.handle, func(c *Config) {
					c.PollGrace = 0
					c.Activities[0].Slots = 2
				}))
				synctest.Wait()

				if row.stop >= 0 {
					go r.stop()
					time.Sleep(row.stop)
				}
				began := time.Now()
				r.Abort()
				r.Abort()
				<-r.done

				if took := time.Since(began); took > row.most {
					t.Errorf("ended %v after Abort", took)
				}

				if err := r.stop(); !errors.Is(err, ErrForced) || errors.Is(err, ErrStuck) != row.stuck {
					t.Errorf("Run: %v", err)
				}

				if n := len(s.of("SendTaskFailure")); n == 0 || row.fault.Err == nil && n != 1 {
					t.Errorf("%d failures were sent", n)
				}
				time.Sleep(time.Hour) // the stuck handler returns
			})
		})
	}
}

func TestWorkerPoint42_AHandlerThatReturnsSoonAfterAnAbortIsAnswered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScript("t")
		r := begin(t, s.config(func(ctx context.Context, _ Task) (any, error) {
			<-ctx.Done()
			time.Sleep(abortGrace / 2)

			return "done", nil
		}))
		synctest.Wait()
		r.Abort()
		wantNil(t, r.stop())

		if len(s.of("SendTaskSuccess")) != 1 || len(s.of("SendTaskFailure")) != 0 {
			t.Errorf("%d successes and %d failures were sent", len(s.of("SendTaskSuccess")), len(s.of("SendTaskFailure")))
		}
	})
}

func TestAnAbortedWorkerDoesNotServe(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScript()

		w, err := New(s.config(succeed))
		if err != nil {
			t.Fatal(err)
		}
		w.Abort()
		wantNil(t, w.Run(t.Context()))

		if err := w.Run(t.Context()); err == nil || err.Error() != "activities: Run was called twice" {
			t.Errorf("second Run: %v", err)
		}
	})
}

func TestTheLogSaysWhatIsServedAndWhatAStopWaitsFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScript("t")
		s.transport.Inject(hang("GetActivityTask").If(func(c *embeddedtest.Call) bool {
			return strings.Contains(string(c.Body()), ":other")
		}))
		log := &logged{}
		r := begin(t, s.config(lasts(20*time.Second), func(c *Config) {
			c.Log = log.logger()
			c.WorkerName = "w"
			c.Activities = append(c.Activities, Activity{ARN: "arn:aws:states:us-east-1:0:activity:other", Handle: succeed, Slots: 3})
		}))
		time.Sleep(time.Second)
		wantNil(t, r.stop())

		text := log.text.String()
		for _, want := range []string{
			`level=INFO msg="worker serves activities" worker=w activities="[a other]" slots=4 polls=4` + "\n",
			`level=INFO msg="worker stops; waiting for what is in flight" worker=w tasks=1 polls=2 given_back=0 after=0s` + "\n",
			`level=INFO msg="worker still waits" worker=w tasks=1 polls=0 given_back=0 after=5s` + "\n",
			`level=INFO msg="worker still waits" worker=w tasks=1 polls=0 given_back=0 after=15s` + "\n",
			`level=INFO msg="worker stopped" worker=w tasks=0 polls=0 given_back=0 after=19s` + "\n",
		} {
			if !strings.Contains(text, want) {
				t.Errorf("the log has no line %s", want)
			}
		}

		if n := len(log.lines("")); n != 6 {
			t.Errorf("%d lines, want 6:\n%s", n, text)
		}
	})
}

func TestAnIdleWorkerStopsAtOnceAndWithoutAWarning(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newTaskMachine(t, "")
		log := &logged{}
		r := m.start(m.config(succeed, func(c *Config) { c.Log = log.logger() }))
		m.until("polls are open", func() bool { return r.open() == 2 })

		began := time.Now()
		wantNil(t, r.stop())

		if took := time.Since(began); took > time.Second {
			t.Errorf("stopped after %v", took)
		}

		if n := len(log.lines("level=WARN")); n != 0 {
			t.Errorf("a normal stop warns: %s", log.text.String())
		}
	})
}

func TestAWorkerWithoutActivitiesDoesNotRun(t *testing.T) {
	w, err := New(Config{SFN: newScript().config(nil).SFN})
	if err != nil {
		t.Fatal(err)
	}

	if err := w.Run(t.Context()); err == nil || err.Error() != "activities: the worker has no activities" {
		t.Errorf("Run: %v", err)
	}
}
