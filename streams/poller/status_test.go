package poller

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"

	"ratchet/embedded"
	"ratchet/streams"
	"ratchet/streams/status"
)

// inspector returns an Inspector of the tables.
func (w *testEnv) inspector() status.Inspector {
	return status.Inspector{
		Streams:  dynamodbstreams.NewFromConfig(w.engine.AWSConfig()),
		Queue:    w.queue(),
		Handlers: []string{"h"},
		Watch:    2 * time.Second,
	}
}

func (w *testEnv) status(i status.Inspector) status.Status {
	w.Helper()

	s, err := i.Status(w.Context())
	if err != nil {
		w.Fatal(err)
	}

	return s
}

func hasProblem(s status.Status, text string) bool {
	return slices.ContainsFunc(s.Problems, func(p string) bool { return strings.Contains(p, text) })
}

func TestStatusSaysThatNoWorkerReads(t *testing.T) {
	virtually(t, func(t *testing.T) {
		w := newTestEnv(t, 1)
		for v := 1; v <= 3; v++ {
			w.write("o-0", v)
		}

		s := w.status(w.inspector())
		if s.State != status.StreamOn || len(s.Shards) != 1 || s.Shards[0].State != status.ShardUnknown || s.Shards[0].Records != 3 || s.Shards[0].More || !s.Shards[0].Open {
			t.Errorf("status %+v", s)
		}

		if !hasProblem(s, "no worker reads this") {
			t.Errorf("problems %q", s.Problems)
		}

		if lag := s.Lag(time.Hour, time.Now()); len(lag.Reasons) != 1 || lag.Records != 3 {
			t.Errorf("lag %+v", lag)
		}

		few := w.inspector()
		few.Count = 2

		if s := w.status(few); s.Shards[0].Records != 2 || !s.Shards[0].More {
			t.Errorf("counted %+v", s.Shards)
		}
	})
}

func TestStatusOfAHandledStreamHasNoProblems(t *testing.T) {
	virtually(t, func(t *testing.T) {
		w := newTestEnv(t, 2)
		l := newRecorder()
		p := w.start(w.config(l.handle))
		w.write("o-0", 1)
		w.write("o-1", 1)
		w.roll()
		w.write("o-0", 2)
		w.until("all are handled and the parents are finished", func() bool {
			s := w.status(w.inspector())
			return l.count() == 3 && s.Finished == 2 && s.Lag(0, time.Now()).Records == 0
		})

		s := w.status(w.inspector())
		if len(s.Problems) != 0 || !slices.Equal(s.Workers, []string{p.Owner()}) || len(s.Shards) != 2 || s.Shards[0].State != status.ShardHeld {
			t.Errorf("status %+v", s)
		}

		if lag := s.Lag(time.Nanosecond, time.Now()); len(lag.Reasons) != 0 || lag.Age != 0 {
			t.Errorf("lag %+v", lag)
		}
		w.stopped(p)

		if s := w.status(w.inspector()); !hasProblem(s, "no worker reads this") || s.Shards[0].State != status.ShardFree {
			t.Errorf("after the stop: %+v", s)
		}
	})
}

// TestAWorkerWithoutASignOfLifeDoesNotCount: the lease of a killed worker names it until
// another one takes over.
func TestAWorkerWithoutASignOfLifeDoesNotCount(t *testing.T) {
	virtually(t, func(t *testing.T) {
		w := newTestEnv(t, 1)
		w.stopped(w.startOnce())
		lease := w.leases()[0]

		if _, ours, err := w.table().Take(t.Context(), lease, "killed"); err != nil || !ours {
			t.Fatal(ours, err)
		}

		i := w.inspector()
		i.Watch = 50 * time.Millisecond

		s := w.status(i)
		if s.Shards[0].State != status.ShardSilent || s.Shards[0].Owner != "killed" || !hasProblem(s, "no worker reads this") {
			t.Errorf("status %+v", s)
		}
	})
}

