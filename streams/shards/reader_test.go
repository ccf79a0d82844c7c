package shards

import (
	"context"
	"errors"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	streamtypes "github.com/aws/aws-sdk-go-v2/service/dynamodbstreams/types"

	"ratchet/embedded/embeddedtest"
	"ratchet/internal/dynamo"
	"ratchet/streams"
	"ratchet/streams/calls"
	"ratchet/streams/holders"
	"ratchet/streams/lanes"
	"ratchet/streams/leases"
	"ratchet/streams/lineage"
	"ratchet/streams/retryqueue"
)

// suspectBatch is how many records of a suspect shard are handed out at a time.
const suspectBatch = 32

// testReader returns the reader of a shard without a lease and a stream, whose handler is h.
func testReader(t *testing.T, h streams.HandlerFunc) *Reader {
	t.Helper()

	scheduler := lanes.NewScheduler(&lanes.Config{
		Handlers:    calls.WithDefaults([]streams.Handler{{Name: "h", Handle: h, Concurrency: 64}}, calls.DefaultRetry, time.Minute),
		Concurrency: 64,
		Events:      streams.Events{Handled: func(streams.Handled) {}},
		Log:         embeddedtest.Quiet(),
		Retries:     &retryqueue.Table{},
		Clock:       &dynamo.Clock{},
		Calls:       &lanes.Gate{},
		MaxPending:  100,
		ParkAfter:   time.Minute,
		LateAfter:   time.Minute,
	})
	window := lanes.NewWindow(100, 100, &lanes.Memory{Limit: 1 << 20})
	cfg := &Config{Config: lineage.Config{Events: streams.Events{Page: func(streams.Page) {}}, Clock: &dynamo.Clock{}, Log: embeddedtest.Quiet()}, MaxPending: 100, PageSize: 100}

	return &Reader{
		Cfg:    cfg,
		Stream: &lineage.Stream{},
		Lanes:  scheduler.NewShard(t.Context(), holders.Hold(nil, leases.Lease{}, time.Now(), 24*time.Hour), window),
	}
}

