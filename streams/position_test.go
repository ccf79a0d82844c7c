package streams

import (
	"context"
	"errors"
	"math/rand/v2"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	ddbtypes "github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ratchet/embedded"
	"ratchet/internal/worker"
)

// gaps collects declared gaps.
type gaps struct {
	mu   sync.Mutex
	list []Gap
}

func (g *gaps) hook(c *Config) {
	c.Events.Gap = func(gap Gap) {
		g.mu.Lock()
		defer g.mu.Unlock()
		g.list = append(g.list, gap)
	}
}

func (g *gaps) all() []Gap {
	g.mu.Lock()
	defer g.mu.Unlock()
	return append([]Gap(nil), g.list...)
}

// trimBehind handles version 1, then trims version 2 while nobody reads.
func (w *testEnv) trimBehind(l *recorder) {
	p := w.start(w.config(l.handle))
	w.write("o-0", 1)
	w.until("the first record is handled", func() bool { return l.count() == 1 })
	w.stopped(p)
	w.write("o-0", 2)

	if err := w.engine.TrimStream(context.Background(), w.arn, embedded.TrimPoint{}); err != nil {
		w.Fatal(err)
	}
	w.write("o-0", 3)
}

func TestTrimmedRecordsAreADeclaredGap(t *testing.T) {
	w := newTestEnv(t, 1)
	l, g := newRecorder(), &gaps{}
	w.trimBehind(l)
	last := w.leases()[0].Checkpoint
	p := w.start(w.config(l.handle, g.hook))
	w.until("the record behind the gap is handled", func() bool { return l.count() == 2 })
	w.stopped(p)

	all := g.all()
	if len(all) != 1 || all[0].From != last || CompareSequence(all[0].To, last) <= 0 || all[0].Until.Before(all[0].Since) {
		t.Fatalf("gaps %+v, want one from %s", all, last)
	}

	if lease := w.leases()[0]; lease.Gaps != 1 || lease.GapFrom != last || lease.Checkpoint != all[0].To {
		t.Errorf("lease %+v", lease)
	}
}

func TestAGapHaltsWhenAskedTo(t *testing.T) {
	w := newTestEnv(t, 1)
	l, g := newRecorder(), &gaps{}
	w.trimBehind(l)
	p := w.start(w.config(l.handle, g.hook, func(c *Config) { c.OnGap = GapHalt }))
	<-p.done

	var gap *GapError
	if err := p.stop(); !errors.As(err, &gap) || gap.Gap.From == "" {
		t.Fatalf("Run: %v", err)
	}

	if l.count() != 1 {
		t.Error("a record behind the gap was handled")
	}
	p = w.start(w.config(l.handle, g.hook))
	w.until("reading goes on", func() bool { return l.count() == 2 })
	w.stopped(p)
}

func TestAnExpiredIteratorResumesBehindTheLastDelivered(t *testing.T) {
	w := newTestEnv(t, 1)
	l := newRecorder()
	f := w.faults()
	var n atomic.Int32
	f.set(func(op string, _ []byte) error {
		if op == "GetRecords" && n.Add(1)%3 == 0 {
			return awsRefusal("ExpiredIteratorException")
		}

		if op == "GetRecords" && n.Load()%5 == 0 {
			return errLostResponse
		}

		return nil
	})

	p := w.start(w.config(l.handle, f.clients(w), func(c *Config) { c.PageSize = 2 }))
	for v := 1; v <= 10; v++ {
		for k := range 3 {
			w.write("o-"+strconv.Itoa(k), v)
		}
	}
	w.until("all are handled", func() bool { return l.distinct() == 30 })
	w.stopped(p)
	l.ordered(t, 3, 10)

	if l.count() != 30 {
		t.Errorf("%d calls for 30 records", l.count())
	}
}

func TestLostAnswersOfLeaseWritesDoNotCostTheLease(t *testing.T) {
	w := newTestEnv(t, 2)
	l := newRecorder()
	f := w.faults()
	var moves atomic.Int32
	f.set(func(op string, _ []byte) error {
		if op == "UpdateItem" && rand.N(3) == 0 {
			return errLostResponse
		}
		return nil
	})

	p := w.start(w.config(l.handle, f.clients(w), func(c *Config) {
		c.LeaseDuration = 10 * time.Second // every answer of a whole lease is not lost
		c.Events.Lease = func(e LeaseEvent) {
			if e.Change == LeaseLost {
				moves.Add(1)
			}
		}
	}))
	for v := 1; v <= 30; v++ {
		w.write("o-0", v)
		worker.Wait(t.Context(), 5*time.Millisecond)
	}
	w.roll()
	w.write("o-0", 31)
	w.until("all are handled", func() bool { return l.distinct() == 31 })
	f.set(nil)
	w.stopped(p)
	l.ordered(t, 1, 31)

	if l.count() != 31 || moves.Load() != 0 {
		t.Errorf("%d calls for 31 records, %d leases lost", l.count(), moves.Load())
	}
}

