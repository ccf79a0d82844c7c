package streams

import (
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"ratchet/embedded/internal/clock"
	"ratchet/embedded/internal/store"
)

// Config configures a Service. Region, AccountID and Log must be set.
type Config struct {
	Region, AccountID string
	// InitialShards is the number of shards that a new stream starts with, 1 to 1000.
	// Zero means 1.
	InitialShards int
	// RollEvery is the age at which an open shard is closed and continued by a child. Zero
	// means 4 hours, as observed on AWS; negative means never.
	RollEvery time.Duration
	// Retention is the age at which records are trimmed, and how long a disabled stream
	// stays readable. Zero means 24 hours, as on AWS.
	Retention time.Duration
	// Clock tells the time. Nil means time.Now.
	Clock *clock.Clock
	Log   *slog.Logger
}

// Service serves the streams of one engine and maintains their shards.
type Service struct {
	cfg Config
	db  *store.DB

	mu      sync.RWMutex
	byARN   map[string]*Stream
	numbers uint64 // the number of the newest stream
}

// New returns a service with the streams that db holds.
func New(db *store.DB, cfg Config) (*Service, error) {
	if cfg.Clock == nil {
		cfg.Clock = new(clock.Clock)
	}

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
