package poller

import (
	"context"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"

	"ratchet/embedded"
	"ratchet/streams"
	"ratchet/streams/leases"
	"ratchet/streams/lineage"
	"ratchet/streams/store"
)

// simHorizon is how long the service keeps a record in the seeds with an outage. A day of virtual
// time would take half a second, because the engine's store has timers of 100 ms.
const simHorizon = 15 * time.Minute

// trimmedRecord is where a record was that the script trimmed.
type trimmedRecord struct {
	shard, sequence string
	at              time.Time
}

// outage stops all workers, some of them by a crash, writes what will be trimmed while shards
// roll over, lets more than simHorizon pass and writes one version more. It returns how many versions it has
// written.
func (s *simulation) outage(written int) int {
	// What is trimmed before the first start was not asked for.
	for !s.begun() {
		// Run gives up when it cannot begin.
		if !s.anyRuns() {
			s.startWorker(100 + len(s.workers))
		}
		time.Sleep(time.Second)
	}

	var stopped sync.WaitGroup
	for _, w := range s.workers {
		if s.rng.IntN(2) == 0 {
			w.die()
		}
		stopped.Go(func() { _ = w.stop() })
	}
	stopped.Wait()

	unread := s.rng.IntN(s.versions - written)
	for n := range unread {
		for range s.rng.IntN(3) {
			s.roll()
		}
		s.writeVersion(s.items, written+1+n)
	}

	for range s.rng.IntN(3) {
		s.roll()
	}

	s.trimmed, s.leased = s.records(), map[string]bool{}
	for _, l := range s.leases() {
		s.leased[l.Shard] = true
	}

	time.Sleep(simHorizon + time.Minute)
	s.writeVersion(s.items, written+unread+1)

	return unread + 1
}

// anyRuns reports whether a worker lives.
func (s *simulation) anyRuns() bool {
	return slices.ContainsFunc(s.workers, func(w *simWorker) bool {
		w.mu.Lock()
		defer w.mu.Unlock()

		select {
		case <-w.done:
			return false
		default:
			return !w.dead
		}
	})
}

// begun reports whether a worker has begun to read the stream. It may not have listed it yet.
func (s *simulation) begun() bool {
	_, state, err := s.table().Read(context.Background())
	if err != nil {
		s.Fatal(err)
	}

	return state != nil
}

// trim removes what is older than simHorizon, now or a little later.
func (s *simulation) trim() {
	time.Sleep(time.Duration(s.rng.IntN(2)) * time.Duration(s.rng.Int64N(int64(3*time.Second))))

	if err := s.engine.TrimStream(context.Background(), s.arn, embedded.TrimPoint{Time: time.Now().Add(-simHorizon)}); err != nil {
		s.Fatal(err)
	}
}

// records reads the whole stream, shard by shard, and returns the Records by item and version.
func (s *simulation) records() map[string]trimmedRecord {
	client := dynamodbstreams.NewFromConfig(s.engine.AWSConfig())

	described, err := client.DescribeStream(context.Background(), &dynamodbstreams.DescribeStreamInput{StreamArn: &s.arn})
	if err != nil {
		s.Fatal(err)
	}

	all := map[string]trimmedRecord{}
	for _, shard := range described.StreamDescription.Shards {
		it, err := client.GetShardIterator(context.Background(), &dynamodbstreams.GetShardIteratorInput{
			StreamArn: &s.arn, ShardId: shard.ShardId, ShardIteratorType: "TRIM_HORIZON",
		})
		if err != nil {
			s.Fatal(err)
		}

		for iterator := it.ShardIterator; iterator != nil; {
			page, err := client.GetRecords(context.Background(), &dynamodbstreams.GetRecordsInput{ShardIterator: iterator})
			if err != nil {
				s.Fatal(err)
			}

			for i := range page.Records {
				r := lineage.FromSDK(&page.Records[i])
				id, version := keyAndVersion(r)
				all[id+"/"+strconv.Itoa(version)] = trimmedRecord{shard: aws.ToString(shard.ShardId), sequence: r.SequenceNumber, at: r.CreatedAt}
			}

			if iterator = page.NextShardIterator; len(page.Records) == 0 {
				break
			}
		}
	}

	return all
}

// lost reports whether a version may be missing: it was trimmed, and a declared gap says so.
func (s *simulation) lost(id string, version int) bool {
	r, trimmed := s.trimmed[id+"/"+strconv.Itoa(version)]
	if !trimmed {
		return false
	}

	s.mu.Lock()
	defer s.mu.Unlock()

	return slices.ContainsFunc(s.gaps, func(g streams.Gap) bool {
		// Under GapParent the shard's ancestors may be lost as well.
		shard := g.Shard == r.shard || (g.Reason == streams.GapParent && lineage.ShardCreatedAt(r.shard).Before(lineage.ShardCreatedAt(g.Shard)) && !s.leased[r.shard])

		return shard && r.at.Before(g.Until) &&
			(g.From == "" || store.CompareSequence(r.sequence, g.From) > 0) && (g.To == "" || store.CompareSequence(r.sequence, g.To) < 0)
	})
}

// checkGaps checks that the leases count the gaps of their shards, and that there are gaps only
// after an outage.
func (s *simulation) checkGaps() {
	s.mu.Lock()
	defer s.mu.Unlock()

	if len(s.gaps) > 0 && s.outageAt == 0 {
		s.Errorf("gaps %+v", s.gaps)
	}

	leases := leases.ByShard(s.leases())
	for _, g := range s.gaps {
		if l, stored := leases[g.Shard]; stored && l.Gaps == 0 {
			s.Errorf("the lease does not count the gap %+v: %+v", g, l)
		}
	}
}

// complete reports whether the handler has got every record that may not be missing.
func (s *simulation) complete(l *recorder, missing func(id string, version int) bool) bool {
	for i := range s.items {
		id := "o-" + strconv.Itoa(i)
		got := map[int]bool{}

		for _, v := range l.of(id) {
			got[v] = true
		}

		for v := 1; v <= s.versions; v++ {
			if !got[v] && !missing(id, v) {
				return false
			}
		}
	}

	return true
}