func TestAnIdleShardIsPolledEveryFiveSeconds(t *testing.T) {
	virtually(t, func(t *testing.T) {
		r := &Reader{Cfg: &Config{PollActive: 250 * time.Millisecond, PollIdle: 5 * time.Second}, activeSince: time.Now()}
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

func TestOneEmptyPageIsNotCaughtUp(t *testing.T) {
	virtually(t, func(t *testing.T) {
		r := testReader(t, func(context.Context, streams.Record) error { return nil })
		last := time.Now()
		r.newestAt.Store(lanes.UnixMilli(last))
		time.Sleep(time.Hour)

		for n, want := range []bool{false, true, true} {
			r.EmptyPages++
			r.noteCaughtUp(page{began: time.Now()})
			lag := r.Lag(time.Now())

			if lag.CaughtUp != want || (lag.Age < time.Second) != want {
				t.Errorf("after %d empty pages: %+v", n+1, lag)
			}
		}

		// The lag grows while nothing is read, and does not stay at the last value.
		time.Sleep(time.Minute)

		if lag := r.Lag(time.Now()); lag.Age != time.Minute {
			t.Errorf("a minute after the last page: %+v", lag)
		}
		r.noteCaughtUp(page{began: time.Now(), records: make([]streamtypes.Record, 1)})

		if r.Lag(time.Now()).CaughtUp {
			t.Error("caught up after a page with records")
		}
	})
}

// suspectReader returns the reader of a suspect shard with one page of records of one item, after
// which the end of the shard stops it, and how often it stores the tried records. died is the note of
// the records that were tried when the last worker ended.
func suspectReader(t *testing.T, handle streams.HandlerFunc, records, left int, died *leases.TryNote) (r *Reader, notes *int) {
	r = testReader(t, handle)

	notes = new(int)
	suspect := lanes.NewSuspect(leases.Lease{Trying: died}, left)
	suspect.Begin = func(context.Context, *leases.TryNote) error { *notes++; return nil }
	suspect.Ended = func(context.Context, *leases.TryNote) {}
	r.Lanes.Suspect.Store(suspect)

	last := page{records: make([]streamtypes.Record, records)}
	for i := range last.records {
		last.records[i].Dynamodb = &streamtypes.StreamRecord{
			SequenceNumber: aws.String(strconv.Itoa(i + 1)),
			Keys:           map[string]streamtypes.AttributeValue{"id": &streamtypes.AttributeValueMemberS{Value: "o-0"}},
		}
	}
	r.iterator, r.ahead = "of the last page", make(chan page, 1)
	r.ahead <- last

	return r, notes
}

// TestAStopWithinTheLastPageOfASuspectShardIsNotItsEnd: the records of the page that were not handed
// to the handlers would be lost with the shard.
func TestAStopWithinTheLastPageOfASuspectShardIsNotItsEnd(t *testing.T) {
	virtually(t, func(t *testing.T) {
		called := make(chan string)
		r, _ := suspectReader(t, func(_ context.Context, r streams.Record) error {
			called <- r.SequenceNumber
			return nil
		}, 3, 10, &leases.TryNote{UpTo: "3"})

		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() { ended <- r.Run(ctx) }()
		synctest.Wait()
		stop()

		if err := <-ended; err != nil {
			t.Errorf("reading ended with %v", err)
		}

		if first := <-called; first != "1" {
			t.Errorf("called for %s", first)
		}
		<-r.Lanes.Stop()
		r.Lanes.Scheduler.Goroutines.Wait()

		if checkpoint, _ := r.Lanes.Window.Checkpoint(); checkpoint != "1" {
			t.Errorf("checkpoint %s", checkpoint)
		}
	})
}

// TestAShardIsSuspectForSoManyRecords: the tried records are stored for each batch, and for each record of
// the batch that has ended a worker. Later records cost no writes, and neither do the records of a shard
// that has no suspect ones left.
func TestAShardIsSuspectForSoManyRecords(t *testing.T) {
	const records = 3*suspectBatch - 10

	for _, test := range []struct {
		name  string
		died  *leases.TryNote
		left  int
		notes int
	}{
		{"in batches", nil, records + 1, 3},
		{"up to a record", nil, suspectBatch + 1, 2},
		{"a batch has ended a worker", &leases.TryNote{UpTo: "5"}, records + 1, 5 + 3},
		{"a record has", &leases.TryNote{UpTo: "5", Sequence: "2", Tries: map[string]int{"h": 1}}, 7, 5 + 1},
	} {
		r, notes := suspectReader(t, func(context.Context, streams.Record) error { return nil }, records, test.left, test.died)
		if err := r.Run(t.Context()); !errors.Is(err, ErrShardEnd) {
			t.Fatal(err)
		}

		if err := r.Lanes.Window.WaitUntilEmpty(t.Context()); err != nil {
			t.Fatal(err)
		}

		if *notes != test.notes {
			t.Errorf("%s: %d notes for %d of %d records, want %d", test.name, *notes, test.left, records, test.notes)
		}

		if suspect := r.Lanes.Suspect.Load() != nil; suspect != (test.left > records) {
			t.Errorf("%s: after %d of %d records: suspect %t", test.name, test.left, records, suspect)
		}
		r.EmptyPages = caughtUpPages
		r.noteCaughtUp(page{})

		if r.Lanes.Suspect.Load() != nil {
			t.Error("a shard without records is suspect")
		}
		<-r.Lanes.Stop()
		r.Lanes.Scheduler.Goroutines.Wait()
	}
}

// TestOnlyRecordsThatAreNotReadAreUnread: a record that was read counts no more, however long its handler
// takes. One empty page shows that nothing is left.
func TestOnlyRecordsThatAreNotReadAreUnread(t *testing.T) {
	virtually(t, func(t *testing.T) {
		release := make(chan struct{})
		r := testReader(t, func(context.Context, streams.Record) error { <-release; return nil })
		written := time.Now().Truncate(time.Second)
		time.Sleep(time.Minute)

		deliver := func(sequence string) {
			if err := r.deliver(t.Context(), []streamtypes.Record{{Dynamodb: &streamtypes.StreamRecord{
				SequenceNumber:              aws.String(sequence),
				ApproximateCreationDateTime: &written,
				Keys:                        map[string]streamtypes.AttributeValue{"id": &streamtypes.AttributeValueMemberS{Value: "o-0"}},
			}}}); err != nil {
				t.Fatal(err)
			}
		}

		if lag := r.Lag(time.Now()); lag.Unread != 0 {
			t.Errorf("before the first page: %+v", lag)
		}
		deliver("1")

		if lag := r.Lag(time.Now()); lag.Unread.Round(time.Second) != time.Minute {
			t.Errorf("after a page with records: %+v", lag)
		}

		if err := r.deliver(t.Context(), nil); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Hour)

		if lag := r.Lag(time.Now()); lag.Unread != 0 || lag.Age < time.Hour || lag.Pending != 1 {
			t.Errorf("after an empty page: %+v", lag)
		}
		deliver("2")

		if lag := r.Lag(time.Now()); lag.Unread < time.Hour {
			t.Errorf("after another page: %+v", lag)
		}
		close(release)
	})
}
