package activities

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/sfn"

	"ratchet/embedded/embeddedtest"
	"ratchet/internal/worker"
)

// lasts returns a handler that works for d unless its context ends first.
func lasts(d time.Duration) HandlerFunc {
	return func(ctx context.Context, _ Task) (any, error) {
		worker.Wait(ctx, d)
		return "done", context.Cause(ctx)
	}
}

// ends collects how tasks ended.
type ends chan Done

// two returns how two tasks ended, in the order of the words.
func (e ends) two() string {
	all := []string{string((<-e).Outcome), string((<-e).Outcome)}
	slices.Sort(all)

	return strings.Join(all, ", ")
}

func (e ends) note(c *Config) { c.Events.Done = func(d Done) { e <- d } }

// hang is a fault of a call that is answered only when its context ends.
func hang(operation string) embeddedtest.Fault { return embeddedtest.Delay(time.Hour, operation) }

// handOutTwo gives tasks to two polls that are open.
func (s *script) handOutTwo() {
	synctest.Wait()
	s.tokens <- "t1"
	s.tokens <- "t2"
}

func TestWorkerPoint04_TheFirstHeartbeatIsSentAtOnceWhenTheTaskHasToWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScript()
		began := make(chan time.Duration, 2)
		r := begin(t, s.config(func(context.Context, Task) (any, error) {
			began <- time.Since(s.began)
			return 1, nil
		}, func(c *Config) {
			c.Activities[0].Slots, c.Activities[0].Pollers = 2, 2
			c.Activities[0].PerSecond = 0.25
		}))
		s.handOutTwo()
		time.Sleep(time.Minute)
		wantNil(t, r.stop())

		// Both polls were sent when no task had begun yet; the second task waits 4 s.
		beats := s.of("SendTaskHeartbeat")
		if len(beats) != 1 || beats[0].at != 0 {
			t.Errorf("heartbeats %v, want one at once", beats)
		}

		if first, second := <-began, <-began; first != 0 || second != 4*time.Second {
			t.Errorf("tasks began after %v and %v", first, second)
		}
	})
}

func TestATaskThatWaitsForItsTurnMayBeLostOrGivenBack(t *testing.T) {
	limit := func(c *Config) {
		c.Activities[0].Slots, c.Activities[0].Pollers = 2, 2
		c.Activities[0].PerSecond = 0.01
	}

	synctest.Test(t, func(t *testing.T) {
		s := newScript()
		s.transport.Inject(embeddedtest.Answer("TaskTimedOut", "SendTaskHeartbeat"))
		done := make(ends, 2)
		r := begin(t, s.config(succeed, limit, done.note))
		s.handOutTwo()
		time.Sleep(time.Second)

		if got := done.two(); got != "lost, succeeded" {
			t.Errorf("ended as %s", got)
		}
		wantNil(t, r.stop())
	})

	synctest.Test(t, func(t *testing.T) {
		s := newScript()
		done := make(ends, 2)
		r := begin(t, s.config(succeed, limit, done.note))
		s.handOutTwo()
		time.Sleep(time.Second)

		if err := r.stop(); !errors.Is(err, ErrForced) {
			t.Errorf("Run: %v", err)
		}

		if got := done.two(); got != "failed, succeeded" || len(s.of("SendTaskFailure")) != 1 {
			t.Errorf("ended as %s", got)
		}
	})
}

func TestWorkerPoint05_HeartbeatsComeWithinAThirdOfHeartbeatSecondsWithJitter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const tasks = 100
		s := newScript()
		for range tasks {
			s.tokens <- "t"
		}
		r := begin(t, s.config(lasts(11*time.Second), func(c *Config) {
			c.Activities[0].Slots, c.Activities[0].Pollers = tasks, tasks
			c.Rates.SendTaskHeartbeat = -1
		}))
		time.Sleep(time.Minute)
		wantNil(t, r.stop())

		moments := map[time.Duration]bool{}
		early := 0

		for _, b := range s.of("SendTaskHeartbeat") {
			moments[b.at] = true
			if b.at < 7500*time.Millisecond || b.at > 10*time.Second {
				t.Errorf("a first heartbeat after %v, want 7.5 s to 10 s", b.at)
			}

			if b.at < 8750*time.Millisecond {
				early++
			}
		}

		// All tasks began at the same moment.
		if len(moments) < tasks*9/10 || early < tasks/4 || early > tasks*3/4 {
			t.Errorf("%d different moments, %d in the first half", len(moments), early)
		}
	})
}

