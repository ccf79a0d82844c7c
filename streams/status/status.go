package status

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"

	"ratchet/internal/dynamo"
	"ratchet/internal/worker"
	"ratchet/streams/leases"
	"ratchet/streams/lineage"
	"ratchet/streams/retryqueue"
	"ratchet/streams/store"
)

// Inspector looks at how far a table's stream has been handled. It needs no worker and changes
// nothing. Streams and Queue must be set.
//
// It reads the first records after the checkpoint of each unfinished shard. While it does, it is
// one more reader of the shard, beside the workers; see ErrTooManyGroups.
type Inspector struct {
	Streams lineage.API
	// Queue names the table of the stream, the group, and the tables of leases and dead letters.
	Queue retryqueue.Queue
	// Handlers are the names of the handlers to report on.
	Handlers []string
	// Count is how many records after the checkpoint are counted in each shard. Counting ends after
	// the page that reaches Count. Default: 1000.
	Count int
	// Watch is how long Status waits for signs of life of the workers that hold leases: a change of
	// the worker's row or of a lease. It must be longer than a third of Config.LeaseDuration.
	// Status waits no longer when every holder has given a sign of life. Default: 5 s.
	Watch time.Duration
}

// StreamState is the state of a table's stream.
type StreamState string

// States of a stream.
const (
	StreamOn   StreamState = "on"
	StreamOff  StreamState = "off"  // switched off; its records can be read for 24 hours
	StreamGone StreamState = "gone" // the service does not know it any more
	StreamNone StreamState = "none" // the table has no stream, and the workers have never read one
)

// Status is an Inspector's report. Ages are by the clock of the caller, ±1 s.
type Status struct {
	Table string `json:"table"`
	Group string `json:"group,omitempty"`
	// Stream is the ARN of the stream that the workers read. Before the first worker has started,
	// it is the ARN of the table's latest stream.
	Stream string      `json:"stream,omitempty"`
	State  StreamState `json:"state"`
	// Next is the ARN of the stream that has replaced Stream, "" if there is none.
	Next string `json:"next,omitempty"`
	// Workers are the workers that have given a sign of life, sorted.
	Workers []string `json:"workers"`
	// Shards are the unfinished shards, and the shards with a gap, in the order of their ids.
	// Finished is the number of the other shards, which are finished.
	Shards   []ShardStatus   `json:"shards"`
	Finished int             `json:"finished"`
	Handlers []HandlerStatus `json:"handlers"`
	// Replaced is how often the table's stream was replaced by another one. ReplacedAt is
	// the last time. Changes in between made no records.
	Replaced   int64     `json:"replaced,omitempty"`
	ReplacedAt time.Time `json:"replacedAt,omitzero"`
	// Problems are sentences about what a person should look at.
	Problems []string `json:"problems"`
}

// ShardState says who works on a shard.
type ShardState string

// States of a shard.
const (
	ShardHeld     ShardState = "held"     // a worker that has given a sign of life holds it
	ShardSilent   ShardState = "silent"   // a worker that has given no sign of life holds it
	ShardFree     ShardState = "free"     // no worker holds it
	ShardWaiting  ShardState = "waiting"  // it waits until its parent is finished
	ShardUnknown  ShardState = "unknown"  // it is listed and has no lease yet
	ShardFinished ShardState = "finished" // handled to its end
)

// ShardStatus is how far one shard has been handled.
type ShardStatus struct {
	Shard  string     `json:"shard"`
	Parent string     `json:"parent,omitempty"`
	State  ShardState `json:"state"`
	Owner  string     `json:"owner,omitempty"`
	// Open says that the shard may get more records, Listed that the service lists it.
	Open   bool `json:"open"`
	Listed bool `json:"listed"`
	// Checkpoint is the last sequence number up to which every record is finished, HandledAt when
	// that record was created.
	Checkpoint string    `json:"checkpoint,omitempty"`
	HandledAt  time.Time `json:"handledAt,omitzero"`
	// Records is how many records were counted after the checkpoint. More says that there may be
	// more of them. OldestAt is when the first of them was created, zero if there is none.
	Records  int       `json:"records"`
	More     bool      `json:"more,omitempty"`
	OldestAt time.Time `json:"oldestAt,omitzero"`
	// Unread says why the records after the checkpoint could not be counted.
	Unread string `json:"unread,omitempty"`
	// Gaps is how often records were lost. GapFrom and GapAt describe the newest gap.
	Gaps    int64     `json:"gaps,omitempty"`
	GapFrom string    `json:"gapFrom,omitempty"`
	GapAt   time.Time `json:"gapAt,omitzero"`
}

