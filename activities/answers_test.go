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

// ofTask runs one task to its end and returns how it ended.
func (s *script) ofTask(t *testing.T, handle HandlerFunc, edit ...func(*Config)) Done {
	t.Helper()
	done := make(ends, 1)
	r := begin(t, s.config(handle, append(edit, done.note)...))
	d := <-done
	wantNil(t, r.stop())

	return d
}

func TestWorkerPoint10_AHungAnswerIsSentAgainWhileHeartbeatsGoOn(t *testing.T) {
	for _, seconds := range []time.Duration{1, 3, 15, 90} {
		for _, hangs := range []int{1, 2, 5} {
			synctest.Test(t, func(t *testing.T) {
				s := newScript("t")
				s.heartbeat = seconds * time.Second
				s.transport.Inject(hang("SendTaskSuccess").Next(hangs))
				d := s.ofTask(t, succeed, func(c *Config) { c.Activities[0].Heartbeat = s.heartbeat })

				if d.Outcome != Succeeded {
					t.Errorf("HeartbeatSeconds %v, %d answers hang: ended as %+v", s.heartbeat, hangs, d)
				}
			})
		}
	}
}

func TestWorkerPoint10_TheAnswerIsRepeatedWithTheSameBody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScript("t")
		s.heartbeat = 30 * time.Second
		s.transport.Inject(embeddedtest.Throttle("SendTaskSuccess").If(func(*embeddedtest.Call) bool {
			return time.Since(s.began) < 90*time.Second
		}))

		if d := s.ofTask(t, succeed); d.Outcome != Succeeded {
			t.Errorf("ended as %+v", d)
		}

		answers := s.of("SendTaskSuccess")
		for _, a := range answers {
			if a.body != answers[0].body {
				t.Errorf("the answer changed: %s", a.body)
			}
		}

		if len(answers) < 10 || len(s.of("SendTaskFailure")) != 0 {
			t.Errorf("%d successes, %d failures", len(answers), len(s.of("SendTaskFailure")))
		}
	})
}

// TestAWorkerWaitsThroughARefusalOfItsAnswer: an operator gives the permission back, and the work was not in vain.
func TestAWorkerWaitsThroughARefusalOfItsAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScript("t")
		s.heartbeat = 30 * time.Second
		s.transport.Inject(embeddedtest.Answer("AccessDeniedException", "SendTaskSuccess").If(func(*embeddedtest.Call) bool {
			return time.Since(s.began) < 90*time.Second
		}))

		if d := s.ofTask(t, succeed); d.Outcome != Succeeded || len(s.of("SendTaskSuccess")) < 2 {
			t.Errorf("ended as %+v after %d answers", d, len(s.of("SendTaskSuccess")))
		}
	})
}

func TestAHeartbeatThatFailsDoesNotEndTheAnswer(t *testing.T) {
	// The first answer counted, its response was lost: heartbeats learn that the task is
	// over before the repeated answer does.
	synctest.Test(t, func(t *testing.T) {
		s := newScript("t")
		s.transport.Inject(hang("SendTaskSuccess").Next(3))
		s.transport.Inject(embeddedtest.Answer("TaskTimedOut", "SendTaskHeartbeat"))

		if d := s.ofTask(t, succeed); d.Outcome != Succeeded {
			t.Errorf("ended as %+v", d)
		}

		if n := len(s.of("SendTaskHeartbeat")); n != 1 {
			t.Errorf("%d heartbeats, want none after the service said that the task is over", n)
		}
	})
}

func TestWorkerPoint11_ARepeatedAnswerThatComesTooLateIsUnknown(t *testing.T) {
	lost := errors.New("looked, and could not tell")

	for _, row := range []struct {
		is         string
		first      embeddedtest.Fault
		resolve    func(context.Context, Done) (Outcome, error)
		want       Outcome
		unresolved int
	}{
		{is: "the answer's response was lost", first: embeddedtest.LoseAnswer("SendTaskSuccess"), want: Unknown, unresolved: 1},
		{is: "the service had a fault", first: embeddedtest.Answer("InternalServerError", "SendTaskSuccess"), want: Unknown, unresolved: 1},
		{is: "the first answer hung", first: hang("SendTaskSuccess"), want: Unknown, unresolved: 1},
		{is: "the first answer was refused", first: embeddedtest.Throttle("SendTaskSuccess"), want: Lost},
		{is: "the hook finds the effect", first: embeddedtest.LoseAnswer("SendTaskSuccess"),
			resolve: func(context.Context, Done) (Outcome, error) { return Succeeded, nil }, want: Succeeded},
		{is: "the hook finds that it did not count", first: embeddedtest.LoseAnswer("SendTaskSuccess"),
			resolve: func(context.Context, Done) (Outcome, error) { return Lost, nil }, want: Lost},
		{is: "the hook fails", first: embeddedtest.LoseAnswer("SendTaskSuccess"),
			resolve: func(context.Context, Done) (Outcome, error) { return Succeeded, lost }, want: Unknown, unresolved: 1},
		{is: "the hook panics", first: embeddedtest.LoseAnswer("SendTaskSuccess"),
			resolve: func(context.Context, Done) (Outcome, error) { panic("hook") }, want: Unknown, unresolved: 1},
	} {
		t.Run(row.is, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newScript("t")
				s.transport.Inject(row.first.Next(1))
				s.transport.Inject(embeddedtest.Answer("TaskTimedOut", "SendTaskSuccess").If(func(c *embeddedtest.Call) bool { return c.N > 1 }))
				unresolved := make(chan Done, 2)
				d := s.ofTask(t, succeed, func(c *Config) {
					c.Resolve = row.resolve
					c.Events.Unresolved = func(d Done) { unresolved <- d }
				})

				if d.Outcome != row.want || (d.Err == nil) != (row.want == Succeeded) {
					t.Errorf("ended as %+v, want %s", d, row.want)
				}

				if len(unresolved) != row.unresolved {
					t.Errorf("%d reports of an unknown outcome, want %d", len(unresolved), row.unresolved)
				}
			})
		})
	}
}

