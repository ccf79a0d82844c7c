package poller

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"
	streamtypes "github.com/aws/aws-sdk-go-v2/service/dynamodbstreams/types"

	"ratchet/embedded"
	"ratchet/embedded/embeddedtest"
	"ratchet/streams"
	"ratchet/streams/leases"
	"ratchet/streams/retryqueue"
)

var fleetShards = flag.Int("fleetshards", 300, "shards of the test of a large fleet")

// quietStreams is a stream with many shards and no records. Each call of DescribeStream takes
// a tenth of a second, as with the service.
type quietStreams struct {
	arn string

	mu        sync.Mutex
	shards    []streamtypes.Shard
	described []time.Time
}

func (s *quietStreams) ListStreams(context.Context, *dynamodbstreams.ListStreamsInput, ...func(*dynamodbstreams.Options)) (*dynamodbstreams.ListStreamsOutput, error) {
	return &dynamodbstreams.ListStreamsOutput{Streams: []streamtypes.Stream{{StreamArn: &s.arn}}}, nil
}

func (s *quietStreams) DescribeStream(_ context.Context, in *dynamodbstreams.DescribeStreamInput, _ ...func(*dynamodbstreams.Options)) (*dynamodbstreams.DescribeStreamOutput, error) {
	s.mu.Lock()
	s.described = append(s.described, time.Now())
	shards := slices.Clone(s.shards)
	s.mu.Unlock()

	time.Sleep(100 * time.Millisecond)

	d := &streamtypes.StreamDescription{StreamArn: &s.arn, StreamStatus: streamtypes.StreamStatusEnabled, CreationRequestDateTime: aws.Time(time.Unix(1, 0))}
	for i, shard := range shards {
		switch {
		case in.ShardFilter != nil && aws.ToString(shard.ParentShardId) != *in.ShardFilter.ShardId, *shard.ShardId <= aws.ToString(in.ExclusiveStartShardId):
		case len(d.Shards) == int(aws.ToInt32(in.Limit)):
			d.LastEvaluatedShardId = shards[i-1].ShardId
			return &dynamodbstreams.DescribeStreamOutput{StreamDescription: d}, nil
		default:
			d.Shards = append(d.Shards, shard)
		}
	}

	return &dynamodbstreams.DescribeStreamOutput{StreamDescription: d}, nil
}

func (s *quietStreams) GetShardIterator(context.Context, *dynamodbstreams.GetShardIteratorInput, ...func(*dynamodbstreams.Options)) (*dynamodbstreams.GetShardIteratorOutput, error) {
	return &dynamodbstreams.GetShardIteratorOutput{ShardIterator: aws.String("open")}, nil
}

func (s *quietStreams) GetRecords(_ context.Context, in *dynamodbstreams.GetRecordsInput, _ ...func(*dynamodbstreams.Options)) (*dynamodbstreams.GetRecordsOutput, error) {
	return &dynamodbstreams.GetRecordsOutput{NextShardIterator: in.ShardIterator}, nil
}

// calls returns how often DescribeStream was called.
func (s *quietStreams) calls() int {
	s.mu.Lock()
	defer s.mu.Unlock()

	return len(s.described)
}

// busiestSecond returns the most calls of DescribeStream that began within one second.
func (s *quietStreams) busiestSecond() int {
	s.mu.Lock()
	defer s.mu.Unlock()

	most, first := 0, 0
	for i, at := range s.described {
		for at.Sub(s.described[first]) >= time.Second {
			first++
		}
		most = max(most, i-first+1)
	}

	return most
}

// newFleet returns a stream with so many open shards, and an edit that makes pollers with
// the default times read it.
func newFleet(shards int) (*quietStreams, func(*Config)) {
	s := &quietStreams{arn: "arn:aws:dynamodb:us-east-1:000000000000:table/orders/stream/2026-11-22T00:00:00.000"}
	for i := range shards {
		s.shards = append(s.shards, streamtypes.Shard{ShardId: aws.String(fmt.Sprintf("shardId-%020d-%06d", time.Now().UnixMilli(), i))})
	}

	return s, func(c *Config) {
		defaultTimes(c)
		c.TableName, c.StreamARN, c.Streams = "", s.arn, s
	}
}

// defaultTimes leaves all times at their defaults.
func defaultTimes(c *Config) {
	c.PollActive, c.PollIdle, c.LeaseDuration, c.checkpointEvery, c.discoverEvery, c.DrainTimeout = 0, 0, 0, 0, 0, 0
}

// consumed adds up read units by table.
type consumed struct {
	mu    sync.Mutex
	reads float64
}

func (c *consumed) add(_ string, read, _ float64) {
	c.mu.Lock()
	defer c.mu.Unlock()

	c.reads += read
}