// Age is how old the oldest record after the checkpoint is at now, 0 if there is none.
func (s ShardStatus) Age(now time.Time) time.Duration { return ageAt(s.OldestAt, now) }

// HandlerStatus says how much one handler has left undone.
type HandlerStatus struct {
	Name string `json:"handler"`
	// Items and Records are how many items and records wait in the retry queue. Since is the
	// earliest time at which a call for one of them first failed, zero if no call failed. NextTry
	// is when the next record is due. Error is the newest error of the item that has Since.
	Items   int       `json:"items"`
	Records int       `json:"records"`
	Since   time.Time `json:"since,omitzero"`
	NextTry time.Time `json:"nextTry,omitzero"`
	Error   string    `json:"error,omitempty"`
	// DeadLetters is how many records the handler gave up on.
	DeadLetters int `json:"deadLetters"`
	// PausedAt is since when the handler is paused, zero if it is not.
	PausedAt time.Time `json:"pausedAt,omitzero"`
}

// ageAt returns the time from since to now, 0 if since is zero or after now.
func ageAt(since, now time.Time) time.Duration {
	if since.IsZero() {
		return 0
	}

	return max(now.Sub(since), 0)
}

// Status looks at the stream. It returns an error if the leases or the stream cannot be
// read. If a shard cannot be read, its Unread says why.
func (i Inspector) Status(ctx context.Context) (Status, error) {
	i.Count = cmp.Or(i.Count, lineage.MaxPageSize)
	i.Watch = cmp.Or(i.Watch, 5*time.Second)

	s := Status{Table: i.Queue.TableName, Group: i.Queue.Group, Workers: []string{}, Shards: []ShardStatus{}, Problems: []string{}}
	if err := i.findStream(ctx, &s); err != nil {
		return Status{}, err
	}

	if s.Stream != "" {
		if err := i.inspectShards(ctx, &s); err != nil {
			return Status{}, err
		}
	}

	paused, err := i.Queue.Paused(ctx)
	if err != nil {
		return Status{}, err
	}

	for _, name := range i.Handlers {
		h, err := i.handlerStatus(ctx, name)
		if err != nil {
			return Status{}, err
		}
		h.PausedAt = paused[name]
		s.Handlers = append(s.Handlers, h)
	}
	s.findProblems()

	return s, nil
}

// findStream finds the stream that is being read.
func (i Inspector) findStream(ctx context.Context, s *Status) error {
	latest, err := lineage.LatestStream(ctx, i.Queue.DynamoDB, i.Queue.TableName)
	if err != nil {
		return err
	}

	row, err := lineage.CurrentRow(ctx, i.Queue.DynamoDB, i.Queue.LeaseTable, store.GroupKey(i.Queue.Group, i.Queue.TableName))
	if err != nil {
		return err
	}

	// Before the first worker the row is missing; the workers will begin with the latest stream.
	s.Stream = cmp.Or(dynamo.Text(row, lineage.CurrentStreamARN), latest)
	s.Replaced, s.ReplacedAt = dynamo.Number(row, leases.LeaseGaps), dynamo.Time(row, leases.LeaseGapAt)
	s.State = StreamNone

	if latest != s.Stream {
		s.Next = latest
	}

	return nil
}

// inspectShards compares the stream's shards with its leases.
func (i Inspector) inspectShards(ctx context.Context, s *Status) error {
	l, err := lineage.ListShards(ctx, i.Streams, s.Stream)
	if err != nil {
		return err
	}

	switch {
	case l.Gone:
		s.State = StreamGone
	case l.Closed():
		s.State = StreamOff
	default:
		s.State = StreamOn
	}

	stored, alive, err := i.watchLeases(ctx, s.Stream)
	if err != nil {
		return err
	}

	s.Workers = alive
	known := leases.ByShard(stored)
	s.Shards, s.Finished = shardsOf(l, known, alive)

	return i.countRecords(ctx, s, known)
}

