package streams

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"
)

// streamsAPI is what the poller calls of *dynamodbstreams.Client.
type streamsAPI interface {
	DescribeStream(context.Context, *dynamodbstreams.DescribeStreamInput, ...func(*dynamodbstreams.Options)) (*dynamodbstreams.DescribeStreamOutput, error)
	GetShardIterator(context.Context, *dynamodbstreams.GetShardIteratorInput, ...func(*dynamodbstreams.Options)) (*dynamodbstreams.GetShardIteratorOutput, error)
	GetRecords(context.Context, *dynamodbstreams.GetRecordsInput, ...func(*dynamodbstreams.Options)) (*dynamodbstreams.GetRecordsOutput, error)
}

// dynamoAPI is what the poller calls of *dynamodb.Client.
type dynamoAPI interface {
	DescribeTable(context.Context, *dynamodb.DescribeTableInput, ...func(*dynamodb.Options)) (*dynamodb.DescribeTableOutput, error)
	Query(context.Context, *dynamodb.QueryInput, ...func(*dynamodb.Options)) (*dynamodb.QueryOutput, error)
	GetItem(context.Context, *dynamodb.GetItemInput, ...func(*dynamodb.Options)) (*dynamodb.GetItemOutput, error)
	PutItem(context.Context, *dynamodb.PutItemInput, ...func(*dynamodb.Options)) (*dynamodb.PutItemOutput, error)
	UpdateItem(context.Context, *dynamodb.UpdateItemInput, ...func(*dynamodb.Options)) (*dynamodb.UpdateItemOutput, error)
	DeleteItem(context.Context, *dynamodb.DeleteItemInput, ...func(*dynamodb.Options)) (*dynamodb.DeleteItemOutput, error)
}

// Position is where to start in a stream that has no leases yet.
type Position int

const (
	// TrimHorizon starts with the oldest record that the stream still keeps.
	TrimHorizon Position = iota
	// Latest starts with the records written after the first worker's start
	// (±1 s). Shards born later are always read from their first record.
	Latest
)

// GapPolicy says what to do after records were trimmed unread.
type GapPolicy int

const (
	// GapContinue declares the gap and goes on with the oldest record left.
	GapContinue GapPolicy = iota
	// GapHalt declares the gap and ends Run with a *GapError; nothing behind the
	// gap is handled until somebody starts the poller with GapContinue.
	GapHalt
)

// Retry is how failed calls of handlers are repeated: the pause before attempt
// n+1 is a random share of Base·2ⁿ⁻¹, at most Max.
type Retry struct {
	Attempts  int           // default 5
	Base, Max time.Duration // defaults 100 ms, 30 s
}

// Config says what to poll and how. Streams, DynamoDB, Handlers, LeaseTable,
// DeadLetterTable and one of TableName and StreamARN must be set.
type Config struct {
	// Streams and DynamoDB are the SDK's clients.
	Streams  streamsAPI
	DynamoDB dynamoAPI
	// TableName is the table whose stream is polled. Its latest stream is looked
	// up; when the stream is disabled and enabled again, the old one is read to
	// its end first and then the new one.
	TableName string
	// StreamARN names one stream instead; Run ends when that has been read to
	// its end after having been disabled.
	StreamARN string
	// LeaseTable and DeadLetterTable are made by LeaseTableInput and
	// DeadLetterTableInput.
	LeaseTable, DeadLetterTable string
	// Owner is the worker's name in leases, for people. A random part is always
	// added, so two workers with one name do no harm. Default: "worker".
	Owner string
	// Handlers are called for every record that passes their filters.
	Handlers []Handler
	// Middleware wraps every handler, the first outermost.
	Middleware []Middleware
	// Key gives the lane of a record: records with the same key are handled one
	// after the other, in order. Default: the item's primary key.
	Key func(Record) string
	// Start applies when the stream is met for the first time.
	Start Position
	// OnGap applies when records were trimmed unread.
	OnGap GapPolicy
	// NeedImages refuses a stream whose view type is not NEW_AND_OLD_IMAGES.
	NeedImages bool

	// PollActive is the pause after an empty page of a shard that had records
	// lately; it doubles with every further one up to PollIdle. While pages are
	// not empty there is no pause. Defaults: 250 ms, 5 s.
	PollActive, PollIdle time.Duration
	// Hint wakes the readers at once: a value says "there may be new records".
	// Optional; a local engine sends one after a commit. Close it or leave it.
	Hint <-chan struct{}
	// PageSize bounds a page, 1 to 1000. Default 1000.
	PageSize int
	// Concurrency bounds the handler calls running at once, over all shards.
	// Default 64.
	Concurrency int
	// MaxPending bounds the records of one shard that are read but not finished,
	// MaxPendingBytes those of all shards together. Readers pause beyond either;
	// one page may overshoot, and a shard with nothing pending may always read one.
	// Defaults 2000 and 64 MiB.
	MaxPending      int
	MaxPendingBytes int64
	// Window bounds how many records a shard's reader may be ahead of the oldest
	// unfinished one, so that one key that is stuck does not stop the others at
	// once. Default 100,000 (about 64 bytes each).
	Window int
	// LeaseDuration is how long a lease stands without renewal. A crashed worker's
	// shards are taken over within LeaseDuration + 1 s. Default 10 s, at least 100 ms.
	LeaseDuration time.Duration
	// CheckpointEvery is how often progress is stored while there is any; a crash
	// repeats about as much. Default 1 s.
	CheckpointEvery time.Duration
	// DiscoverEvery is how often one worker of the fleet lists all shards, as a
	// net below the look-up of children at each shard's end. Default 60 s.
	DiscoverEvery time.Duration
	// Retry applies to handlers, HandlerTimeout bounds one call (default 30 s),
	// DrainTimeout bounds how long a stop waits for running calls (default 10 s).
	Retry          Retry
	HandlerTimeout time.Duration
	DrainTimeout   time.Duration
	// Log gets faults and lease moves, never item data. Default: slog.Default().
	Log *slog.Logger
	// Events are hooks for metrics.
	Events Events
}