func (c *consumed) take() float64 {
	c.mu.Lock()
	defer c.mu.Unlock()

	n := c.reads
	c.reads = 0

	return n
}

// holdings counts the leases of each worker by its events.
type holdings struct {
	mu    sync.Mutex
	held  map[string]int // by worker
	moves map[string]int // by shard
	lost  int
}

// watch returns an edit that counts the leases of a worker under the name.
func (h *holdings) watch(name string) func(*Config) {
	return func(c *Config) {
		c.Events.Lease = func(e streams.LeaseEvent) {
			h.mu.Lock()
			defer h.mu.Unlock()

			if h.held == nil {
				h.held, h.moves = map[string]int{}, map[string]int{}
			}

			switch e.Change {
			case streams.LeaseTaken:
				h.held[name]++
				h.moves[e.Shard]++
			case streams.LeaseLost:
				h.held[name]--
				h.lost++
			case streams.LeaseReleased, streams.LeaseFinished:
				h.held[name]--
			}
		}
	}
}

func (h *holdings) forgetMoves() {
	h.mu.Lock()
	defer h.mu.Unlock()

	h.moves, h.lost = map[string]int{}, 0
}

// of returns how many leases the workers hold.
func (h *holdings) of(names ...string) []int {
	h.mu.Lock()
	defer h.mu.Unlock()

	out := make([]int, len(names))
	for i, name := range names {
		out[i] = h.held[name]
	}

	return out
}

// sleepUntil lets virtual time pass until ok returns true, and returns how much.
func sleepUntil(t *testing.T, most time.Duration, ok func() bool) time.Duration {
	t.Helper()

	began := time.Now()
	for !ok() {
		if time.Since(began) > most {
			t.Fatalf("not after %v", most)
		}
		time.Sleep(100 * time.Millisecond)
	}

	return time.Since(began)
}

func TestTwoIdleWorkersCostLessThan200ReadUnitsAMinute(t *testing.T) {
	virtually(t, func(t *testing.T) {
		var units consumed
		w := newTestEnv(t, 8, func(c *embedded.Config) { c.Consumed = units.add })
		transport, throughTransport := w.intercept()
		var h holdings
		a := w.start(w.config(newRecorder().handle, defaultTimes, throughTransport, h.watch("a")))
		b := w.start(w.config(newRecorder().handle, defaultTimes, h.watch("b")))
		sleepUntil(t, time.Minute, func() bool { return slices.Equal(h.of("a", "b"), []int{4, 4}) })
		time.Sleep(time.Minute)
		units.take()

		minutes := 10
		if testing.Short() {
			minutes = 3
		}
		time.Sleep(time.Duration(minutes) * time.Minute)

		if perMinute := units.take() / float64(minutes); perMinute >= 200 {
			t.Errorf("%.0f read units a minute", perMinute)
		} else {
			t.Logf("%.0f read units a minute", perMinute)
		}

		// Cheap as that is, a crash is noticed in time, whenever it comes.
		transport.Before(func(*embeddedtest.Call) error { return errors.New("the process is dead") })
		took := sleepUntil(t, 20*time.Second, func() bool { return h.of("b")[0] == 8 })
		t.Logf("taken over after %v", took)

		if took > 11*time.Second {
			t.Errorf("taken over after %v, want 11s at most", took)
		}
		w.stopped(b)
		_ = a.stop()
	})
}

// A worker joins a worker that reads thousands of shards. Within a minute both have the
// same number, and DescribeStream was never called more often than the service allows.
func TestThousandsOfShardsAreBalancedWithinAMinute(t *testing.T) {
	virtually(t, func(t *testing.T) {
		w := newTestEnv(t, 1)

		shards := *fleetShards
		stream, inFleet := newFleet(shards)
		var h holdings
		a := w.start(w.config(newRecorder().handle, inFleet, h.watch("a")))
		sleepUntil(t, 5*time.Minute, func() bool { return h.of("a")[0] == shards })

		b := w.start(w.config(newRecorder().handle, inFleet, h.watch("b")))
		took := sleepUntil(t, time.Minute, func() bool {
			n := h.of("a", "b")
			return n[0]+n[1] == shards && max(n[0], n[1])-min(n[0], n[1]) <= 1
		})
		t.Logf("%d shards are balanced %v after a worker has joined", shards, took)

		for shard, n := range h.moves {
			if n > 2 {
				t.Errorf("%s moved %d times", shard, n-1)
			}
		}

		if h.lost > 0 {
			t.Errorf("%d leases were lost", h.lost)
		}

		if n := stream.busiestSecond(); n > 10 {
			t.Errorf("%d calls of DescribeStream within a second, AWS allows 10", n)
		}
		w.stopped(a)
		w.stopped(b)
	})
}