func TestWorkerPoint07_AHungHeartbeatIsFollowedByASecondTryBeforeTheFence(t *testing.T) {
	for _, seconds := range []time.Duration{3, 15, 30, 600} {
		synctest.Test(t, func(t *testing.T) {
			period := seconds * time.Second
			s := newScript("t")
			s.heartbeat = period
			s.transport.Inject(hang("SendTaskHeartbeat").Next(1))
			done := make(ends, 1)
			r := begin(t, s.config(lasts(4*period), done.note, func(c *Config) { c.Activities[0].Heartbeat = period }))
			d := <-done
			wantNil(t, r.stop())

			if d.Outcome != Succeeded {
				t.Errorf("HeartbeatSeconds %v: ended as %+v", period, d)
			}
		})
	}
}

// deaf is a client whose heartbeats return only when the test says so, whatever their
// context says.
type deaf struct {
	Client
	release chan struct{}
}

func (d deaf) SendTaskHeartbeat(context.Context, *sfn.SendTaskHeartbeatInput, ...func(*sfn.Options)) (*sfn.SendTaskHeartbeatOutput, error) {
	<-d.release
	return nil, errors.New("too late")
}

func TestWorkerPoint07_TheFenceHoldsAlthoughACallDoesNotReturn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScript("t")
		client := deaf{release: make(chan struct{})}
		done := make(ends, 1)
		r := begin(t, s.config(lasts(time.Hour), done.note, func(c *Config) {
			client.Client = c.SFN
			c.SFN = client
		}))
		d := <-done

		if d.Outcome != Lost || !errors.Is(d.Err, ErrTaskLost) || d.Ran != 27*time.Second {
			t.Errorf("ended as %+v, want lost after 27s", d)
		}
		wantNil(t, r.stop())
		close(client.release)
	})
}

func TestWorkerPoint08_NoHeartbeatIsOnItsWayWhenTheAnswerIsSent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScript("t")
		var open, together atomic.Int32
		s.transport.Around(func(c *embeddedtest.Call, send embeddedtest.Sender) (*http.Response, error) {
			switch c.Operation {
			case "SendTaskHeartbeat":
				open.Add(1)
				defer open.Add(-1)
				worker.Wait(c.Request.Context(), 3*time.Second)
			case "SendTaskSuccess":
				together.Add(open.Load())
			}

			return s.answer(c, send)
		})
		done := make(ends, 1)
		// The first heartbeat is sent between 7.5 s and 10 s and takes 3 s.
		r := begin(t, s.config(lasts(10200*time.Millisecond), done.note))
		d := <-done
		time.Sleep(5 * time.Minute)
		wantNil(t, r.stop())

		if d.Outcome != Succeeded || d.Took != 10200*time.Millisecond {
			t.Errorf("ended as %+v", d)
		}

		if together.Load() != 0 {
			t.Error("a heartbeat was on its way together with the answer")
		}

		if n := len(s.of("SendTaskHeartbeat")); n != 1 {
			t.Errorf("%d heartbeats, want none after the answer", n)
		}
	})
}

// TestAFenceThatCameTooLateEndsNoTask: its timer has fired just before a heartbeat was accepted, or the handler returned.
func TestAFenceThatCameTooLateEndsNoTask(t *testing.T) {
	for _, phase := range []heartbeatPhase{working, answering} {
		accepted := time.Now()
		if phase == answering {
			accepted = accepted.Add(-time.Hour)
		}

		h := &heartbeater{period: time.Minute, accepted: accepted, phase: phase}
		if h.fenced(); h.phase != phase {
			t.Errorf("phase %d became %d", phase, h.phase)
		}
	}
}

// TestTheFenceCountsFromTheBeginOfAHeartbeat: the service may have received it right then, however late its answer comes.
func TestTheFenceCountsFromTheBeginOfAHeartbeat(t *testing.T) {
	began := time.Now().Add(-5 * time.Second)
	h := &heartbeater{period: time.Minute, accepted: began.Add(-time.Second), returned: make(chan struct{}), timer: time.NewTimer(time.Hour)}

	h.sent(began, nil)
	h.timer.Stop()

	if got := h.deadline(); !got.Equal(began.Add(54 * time.Second)) {
		t.Errorf("%v after the begin, want 54s", got.Sub(began))
	}
}
