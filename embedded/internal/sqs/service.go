package sqs

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"time"

	"ratchet/embedded/internal/store"
	"ratchet/embedded/internal/wire"
)

// Config says under which names the service answers.
type Config struct {
	// Region and AccountID stand in every ARN and URL. Both must be set.
	Region, AccountID string
	// Log gets the engine's own faults. Nil means slog.Default().
	Log *slog.Logger
}

// maxInFlight is how many messages of a queue may be in flight: SQS quotas, "In-flight
// messages per queue".
const maxInFlight = 120_000

// sweepEvery is how often Run looks for messages that are too old.
const sweepEvery = time.Minute

// Service is SQS over a store. Its methods may be called from many goroutines.
type Service struct {
	db          *store.DB
	cfg         Config
	maxInFlight int

	mu     sync.Mutex
	queues map[string]*queue // by name
	lastID uint64
}

// New recovers the service from the store.
func New(db *store.DB, cfg Config) (*Service, error) {
	if cfg.Region == "" || cfg.AccountID == "" {
		return nil, errors.New("open sqs: Config.Region and Config.AccountID must be set")
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
		s.lastID = max(s.lastID, r.ID)

		return true, s.recover(q)
	})
	if err != nil {
		return nil, fmt.Errorf("open sqs: %w", err)
	}

	return s, nil
}

// recover rebuilds a queue's index. It reads the states of messages, which are small,
// and none of their contents.
func (s *Service) recover(q *queue) error {
	now := time.Now().UnixMilli()
	states := key(keyState, q.ID)

	err := s.db.Scan(states, store.PrefixEnd(states), false, func(k, v []byte) (bool, error) {
		m := &message{seq: number(k)}
		if err := json.Unmarshal(v, m); err != nil {
			return false, fmt.Errorf("read the state of a message in queue %s: %w", q.Name, err)
		}
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
		q.remember(string(k[len(ids):]), d)

		return true, nil
	})
}

// Run takes away messages that are older than their queue keeps them, until ctx ends.
// It returns nil.
func (s *Service) Run(ctx context.Context) error {
	tick := time.NewTicker(sweepEvery)
	defer tick.Stop()

	for {
		select {
		case <-ctx.Done():
			return nil
		case now := <-tick.C:
			if err := s.sweep(now); err != nil {
				s.cfg.Log.Error("sqs: take old messages away", "error", err)
			}
		}
	}
}

func (s *Service) sweep(now time.Time) error {
	return s.change(func(b *store.Batch) error {
		for _, q := range s.queues {
			q.settle(b, now.UnixMilli())
		}
		return nil
	})
}

// change runs fn under the service's lock and makes its batch visible before another
// call looks, and durable before it returns. An error of fn that comes with changes
// does not take them back: what settle has done stays done.
func (s *Service) change(fn func(b *store.Batch) error) error {
	b := s.db.NewBatch()
	s.mu.Lock()

	refused := fn(b)
	if b.Empty() {
		s.mu.Unlock()
		b.Discard()

		if refused != nil {
			return refused
		}

		return s.db.Barrier() // what was looked at is on disk before it is told
	}

	if err := b.Apply(); err != nil {
		s.mu.Unlock()
		b.Discard()
		return fmt.Errorf("store: %w", err)
	}
	s.mu.Unlock()

	if err := b.Sync(); err != nil {
		return fmt.Errorf("store: %w", err)
	}

	return refused
}

// on runs fn with the queue of that URL, brought to the present.
func (s *Service) on(url string, fn func(q *queue, b *store.Batch, now time.Time) error) error {
	return s.change(func(b *store.Batch) error {
		q, err := s.byURL(url)
		if err != nil {
			return err
		}
		now := time.Now()
		q.settle(b, now.UnixMilli())

		return fn(q, b, now)
	})
}

// byURL finds a queue by the last part of its URL. The caller holds the lock.
func (s *Service) byURL(url string) (*queue, error) {
	if url == "" {
		return nil, missingParameter("QueueUrl")
	}

	q := s.queues[url[strings.LastIndexByte(url, '/')+1:]]
	if q == nil {
		return nil, noQueue()
	}

	return q, nil
}

func (s *Service) byARN(arn string) *queue {
	name, ours := strings.CutPrefix(arn, s.arn(""))
	if !ours {
		return nil
	}

	return s.queues[name]
}

func (s *Service) arn(name string) string {
	return "arn:aws:sqs:" + s.cfg.Region + ":" + s.cfg.AccountID + ":" + name
}

func (s *Service) url(name string) string {
	return "http://embedded.ratchet.internal/" + s.cfg.AccountID + "/" + name
}

// Wire returns the operations for wire.NewHandler.
func (s *Service) Wire() wire.Service {
	return wire.Service{
		Target: "AmazonSQS", ErrorPrefix: "com.amazonaws.sqs#", MessageKey: "message", InternalError: "InternalError",
		QueryCode: queryCode,
		Operations: map[string]wire.Operation{
			"CreateQueue":                  wire.Decoded(s.createQueue),
			"GetQueueUrl":                  wire.Decoded(s.getQueueURL),
			"GetQueueAttributes":           wire.Decoded(s.getQueueAttributes),
			"SetQueueAttributes":           wire.Decoded(s.setQueueAttributes),
			"ListQueues":                   wire.Decoded(s.listQueues),
			"DeleteQueue":                  wire.Decoded(s.deleteQueue),
			"PurgeQueue":                   wire.Decoded(s.purgeQueue),
			"SendMessage":                  wire.Decoded(s.sendMessage),
			"SendMessageBatch":             wire.Decoded(s.sendMessageBatch),
			"ReceiveMessage":               wire.Decoded(s.receiveMessage),
			"DeleteMessage":                wire.Decoded(s.deleteMessage),
			"DeleteMessageBatch":           wire.Decoded(s.deleteMessageBatch),
			"ChangeMessageVisibility":      wire.Decoded(s.changeVisibility),
			"ChangeMessageVisibilityBatch": wire.Decoded(s.changeVisibilityBatch),
		},
	}
}
