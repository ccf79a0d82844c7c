package once

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"ratchet/txn"
)

type dynamoDB interface {
	UpdateItem(context.Context, *dynamodb.UpdateItemInput, ...func(*dynamodb.Options)) (*dynamodb.UpdateItemOutput, error)
	GetItem(context.Context, *dynamodb.GetItemInput, ...func(*dynamodb.Options)) (*dynamodb.GetItemOutput, error)
	PutItem(context.Context, *dynamodb.PutItemInput, ...func(*dynamodb.Options)) (*dynamodb.PutItemOutput, error)
	Scan(context.Context, *dynamodb.ScanInput, ...func(*dynamodb.Options)) (*dynamodb.ScanOutput, error)
	TransactWriteItems(context.Context, *dynamodb.TransactWriteItemsInput, ...func(*dynamodb.Options)) (*dynamodb.TransactWriteItemsOutput, error)
}

// Config describes the claims of one operation. DynamoDB and Table must be set.
// Several operations may share a table, each with a Config of its own.
type Config struct {
	DynamoDB dynamoDB
	Table    string
	// Operation names what is done under the keys, with a version where its payload
	// has changed: "refund/v1". A key that another operation has used is a mismatch.
	// It is the label of every [Event].
	Operation string
	// Lease is how long a claim stands before others may take it over. Default 5 min.
	Lease time.Duration
	// Heartbeat makes [Claims.Do] extend the lease while the work runs.
	Heartbeat bool
	// ExpiredIsUnknown turns a claim whose lease ran out into one with an unknown
	// outcome, instead of one to be taken over: for work that must not be repeated.
	ExpiredIsUnknown bool
	// Retention is how long a finished claim keeps its result. Default 24 h. It must
	// be longer than any caller may retry.
	Retention time.Duration
	// Margin is how far a caller's clock may be off the service's: a lease counts as
	// run out for others only twice that later than for its holder. Default 1 s.
	Margin time.Duration
	// Payload says when two payloads are the same. Default [Exact].
	Payload Scheme
	// KeysExpire: keys are made by keys.Expiring. Each is kept at least until its end,
	// and refused from then on.
	KeysExpire bool
	// Inline is the largest result that is stored in the claim itself; larger ones go
	// to Results. Default 32 KiB, at most 256 KiB.
	Inline int
	// Results keeps large results. Default: chunks in the same table.
	Results Results
	// Cache is how many finished claims are remembered in this process. Default none.
	Cache int
	// Failures registers errors as final failures, by code. Work that returns one of
	// them, or what [Fail] makes, is not repeated.
	Failures map[string]error
	// Reconcile finds out what became of work with an unknown outcome. [Claims.Do]
	// asks it when it meets such a key, and so does [Claims.Sweep].
	Reconcile func(context.Context, Record) (Resolution, error)
	// FailOpen makes [Claims.Do] run the work without a claim while DynamoDB cannot be
	// reached. Then nothing keeps the work from being done twice; each such run is an
	// [Event] with the outcome [Untracked].
	FailOpen bool
	// Observe is told of every outcome. It must not block.
	Observe func(Event)
	// LogKey is the secret under which keys are abbreviated in events and errors.
	// Without it a short key can be guessed from its abbreviation.
	LogKey []byte
	// Now is the caller's clock. Default time.Now.
	Now func() time.Time
}

const (
	defaultInline = 32 << 10
	maxInline     = 256 << 10
)

// complete puts in the defaults and checks what was given.
func (c *Config) complete() error {
	switch {
	case c.DynamoDB == nil:
		return errors.New("once: Config.DynamoDB is nil")
	case c.Table == "":
		return errors.New("once: Config.Table is empty")
	case c.Lease < 0 || c.Retention < 0 || c.Margin < 0 || c.Inline < 0 || c.Cache < 0:
		return errors.New("once: Config.Lease, Retention, Margin, Inline and Cache must not be negative")
	case c.Lease > 0 && c.Lease < time.Millisecond:
		return fmt.Errorf("once: Config.Lease is %s, at least 1ms", c.Lease)
	case c.Inline > maxInline:
		return fmt.Errorf("once: Config.Inline is %d, at most %d", c.Inline, maxInline)
	case c.Payload > JSON:
		return fmt.Errorf("once: Config.Payload is %d, must be Exact or JSON", c.Payload)
	}

	for code, err := range c.Failures {
		if code == "" || err == nil {
			return errors.New("once: Config.Failures must pair a code with an error")
		}
	}
	set(&c.Lease, 5*time.Minute)
	set(&c.Retention, 24*time.Hour)
	set(&c.Margin, time.Second)
	set(&c.Payload, Exact)
	set(&c.Inline, defaultInline)

	if c.Retention <= c.Lease {
		return fmt.Errorf("once: Config.Retention (%s) must be longer than Lease (%s)", c.Retention, c.Lease)
	}

	if c.Now == nil {
		c.Now = time.Now
	}

	if c.Results == nil {
		c.Results = chunks{c.DynamoDB, c.Table}
	}

	return nil
}

func set[T comparable](field *T, value T) {
	if *field == *new(T) {
		*field = value
	}
}

// Claims gives out the claims of one operation. Its methods may be called from many
// goroutines.
type Claims struct {
	cfg    Config
	cache  *cache
	wait   time.Duration
	writer *txn.Writer
}

// New checks cfg and returns the claims behind it.
func New(cfg Config) (*Claims, error) {
	if err := cfg.complete(); err != nil {
		return nil, err
	}

	writer, err := txn.New(txn.Config{DynamoDB: cfg.DynamoDB, Keys: map[string][]string{cfg.Table: {attrKey}}})
	if err != nil {
		return nil, fmt.Errorf("once: %w", err)
	}

	return &Claims{cfg: cfg, cache: newCache(cfg.Cache), writer: writer}, nil
}

// Waiting returns the same claims with more patience: a caller that meets a key in
// progress waits up to d, and never beyond its context, for it to end or come free.
func (c *Claims) Waiting(d time.Duration) *Claims {
	patient := *c
	patient.wait = d
	return &patient
}

// Ref abbreviates a key for logs: 12 hexadecimal digits of its keyed digest. Events
// and errors name keys only so.
func (c *Claims) Ref(key string) string {
	h := hmac.New(sha256.New, c.cfg.LogKey)
	h.Write([]byte(key))
	return hex.EncodeToString(h.Sum(nil)[:6])
}
