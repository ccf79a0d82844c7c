package once

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"time"

	"ratchet/internal/dynamo"
	"ratchet/once/txn"
)

// Claims makes the claims of one operation. Its methods may be called from many
// goroutines.
type Claims struct {
	cfg   Config
	clock *dynamo.Clock
	cache *cache
	wait  time.Duration
	// waiting has a token for each call that waits. Copies share it.
	waiting chan struct{}
	writer  *txn.Writer
}

// New checks cfg and returns the claims of its operation.
func New(cfg Config) (*Claims, error) {
	cfg, err := cfg.withDefaults()
	if err != nil {
		return nil, err
	}

	clock := &dynamo.Clock{Local: cfg.Now}
	cfg.DynamoDB = client{dynamo.Client{DB: cfg.DynamoDB, Clock: clock}, cfg.DynamoDB}
	if cfg.Results == nil {
		cfg.Results = chunks{cfg.DynamoDB, cfg.Table}
	}

	writer, err := txn.New(txn.Config{DynamoDB: cfg.DynamoDB, Clock: clock, Keys: map[string][]string{cfg.Table: {attrKey}}})
	if err != nil {
		return nil, fmt.Errorf("once: %w", err)
	}

	return &Claims{cfg: cfg, clock: clock, cache: newCache(cfg.Cache), waiting: make(chan struct{}, cfg.Waiters), writer: writer}, nil
}

// Waiting returns the same claims with a waiting time. A call that finds its key in
// progress waits up to d, and no longer than its context, for the key to end or become
// free. It reads the key at growing intervals of up to two seconds. If [Config].Waiters calls wait
// already, it does not wait.
func (c *Claims) Waiting(d time.Duration) *Claims {
	waiting := *c
	waiting.wait = d

	return &waiting
}

// WithLease returns the same claims with another lease: at least 1 ms, and shorter than
// Config.Retention. Otherwise it returns ErrInvalid.
func (c *Claims) WithLease(lease time.Duration) (*Claims, error) {
	if lease < time.Millisecond || lease >= c.cfg.Retention {
		return nil, fmt.Errorf("%w: lease %s: at least 1ms, and shorter than the retention (%s)", ErrInvalid, lease, c.cfg.Retention)
	}

	leased := *c
	leased.cfg.Lease = lease

	return &leased, nil
}

// Ref returns the name of a key in events and errors: 12 hexadecimal digits of its keyed
// digest.
func (c *Claims) Ref(key string) string {
	h := hmac.New(sha256.New, c.cfg.LogKey)
	h.Write([]byte(key))

	return hex.EncodeToString(h.Sum(nil)[:6])
}

// keepUntil is when a record may count as absent: after the retention. The record of a key
// that carries its end stays until every clock has passed that end.
func (c *Claims) keepUntil(now, keyEnd time.Time) time.Time {
	until := now.Add(c.cfg.Retention)
	// A margin for the clock of this caller, one for another caller's, a second for rounding.
	if end := keyEnd.Add(2*c.cfg.margin + time.Second); end.After(until) { // never for the zero time
		return end
	}

	return until
}