// startOnce returns a poller that holds its shard.
func (w *testEnv) startOnce() *runningPoller {
	w.Helper()

	p := w.start(w.config(newRecorder().handle))
	w.until("it holds the shard", func() bool { return len(p.Lags()) == 1 })

	return p
}

func TestStatusShowsGapsAndAStreamThatIsOff(t *testing.T) {
	virtually(t, func(t *testing.T) {
		w := newTestEnv(t, 1)
		p := w.startOnce()
		w.write("o-0", 1)
		w.until("it is handled", func() bool { return w.leases()[0].Checkpoint != "" })
		w.stopped(p)
		w.write("o-0", 2)

		if err := w.engine.TrimStream(t.Context(), w.arn, embedded.TrimPoint{}); err != nil {
			t.Fatal(err)
		}
		w.write("o-0", 3)
		lease := w.leases()[0]
		lease.Gaps, lease.GapAt = 2, time.Now()

		if err := w.table().DeleteRow(t.Context(), lease.Shard); err != nil {
			t.Fatal(err)
		}

		if _, err := w.table().Insert(t.Context(), lease); err != nil {
			t.Fatal(err)
		}
		w.setStream(noStream())

		s := w.status(w.inspector())
		if s.State != status.StreamOff || !hasProblem(s, "stream switched off") || !hasProblem(s, "gap here: shard "+lease.Shard+" has lost records (2 times") {
			t.Errorf("status %+v", s)
		}

		if !hasProblem(s, "trimmed before they were read") {
			t.Errorf("problems %q", s.Problems)
		}

		w.setStream(bothImages())

		if s := w.status(w.inspector()); s.Next == "" || !hasProblem(s, "stream replaced") {
			t.Errorf("status %+v", s)
		}
	})
}

func TestStatusCountsWhatWaitsAndWhatWasGivenUp(t *testing.T) {
	virtually(t, func(t *testing.T) {
		w := newTestEnv(t, 1)
		p := w.start(w.config(func(_ context.Context, r streams.Record) error {
			if id, _ := keyAndVersion(r); id == "o-0" {
				return streams.Permanent(errOutage)
			}

			return errOutage
		}, patient, func(c *Config) { c.Retry.Base, c.Retry.Max = time.Hour, time.Hour }))
		w.write("o-0", 1)
		w.write("o-1", 1)
		w.write("o-1", 2)
		w.until("all are put aside", func() bool {
			rows := w.waitingRows()
			return len(rows) == 2 && len(w.deadLetters("h")) == 1
		})

		s := w.status(w.inspector())
		w.stopped(p)

		h := s.Handlers[0]
		if h.Items != 1 || h.Records != 2 || h.DeadLetters != 1 || h.Since.IsZero() || h.Error != errOutage.Error() || h.NextTry.IsZero() {
			t.Errorf("handler %+v", h)
		}

		if !hasProblem(s, "handler h: 2 records of 1 item waiting") || !hasProblem(s, "handler h: 1 dead letter") {
			t.Errorf("problems %q", s.Problems)
		}

		if lag := s.Lag(time.Minute, h.Since.Add(time.Hour)); lag.Age < time.Hour-time.Second || !strings.Contains(strings.Join(lag.Reasons, "\n"), "waited for handler h for 1h0m0s") {
			t.Errorf("lag %+v", lag)
		}
	})
}

func TestStatusOfATableWithoutAStream(t *testing.T) {
	virtually(t, func(t *testing.T) {
		w := newTestEnv(t, 1)
		i := w.inspector()
		i.Queue.TableName = leasesTable

		if s := w.status(i); s.State != status.StreamNone || !hasProblem(s, "has no stream") || len(s.Lag(time.Hour, time.Now()).Reasons) != 1 {
			t.Errorf("status %+v", s)
		}
		i.Queue.TableName = "no-such-table"

		if _, err := i.Status(t.Context()); err == nil || errors.Is(err, context.Canceled) {
			t.Errorf("of a table that does not exist: %v", err)
		}
	})
}
