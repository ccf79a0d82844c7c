package streams

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"ratchet/embedded"
	"ratchet/embedded/embeddedtest"
)

// gaps collects the gaps that are reported.
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

// trimBehind handles version 1, then stops the poller, trims version 2 and writes
// version 3.
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

func TestTrimmedRecordsAreReportedAsAGap(t *testing.T) {
	w := newTestEnv(t, 1)
	l, g := newRecorder(), &gaps{}
	w.trimBehind(l)
	last := w.leases()[0].Checkpoint
	var faults atomic.Int32
	p := w.start(w.config(l.handle, g.hook, func(c *Config) {
		c.Events.Fault = func(string, string, error) { faults.Add(1) }
	}))
	w.until("the record after the gap is handled", func() bool { return l.count() == 2 })
	w.stopped(p)

	if n := faults.Load(); n != 0 {
		t.Errorf("%d failed calls other than the one that found the gap", n)
	}

	all := g.all()
	if len(all) != 1 || all[0].From != last || CompareSequence(all[0].To, last) <= 0 || all[0].Until.Before(all[0].Since) {
		t.Fatalf("gaps %+v, want one from %s", all, last)
	}

	if lease := w.leases()[0]; lease.Gaps != 1 || lease.GapFrom != last || lease.Checkpoint != all[0].To {
		t.Errorf("lease %+v", lease)
	}
}

func TestAGapEndsRunUnderGapHalt(t *testing.T) {
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
		t.Error("a record after the gap was handled")
	}
	p = w.start(w.config(l.handle, g.hook))
	w.until("the record after the gap is handled", func() bool { return l.count() == 2 })
	w.stopped(p)
}

func TestReadingResumesAfterTheLastRecordWhenAnIteratorExpires(t *testing.T) {
	w := newTestEnv(t, 1)
	l := newRecorder()
	transport, throughTransport := w.intercept()
	var n atomic.Int32
	transport.Before(func(c *embeddedtest.Call) error {
		if c.Is("GetRecords") && n.Add(1)%3 == 0 {
			return awsError("ExpiredIteratorException")
		}

		if c.Is("GetRecords") && n.Load()%5 == 0 {
			return embeddedtest.ErrAnswerLost
		}

		return nil
	})

	p := w.start(w.config(l.handle, throughTransport, func(c *Config) { c.PageSize = 2 }))
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

// A shard that DynamoDB no longer knows has lost whatever was not read of it.
func TestAShardThatIsGoneIsReportedAsAGapAndFinished(t *testing.T) {
	w := newTestEnv(t, 1)
	l, g := newRecorder(), &gaps{}
	transport, throughTransport := w.intercept()
	p := w.start(w.config(l.handle, throughTransport, g.hook))
	w.write("o-0", 1)
	w.until("the first record is handled", func() bool { return l.count() == 1 })
	w.until("its checkpoint is stored", func() bool { return w.leases()[0].Checkpoint != "" })
	before := w.leases()[0]

	transport.Around(func(c *embeddedtest.Call, send embeddedtest.Sender) (*http.Response, error) {
		if !c.Is("DescribeStream") {
			return send()
		}

		response, err := send()
		if err != nil {
			return nil, err
		}
		defer response.Body.Close()

		body, err := io.ReadAll(response.Body)
		if err != nil {
			return nil, err
		}

		// The listing has another shard in its place.
		listing := strings.ReplaceAll(string(body), `"ShardId":"`+before.Shard+`"`, `"ShardId":"another"`)

		return c.Respond(http.StatusOK, listing), nil
	})
	transport.Before(func(c *embeddedtest.Call) error {
		if c.Is("GetRecords", "GetShardIterator") && !w.leases()[0].Finished() {
			return awsError("ResourceNotFoundException")
		}
		return nil
	})
	w.until("the shard is finished", func() bool { return w.lease(before.Shard).Finished() })
	transport.Clear()
	w.stopped(p)

	if all := g.all(); len(all) != 1 || all[0].Shard != before.Shard || all[0].From != before.Checkpoint {
		t.Errorf("gaps %+v, want one after %s", all, before.Checkpoint)
	}

	if lease := w.lease(before.Shard); lease.Gaps != 1 {
		t.Errorf("lease %+v, want one gap", lease)
	}
}

func TestGapErrorNamesTheShardAndThePosition(t *testing.T) {
	for _, c := range []struct {
		gap  Gap
		want string
	}{
		{gap: Gap{Shard: "s", From: "7"}, want: "streams: records of shard s after 7 were trimmed"},
		{gap: Gap{Shard: "s"}, want: "streams: records of shard s after its start were trimmed"},
	} {
		if err := (&GapError{Gap: c.gap}); !strings.HasPrefix(err.Error(), c.want) {
			t.Errorf("%v, want %s...", err, c.want)
		}
	}
}
