package embedded

import (
	"errors"
	"log/slog"
	"time"
)

// Config says where the engine keeps its data and under which names it answers.
// Only Dir must be set.
type Config struct {
	// Dir is the data directory; it is created when it does not exist. One
	// engine at a time may have it open.
	Dir string
	// Region and AccountID stand in the ARNs. Defaults: "us-east-1", "000000000000".
	Region, AccountID string
	// Streams sets the life of stream shards.
	Streams StreamsConfig
	// SweepEvery is the pause between two searches for items whose time to live
	// has ended. Default: 10 seconds. Negative: expired items are never removed.
	SweepEvery time.Duration
	// Consumed is told, call by call, the capacity units that DynamoDB would bill, also
	// where its answer does not say so: failed conditions cost by the size of the item
	// that is there, transactions twice. It is called in the middle of calls, from many
	// goroutines. Default: nobody is told.
	Consumed func(table string, readUnits, writeUnits float64)
	// Log gets the engine's own faults. Default: slog.Default().
	Log *slog.Logger
}

// StreamsConfig sets the life of stream shards. The zero value is as on AWS.
type StreamsConfig struct {
	// InitialShards is the number of shards a new stream starts with, 1 to 1000.
	// Default: 1.
	InitialShards int
	// RollEvery is the age at which an open shard is closed and continued by a
	// child. Default: 4 hours. Negative: only on command.
	RollEvery time.Duration
	// Retention is the age at which records are trimmed. Default: 24 hours.
	Retention time.Duration
}

func (c *Config) complete() error {
	if c.Dir == "" {
		return errors.New("open engine: Config.Dir is empty")
	}

	if c.Region == "" {
		c.Region = "us-east-1"
	}

	if c.AccountID == "" {
		c.AccountID = "000000000000"
	}

	if c.Log == nil {
		c.Log = slog.Default()
	}

	return nil
}