// watchLeases reads the leases and finds out which of their holders are alive: a live holder
// changes its own row or a lease within i.Watch. watchLeases returns the leases as it has read them
// last.
func (i Inspector) watchLeases(ctx context.Context, arn string) (stored []leases.Lease, alive []string, err error) {
	table := &leases.Table{API: i.Queue.DynamoDB, Table: i.Queue.LeaseTable, Stream: store.GroupKey(i.Queue.Group, arn)}

	signs := signsOfLife{counters: map[string]int64{}, alive: map[string]bool{}}

	deadline, pause := time.Now().Add(i.Watch), max(i.Watch/20, time.Millisecond)
	for look := 0; ; look++ {
		// The leases are read less often than the workers, because a stream may have many leases.
		over := time.Now().After(deadline)
		if over || look%leasesEvery == 0 {
			if stored, err = leases.Read(ctx, table.API, table.Table, table.Stream); err != nil {
				return nil, nil, err
			}

			for _, l := range stored {
				signs.notice(l.Shard, l.Counter, l.Owner)
			}
		}

		workers, err := table.ReadWorkers(ctx)
		if err != nil {
			return nil, nil, err
		}

		for _, w := range workers {
			signs.notice(w.Owner, w.Counter, w.Owner)
		}

		if over || signs.ofAll(stored) {
			return stored, slices.Sorted(maps.Keys(signs.alive)), nil
		}

		if !worker.Wait(ctx, pause) {
			return nil, nil, ctx.Err()
		}
	}
}

// leasesEvery is how many reads of the workers there are for one read of the leases.
const leasesEvery = 4

// signsOfLife finds the workers whose rows change.
type signsOfLife struct {
	counters map[string]int64 // by the rows' key
	alive    map[string]bool
}

// notice compares a row's counter with the counter in the read before. If the counter has changed,
// the owner is alive, unless owner is "".
func (s signsOfLife) notice(key string, counter int64, owner string) {
	before, known := s.counters[key]
	s.counters[key] = counter

	if known && before != counter && owner != "" {
		s.alive[owner] = true
	}
}

// ofAll reports whether every holder of an unfinished lease has given a sign of life.
func (s signsOfLife) ofAll(stored []leases.Lease) bool {
	return !slices.ContainsFunc(stored, func(l leases.Lease) bool {
		return l.Owner != "" && !l.Finished() && !s.alive[l.Owner]
	})
}

// shardsOf returns the status of the shards that are listed or have a lease, without the
// records after their checkpoints.
func shardsOf(l lineage.Listing, known map[string]leases.Lease, alive []string) (shards []ShardStatus, finished int) {
	shards = []ShardStatus{}

	for _, lease := range known {
		if lease.Finished() && lease.Gaps == 0 {
			finished++
			continue
		}

		shard, listed := l.Shards[lease.Shard]
		s := ShardStatus{
			Shard:      lease.Shard,
			Parent:     lease.Parent,
			Owner:      lease.Owner,
			Open:       listed && lineage.EndingSequence(shard) == "",
			Listed:     listed,
			Checkpoint: lease.Checkpoint,
			HandledAt:  lease.HandledAt,
			Gaps:       lease.Gaps,
			GapFrom:    lease.GapFrom,
			GapAt:      lease.GapAt,
		}

		// ShardWaiting is no problem by itself. ShardFree is one: a worker could read the shard.
		parent, hasParent := known[lease.Parent]
		switch {
		case lease.Finished():
			s.State = ShardFinished
		case lease.Owner != "" && slices.Contains(alive, lease.Owner):
			s.State = ShardHeld
		case lease.Owner != "":
			s.State = ShardSilent
		case hasParent && !parent.Finished() && !lease.ParentDone:
			s.State = ShardWaiting
		default:
			s.State = ShardFree
		}
		shards = append(shards, s)
	}

	// Listed shards without a lease: no worker has listed the stream since they were created.
	for id, shard := range l.Shards {
		if _, has := known[id]; !has {
			shards = append(shards, ShardStatus{
				Shard:  id,
				Parent: aws.ToString(shard.ParentShardId),
				State:  ShardUnknown,
				Open:   lineage.EndingSequence(shard) == "",
				Listed: true,
			})
		}
	}
	slices.SortFunc(shards, func(a, b ShardStatus) int { return cmp.Compare(a.Shard, b.Shard) })

	return shards, finished
}

// handlerStatus counts the records that wait for a handler and its dead letters.
func (i Inspector) handlerStatus(ctx context.Context, name string) (HandlerStatus, error) {
	h := HandlerStatus{Name: name}
	letters := i.Queue.Letters()

	items, err := retryqueue.Items(ctx, letters, i.Queue.TableName, name)
	if err != nil {
		return h, err
	}

	for _, item := range items {
		h.Items++
		h.Records += item.Records

		if h.NextTry.IsZero() || item.NextTry.Before(h.NextTry) {
			h.NextTry = item.NextTry
		}

		if !item.Since.IsZero() && (h.Since.IsZero() || item.Since.Before(h.Since)) {
			h.Since, h.Error = item.Since, item.Error
		}
	}
	h.DeadLetters, err = letters.Count(ctx, name)

	return h, err
}
