package streams

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"ratchet/embedded/internal/store"
)

// Config sets up the service. Region, AccountID and Log must be set.
type Config struct {
	Region, AccountID string
	// InitialShards is the number of shards a new stream starts with, 1 to 1000.
	// Default: 1.
	InitialShards int
	// RollEvery is the age at which an open shard is closed and continued by a
	// child. Default: 4 hours, as observed on AWS. Negative: never.
	RollEvery time.Duration
	// Retention is the age at which records are trimmed, and how long a disabled
	// stream stays readable. Default: 24 hours.
	Retention time.Duration
	Log       *slog.Logger
}

// Service serves the streams of one engine and keeps their shards alive.
type Service struct {
	cfg Config
	db  *store.DB

	mu    sync.RWMutex
	byARN map[string]*Stream
	// numbers handed out to streams; under mu
	numbers uint64
}

// New loads the streams that db holds.
func New(db *store.DB, cfg Config) (*Service, error) {
	if cfg.InitialShards == 0 {
		cfg.InitialShards = 1
	}

	if cfg.InitialShards < 0 || cfg.InitialShards > 1000 {
		return nil, fmt.Errorf("streams: InitialShards is %d, want 1 to 1000", cfg.InitialShards)
	}

	if cfg.RollEvery == 0 {
		cfg.RollEvery = 4 * time.Hour
	}

	if cfg.Retention == 0 {
		cfg.Retention = 24 * time.Hour
	}

	if cfg.Retention < 0 {
		return nil, errors.New("streams: Retention is negative")
	}
	s := &Service{cfg: cfg, db: db, byARN: map[string]*Stream{}}

	return s, s.load()
}

func (s *Service) load() error {
	byNo := map[uint64]*Stream{}
	prefix := key(kindStream)

	err := s.db.Scan(prefix, store.PrefixEnd(prefix), false, func(k, v []byte) (bool, error) {
		st := &Stream{db: s.db}
		if err := json.Unmarshal(v, &st.record); err != nil {
			return false, fmt.Errorf("read the stream under %x: %w", k, err)
		}
		byNo[st.record.No], s.byARN[st.record.ARN] = st, st
		s.numbers = max(s.numbers, st.record.No)

		return true, nil
	})
	if err != nil {
		return err
	}
	prefix = key(kindShard)

	err = s.db.Scan(prefix, store.PrefixEnd(prefix), false, func(k, v []byte) (bool, error) {
		var r shardRecord
		if err := json.Unmarshal(v, &r); err != nil {
			return false, fmt.Errorf("read the shard under %x: %w", k, err)
		}

		if st := byNo[binary.BigEndian.Uint64(k[2:])]; st != nil {
			st.all = append(st.all, newShard(st.record.No, r))
		}

		return true, nil
	})
	if err != nil {
		return err
	}

	for _, st := range byNo {
		if err := st.recover(); err != nil {
			return fmt.Errorf("recover stream %s: %w", st.record.ARN, err)
		}
	}

	return nil
}

// recover finds the last sequence of every shard, so that the stream's clock
// goes on above all of them.
func (s *Stream) recover() error {
	for _, sh := range s.all {
		s.clock.raise(max(sh.record.Start, sh.record.End, sh.record.Horizon))

		err := s.db.Scan(sh.prefix, store.PrefixEnd(sh.prefix), true, func(k, _ []byte) (bool, error) {
			sh.last = sequence(binary.BigEndian.Uint64(k[len(sh.prefix):]))
			return false, nil
		})
		if err != nil {
			return err
		}

		if h := sh.record.Horizon; h > 0 { // the last record may have been trimmed
			sh.last = max(sh.last, h-1)
		}
		s.clock.raise(sh.last)
		sh.durable.Store(uint64(max(sh.last, sh.record.End)))
	}
	s.publish()

	return nil
}

// labelLayout is the form of a stream label, in UTC.
const labelLayout = "2006-01-02T15:04:05.000"

// Create stages a new enabled stream in b. Once b is on disk the caller hands
// the stream to Add; before that nobody knows it.
func (s *Service) Create(b *store.Batch, now time.Time, spec Spec) (*Stream, error) {
	s.mu.Lock()
	defer s.mu.Unlock()

	s.numbers++
	st := &Stream{db: s.db, record: streamRecord{Spec: spec, No: s.numbers}}
	created := now
	for { // two streams of a table within one millisecond still differ in their label
		st.record.Label = created.UTC().Format(labelLayout)
		st.record.ARN = fmt.Sprintf("arn:aws:dynamodb:%s:%s:table/%s/stream/%s",
			s.cfg.Region, s.cfg.AccountID, spec.Table, st.record.Label)
		if s.byARN[st.record.ARN] == nil {
			break
		}
		created = created.Add(time.Millisecond)
	}

	st.record.Created = created
	for _, bounds := range cut(s.cfg.InitialShards) {
		sh, err := st.birth(b, now, "", bounds[0], bounds[1])
		if err != nil {
			return nil, err
		}
		st.all = append(st.all, sh)
	}
	st.publish()

	return st, st.stageSelf(b)
}

// Add makes a created stream known to callers.
func (s *Service) Add(st *Stream) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.byARN[st.record.ARN] = st
}

// Lookup returns the stream of an ARN, nil when there is none.
func (s *Service) Lookup(arn string) *Stream {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.byARN[arn]
}

// Disable closes the stream's open shards for good and commits b with that. The
// stream stays readable for the retention time. Disabling twice changes nothing
// but still commits b.
func (s *Service) Disable(b *store.Batch, st *Stream, now time.Time) error {
	st.mu.Lock()
	defer st.mu.Unlock()

	if !st.record.Disabled.IsZero() {
		return b.Commit()
	}

	record := st.record
	record.Disabled = now
	if err := stage(b, streamKey(record.No), record); err != nil {
		return err
	}

	return st.reshape(b, now, st.openShards(), nil, func() { st.record.Disabled = now })
}

func (s *Stream) openShards() []*shard { return *s.open.Load() }
