package sqs

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"ratchet/embedded/internal/clock"
	"ratchet/embedded/internal/store"
)

// Config configures a Service.
type Config struct {
	// Region and AccountID are part of every ARN and URL. Both must be set.
	Region, AccountID string
	// Clock is the source of the time. Nil means the clock of package time.
	Clock *clock.Clock
	// Log receives the engine's own faults. Nil means slog.Default().
	Log *slog.Logger
}

// maxInFlight is the number of messages of a queue that may be in flight.
// Source: https://docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/quotas-queues.html
const maxInFlight = 120_000

// sweepEvery is how often Run looks for messages past their queue's retention.
const sweepEvery = time.Minute

// Service is SQS over a store. Its methods may be called from many goroutines.
type Service struct {
	db          *store.DB
	cfg         Config
	maxInFlight int

	mu     sync.Mutex
	queues map[string]*queue // by name
	lastID uint64            // of the newest queue
}

// New returns a service with the queues and messages that db holds.
func New(db *store.DB, cfg Config) (*Service, error) {
	if cfg.Region == "" || cfg.AccountID == "" {
		return nil, errors.New("open sqs: Config.Region and Config.AccountID must be set")
	}

	if cfg.Clock == nil {
		cfg.Clock = new(clock.Clock)
	}

	if cfg.Log == nil {
		cfg.Log = slog.Default()
	}

	s := &Service{db: db, cfg: cfg, maxInFlight: maxInFlight, queues: map[string]*queue{}}

	prefix := key(keyQueue)

	err := db.Scan(prefix, store.PrefixEnd(prefix), false, func(_, v []byte) (bool, error) {
		var r record
		if err := json.Unmarshal(v, &r); err != nil {
			return false, fmt.Errorf("read a queue: %w", err)
		}

		q := newQueue(r)
		s.queues[r.Name] = q
		// A deleted queue leaves no keys behind, so its number may be used again after a restart.
		s.lastID = max(s.lastID, r.ID)

		return true, s.recover(q)
	})
	if err != nil {
		return nil, fmt.Errorf("open sqs: %w", err)
	}

	return s, nil
}

// recover rebuilds a queue's index. It reads the states of messages, which are small, and
// not their contents.
func (s *Service) recover(q *queue) error {
	now := s.cfg.Clock.Now().UnixMilli()

	states := key(keyState, q.ID)

	err := s.db.Scan(states, store.PrefixEnd(states), false, func(k, v []byte) (bool, error) {
		m := &message{seq: number(k)}
		if err := json.Unmarshal(v, m); err != nil {
			return false, fmt.Errorf("read the state of a message in queue %s: %w", q.Name, err)
		}

		// The scan is in the order of the numbers, as add needs it.
		q.add(m, now)

		return true, nil
	})
	if err != nil {
		return err
	}

	ids := key(keyDedup, q.ID)

	return s.db.Scan(ids, store.PrefixEnd(ids), false, func(k, v []byte) (bool, error) {
		var d dedup
		if err := json.Unmarshal(v, &d); err != nil {
			return false, fmt.Errorf("read a deduplication id of queue %s: %w", q.Name, err)
		}

		q.rememberDedup(string(k[len(ids):]), d)

		return true, nil
	})
}

// Run removes messages past their queue's retention from the disk, until ctx ends. It
// returns nil; an error of the store goes to the log and is tried again a minute later.
func (s *Service) Run(ctx context.Context) error {
	tick := time.NewTicker(sweepEvery)
	defer tick.Stop()

	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		case <-s.cfg.Clock.Shifted():
		}

		if s.db.HasRoom() != nil {
			// The disk is full. The next sweep removes them.
			continue
		}

		if err := s.sweep(s.cfg.Clock.Now()); err != nil {
			s.cfg.Log.Error("sqs: remove old messages", "error", err)
		}
	}
}

// sweep removes expired messages and ids of all queues.
func (s *Service) sweep(now time.Time) error {
	return s.update(func(b *store.Batch) error {
		for _, q := range s.queues {
			q.advance(b, now.UnixMilli())
		}

		return nil
	})
}

// update runs fn under the service's lock. It makes fn's batch visible before it releases
// the lock, and durable before it returns. An error of fn does not undo the batch: what
// advance has removed stays removed.
func (s *Service) update(fn func(b *store.Batch) error) error {
	b := s.db.NewBatch()
	s.mu.Lock()

	callErr := fn(b)
	if b.Empty() {
		s.mu.Unlock()
		b.Discard()

		if callErr != nil {
			return callErr
		}

		// fn may have read changes that another call has applied and not synced yet. A crash must not undo
		// them after this call's answer.
		return s.db.Barrier()
	}

	if err := b.Apply(); err != nil {
		s.mu.Unlock()
		b.Discard()
		return fmt.Errorf("store: %w", err)
	}
	s.mu.Unlock()

	// Outside the lock, so that concurrent calls share one flush of the disk.
	if err := b.Sync(); err != nil {
		return fmt.Errorf("store: %w", err)
	}

	return callErr
}

// withQueue runs fn under the service's lock with the queue of a URL, after the queue has
// been advanced to the present.
func (s *Service) withQueue(url string, fn func(q *queue, b *store.Batch, now time.Time) error) error {
	return s.update(func(b *store.Batch) error {
		q, err := s.byURL(url)
		if err != nil {
			return err
		}

		now := s.cfg.Clock.Now()
		// Even if fn fails, the messages that advance removes stay removed: update stores the batch.
		q.advance(b, now.UnixMilli())

		return fn(q, b, now)
	})
}