// TestWorkersMayHaveLeasesOfOtherDurations: as during a rollout of another LeaseDuration, and as `ratchet worker` beside
// `ratchet dev`, whose leases last two seconds. No worker takes leases of one that lives, and each is taken over after its own
// duration.
func TestWorkersMayHaveLeasesOfOtherDurations(t *testing.T) {
	virtually(t, func(t *testing.T) {
		w := newTestEnv(t, 8)

		lasting := func(d time.Duration) func(*Config) { return func(c *Config) { c.LeaseDuration = d } }
		transport, throughTransport := w.intercept()
		var h holdings
		long := w.start(w.config(newRecorder().handle, defaultTimes, lasting(20*time.Second), throughTransport, h.watch("long")))
		short := w.start(w.config(newRecorder().handle, defaultTimes, lasting(2*time.Second), h.watch("short")))
		sleepUntil(t, time.Minute, func() bool { return slices.Equal(h.of("long", "short"), []int{4, 4}) })

		queues := &leases.Table{API: w.db, Table: leasesTable, Stream: retryqueue.SourcePrefix + ordersTable}
		before, _, err := queues.Get(t.Context(), "h")

		h.forgetMoves()
		time.Sleep(5 * time.Minute)

		if after, _, err2 := queues.Get(t.Context(), "h"); err != nil || err2 != nil || before.Owner == "" || after.Epoch != before.Epoch {
			t.Errorf("the queue moved from %s to %s: %v", before.Owner, after.Owner, errors.Join(err, err2))
		}

		if len(h.moves) > 0 || h.lost > 0 {
			t.Errorf("%d shards moved, and %d leases were lost", len(h.moves), h.lost)
		}

		transport.Before(func(*embeddedtest.Call) error { return errors.New("the process is dead") })

		// The last heartbeat was up to a third of the duration ago.
		if took := sleepUntil(t, 30*time.Second, func() bool { return h.of("short")[0] == 8 }); took < 12*time.Second || took > 21*time.Second {
			t.Errorf("taken over after %v, want 20 s after the last heartbeat", took)
		}
		w.stopped(short)
		_ = long.stop()
	})
}

// TestLeasesOfAWorkerThatHasEndedAreTakenAtOnce, those of shards and of retry queues.
func TestLeasesOfAWorkerThatHasEndedAreTakenAtOnce(t *testing.T) {
	virtually(t, func(t *testing.T) {
		w := newTestEnv(t, 4)

		named := func(owner string) func(*Config) { return func(c *Config) { c.Owner = owner } }
		transport, throughTransport := w.intercept()
		var h holdings
		former := w.start(w.config(newRecorder().handle, defaultTimes, named("former"), throughTransport, h.watch("former")))
		queues := &leases.Table{API: w.db, Table: leasesTable, Stream: retryqueue.SourcePrefix + ordersTable}
		holder := func() string {
			l, _, err := queues.Get(t.Context(), "h")
			if err != nil {
				t.Fatal(err)
			}

			return l.Owner
		}
		sleepUntil(t, time.Minute, func() bool { return h.of("former")[0] == 4 && strings.HasPrefix(holder(), "former") })

		transport.Before(func(*embeddedtest.Call) error { return errors.New("the process is dead") })
		ended := func(c *Config) { c.Ended = func(owner string) bool { return strings.HasPrefix(owner, "former-") } }
		next := w.start(w.config(newRecorder().handle, defaultTimes, named("next"), ended, h.watch("next")))

		sleepUntil(t, time.Second, func() bool { return h.of("next")[0] == 4 && strings.HasPrefix(holder(), "next") })
		w.stopped(next)
		_ = former.stop()
	})
}

// Ten workers start at once: one lists for all.
func TestOneWorkerListsForTheFleet(t *testing.T) {
	virtually(t, func(t *testing.T) {
		w := newTestEnv(t, 1)

		workers, shards := 10, 110 // two pages
		if testing.Short() {
			workers, shards = 3, describePageSize+2
		}
		stream, inFleet := newFleet(shards)

		var h holdings
		var fleet []*runningPoller
		var names []string
		for i := range workers {
			names = append(names, fmt.Sprint(i))
			fleet = append(fleet, w.start(w.config(newRecorder().handle, inFleet, h.watch(names[i]))))
		}
		sleepUntil(t, time.Minute, func() bool {
			n := h.of(names...)
			return slices.Min(n) == shards/workers && slices.Max(n) == shards/workers
		})

		if n, want := stream.calls(), shards/describePageSize+1+workers; n > want {
			t.Errorf("%d calls of DescribeStream, want %d: one listing and one question of each worker", n, want)
		}
		time.Sleep(2 * time.Minute)

		if n, want := stream.calls(), 4*(shards/describePageSize+1)+workers; n > want {
			t.Errorf("%d calls of DescribeStream after two minutes, want up to %d", n, want)
		}

		for _, p := range fleet {
			w.stopped(p)
		}
	})
}