func TestWorkerPoint12_TheAnswerOutlivesTheHandlersContextAndTheStop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScript("t")
		s.transport.Inject(embeddedtest.Throttle("SendTaskSuccess").If(func(*embeddedtest.Call) bool {
			return time.Since(s.began) < 20*time.Second
		}))
		done := make(ends, 1)
		// The handler's own time is over when its answer is sent, and so is the worker's: the stop
		// ends the handlers' contexts after 15 s.
		r := begin(t, s.config(lasts(9*time.Second), done.note, func(c *Config) {
			c.Activities[0].Timeout = 10 * time.Second
			c.DrainTimeout, c.drainGrace = 10*time.Second, 10*time.Second
		}))
		time.Sleep(5 * time.Second)
		wantNil(t, r.stop())

		if d := <-done; d.Outcome != Succeeded {
			t.Errorf("ended as %+v", d)
		}
	})
}

func TestWorkerPoint14_AnOutputThatTheServiceRefusesBecomesAFailureAndIsReportedAsOne(t *testing.T) {
	for _, trouble := range []embeddedtest.Fault{
		{On: []string{"None"}},
		embeddedtest.Throttle("SendTaskFailure").Next(1),
		embeddedtest.LoseRequest("SendTaskFailure").Next(2),
	} {
		synctest.Test(t, func(t *testing.T) {
			s := newScript("t")
			s.transport.Inject(embeddedtest.Answer("InvalidOutput", "SendTaskSuccess"))
			s.transport.Inject(trouble)
			d := s.ofTask(t, succeed)

			if d.Outcome != Failed || d.ErrorName != "Worker.InvalidOutput" || d.Err == nil {
				t.Errorf("ended as %+v", d)
			}

			failures := s.of("SendTaskFailure")
			if !strings.Contains(failures[len(failures)-1].body, `"Worker.InvalidOutput"`) || len(s.of("SendTaskSuccess")) != 1 {
				t.Errorf("sent %v", failures)
			}
		})
	}
}

func TestWorkerPoint17_AHandlerWhoseTaskIsLostDoesNotKeepItsSlot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScript("t1", "t2", "t3")
		s.transport.Inject(embeddedtest.Answer("TaskTimedOut", "SendTaskHeartbeat"))
		release := make(chan struct{})
		done := make(ends, 3)
		r := begin(t, s.config(func(context.Context, Task) (any, error) {
			<-release
			return 1, nil
		}, done.note))
		time.Sleep(10 * time.Minute)

		// The second handler takes the only slot, and keeps it: the number of stuck handlers
		// is bounded.
		if len(done) != 2 || len(s.tokens) != 1 {
			t.Errorf("%d tasks have ended and %d wait, want 2 and 1", len(done), len(s.tokens))
		}

		if err := r.Ready(); err == nil {
			t.Error("ready although stuck handlers have every slot")
		}
		close(release)
		time.Sleep(time.Minute)

		if len(done) != 3 {
			t.Errorf("%d tasks have ended after the handlers returned", len(done))
		}
		wantNil(t, r.stop())
	})
}

func TestHandlersThatAreStuckAtTheEndAreReported(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScript("t")
		release := make(chan struct{})
		done := make(ends, 1)
		r := begin(t, s.config(func(context.Context, Task) (any, error) {
			<-release
			return 1, nil
		}, done.note, func(c *Config) { c.Activities[0].Timeout = time.Second }))

		if d := <-done; d.ErrorName != "Worker.Deadline" {
			t.Errorf("ended as %+v", d)
		}

		if err := r.stop(); !errors.Is(err, ErrStuck) || errors.Is(err, ErrForced) {
			t.Errorf("Run: %v", err)
		}
		close(release)
	})
}
