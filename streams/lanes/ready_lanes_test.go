package lanes

import (
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ratchet/streams"
)

// waitingRecords returns a scheduler without places, and a shard of it with records of the items, one a second.
func waitingRecords(t *testing.T, items ...string) (*Scheduler, *Shard) {
	t.Helper()

	cfg := testConfig(1)
	cfg.Concurrency = 0
	s := NewScheduler(cfg)
	shard := s.NewShard(t.Context(), nil, NewWindow(100, MaxWindow, &Memory{Limit: 1 << 20}))

	var records []streams.Record
	for n, item := range items {
		records = append(records, streams.Record{
			SequenceNumber: string(rune('a' + n)),
			CreatedAt:      time.Now().Add(time.Duration(n-len(items)) * time.Second),
			Keys:           map[string]types.AttributeValue{"id": &types.AttributeValueMemberS{Value: item}},
		})
	}
	shard.Submit(records)

	return s, shard
}

// TestRecordsHaveTheirTurnsInTheOrderOfTheStream: the second record of an item waits no longer than others of its
// age, and one that failed comes behind those that waited already.
func TestRecordsHaveTheirTurnsInTheOrderOfTheStream(t *testing.T) {
	s, _ := waitingRecords(t, "o-1", "o-1", "o-2", "o-1", "o-3")
	s.mu.Lock()
	s.Cfg.Concurrency = 1
	l := s.nextOf(0)
	s.mu.Unlock()

	order := ""
	for failed := false; l != nil; l = s.nextAfter(0, false) {
		at := l.head.record.SequenceNumber
		order += at

		// The first call for the third record fails.
		done := at != "c" || failed
		failed = failed || at == "c"
		s.finishStep(l, l.head, done, 0)
	}

	if order != "abcdec" {
		t.Errorf("%q", order)
	}
}

// TestWhatWaitsForAPlaceSaysHowLate: the oldest record that no place was free for; one whose call runs, or that
// pauses, does not count.
func TestWhatWaitsForAPlaceSaysHowLate(t *testing.T) {
	virtually(t, func(t *testing.T) {
		s, shard := waitingRecords(t, "o-1", "o-2")
		want := func(what string, want time.Duration) {
			t.Helper()

			if got := s.Waits(0); got != want {
				t.Errorf("%s: %v, want %v", what, got, want)
			}
		}
		want("both wait", 2*time.Second)

		s.mu.Lock()
		s.Cfg.Concurrency = 1
		l := s.nextOf(0)
		s.mu.Unlock()
		want("the first one is called", time.Second)

		s.Cfg.Concurrency = 0
		s.finishStep(l, l.head, false, time.Minute)
		want("it pauses", time.Second)

		time.Sleep(time.Minute + time.Second)
		want("the other one is the older", time.Minute+2*time.Second)

		s.mu.Lock()
		s.handlers[0].running, s.running, s.Cfg.Concurrency = 0, 0, 1
		other := s.nextOf(0)
		s.mu.Unlock()
		want("the first one is due since a second", time.Second)

		shard.Stop()
		want("the shard stops, and ends what it has begun", time.Second)

		shard.drop()
		want("the shard has stopped", 0)
		s.finishStep(other, other.head, true, 0)

		s, shard = waitingRecords(t)
		shard.StartQueued(0, "o-3", nil)
		time.Sleep(time.Second)
		want("a step for the retry queue waits since it is due", time.Second)
	})
}