// withDefaults checks the configuration and fills in what was left out.
func (c Config) withDefaults() (Config, error) {
	switch {
	case c.Streams == nil || c.DynamoDB == nil:
		return c, errors.New("streams: Config.Streams and Config.DynamoDB must be set")
	case (c.TableName == "") == (c.StreamARN == ""):
		return c, errors.New("streams: exactly one of Config.TableName and Config.StreamARN must be set")
	case c.LeaseTable == "" || c.DeadLetterTable == "":
		return c, errors.New("streams: Config.LeaseTable and Config.DeadLetterTable must be set")
	case len(c.Handlers) == 0:
		return c, errors.New("streams: Config.Handlers is empty")
	case c.PageSize < 0 || c.PageSize > 1000:
		return c, fmt.Errorf("streams: Config.PageSize is %d, want 1 to 1000", c.PageSize)
	case c.LeaseDuration != 0 && c.LeaseDuration < 100*time.Millisecond:
		return c, fmt.Errorf("streams: Config.LeaseDuration is %v, want at least 100ms", c.LeaseDuration)
	}
	or(&c.Owner, "worker")
	c.Owner += "-" + rand.Text()[:10]
	or(&c.PollActive, 250*time.Millisecond)
	or(&c.PollIdle, max(5*time.Second, c.PollActive))
	or(&c.PageSize, 1000)
	or(&c.Concurrency, 64)
	or(&c.MaxPending, 2000)
	or(&c.MaxPendingBytes, 64<<20)
	or(&c.Window, 100_000)
	or(&c.LeaseDuration, 10*time.Second)
	or(&c.CheckpointEvery, time.Second)
	or(&c.DiscoverEvery, time.Minute)
	or(&c.Retry.Attempts, 5)
	or(&c.Retry.Base, 100*time.Millisecond)
	or(&c.Retry.Max, 30*time.Second)
	or(&c.HandlerTimeout, 30*time.Second)
	or(&c.DrainTimeout, 10*time.Second)

	if c.Log == nil {
		c.Log = slog.Default()
	}

	if c.Key == nil {
		c.Key = itemKey
	}

	return c.withHandlers()
}

// withHandlers checks the handlers and wraps them.
func (c Config) withHandlers() (Config, error) {
	seen := make(map[string]bool, len(c.Handlers))
	out := make([]Handler, len(c.Handlers))
	for i, h := range c.Handlers {
		switch {
		case h.Name == "" || h.Handle == nil:
			return c, fmt.Errorf("streams: handler %d needs a Name and a Handle", i)
		case seen[h.Name]:
			return c, fmt.Errorf("streams: two handlers are named %q", h.Name)
		}
		seen[h.Name] = true
		or(&h.Attempts, c.Retry.Attempts)
		or(&h.Timeout, c.HandlerTimeout)

		for j := len(c.Middleware) - 1; j >= 0; j-- {
			h.Handle = c.Middleware[j](h.Handle)
		}
		out[i] = h
	}
	c.Handlers = out

	return c, nil
}

// or gives *p the value d when it is zero.
func or[T comparable](p *T, d T) {
	var zero T
	if *p == zero {
		*p = d
	}
}