func TestLatestSkipsWhatWasThereAndSurvivesARestart(t *testing.T) {
	w := newTestEnv(t, 1)
	l := newRecorder()
	w.write("old", 1)
	worker.Wait(t.Context(), 1100*time.Millisecond) // Latest is good to a second
	latest := func(c *Config) { c.Start = Latest }
	p := w.start(w.config(l.handle, latest))
	w.until("the shard is being read", func() bool { return len(p.Lags()) == 1 })
	w.stopped(p) // before any record: there is no checkpoint
	w.write("o-0", 1)
	w.roll()
	w.write("o-0", 2)
	p = w.start(w.config(l.handle, latest))
	w.until("the new ones are handled", func() bool { return l.count() == 2 })
	w.stopped(p)

	if len(l.of("old")) != 0 {
		t.Error("a record from before the start was handled")
	}
	l.ordered(t, 1, 2)
}

func TestLatestWorksWithoutAtTimestamp(t *testing.T) {
	w := newTestEnv(t, 1)
	l := newRecorder()
	f := w.faults()
	f.set(func(op string, body []byte) error {
		if op == "GetShardIterator" && contains(body, "AT_TIMESTAMP") {
			return awsRefusal("ValidationException")
		}
		return nil
	})
	w.write("old", 1)
	worker.Wait(t.Context(), 1100*time.Millisecond)
	p := w.start(w.config(l.handle, f.clients(w), func(c *Config) { c.Start = Latest }))
	w.until("the shard is being read", func() bool { return len(p.Lags()) == 1 })
	w.write("o-0", 1)
	w.until("the new one is handled", func() bool { return l.count() == 1 })
	w.stopped(p)

	if len(l.of("old")) != 0 {
		t.Error("a record from before the start was handled")
	}
}

func TestAReplacedStreamIsReadToItsEndBeforeTheNewOne(t *testing.T) {
	w := newTestEnv(t, 2)
	l := newRecorder()
	p := w.start(w.config(l.handle))
	w.write("o-0", 1)
	w.until("the first record is handled", func() bool { return l.count() == 1 })
	w.stopped(p)
	w.write("o-0", 2)
	w.setStream(&ddbtypes.StreamSpecification{StreamEnabled: aws.Bool(false)})
	w.setStream(images())

	if next := w.latest(); next == w.arn {
		t.Fatal("the stream was not replaced")
	}
	w.write("o-0", 3)
	p = w.start(w.config(l.handle, func(c *Config) { c.Start = Latest }))
	w.until("both streams are handled", func() bool { return l.count() == 3 })
	w.stopped(p)
	l.ordered(t, 1, 3)

	if current, err := CurrentStream(context.Background(), w.db, leasesTable, ordersTable); err != nil || current == w.arn {
		t.Errorf("current stream %s, %v", current, err)
	}
}

func (w *testEnv) setStream(s *ddbtypes.StreamSpecification) {
	w.Helper()

	if _, err := w.db.UpdateTable(context.Background(), &dynamodb.UpdateTableInput{TableName: aws.String(ordersTable), StreamSpecification: s}); err != nil {
		w.Fatal(err)
	}
}

func TestANamedStreamEnds(t *testing.T) {
	w := newTestEnv(t, 1)
	l := newRecorder()
	p := w.start(w.config(l.handle, func(c *Config) { c.TableName, c.StreamARN = "", w.arn }))
	w.write("o-0", 1)
	w.setStream(&ddbtypes.StreamSpecification{StreamEnabled: aws.Bool(false)})
	<-p.done

	if err := p.stop(); !errors.Is(err, ErrStreamEnded) {
		t.Errorf("Run: %v", err)
	}

	if l.count() != 1 {
		t.Errorf("%d records handled before the end", l.count())
	}
}

func TestAnIdleShardIsPolledEveryFiveSeconds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &shardReader{cfg: &Config{PollActive: 250 * time.Millisecond, PollIdle: 5 * time.Second}, activeSince: time.Now()}
		count := func(span time.Duration) (n int) {
			for end := time.Now().Add(span); time.Now().Before(end); n++ {
				time.Sleep(r.idlePause())
			}
			return n
		}
		if n := count(10 * time.Second); n != 40 {
			t.Errorf("%d polls in the ten seconds after a record, want 40", n)
		}
		count(time.Minute)

		if n := count(24 * time.Hour); n > 24*3600/5+1 {
			t.Errorf("%d polls in a day without records", n)
		}
	})
}
