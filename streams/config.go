package streams

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"

	"ratchet/internal/dynamo"
)

// streamsAPI has the methods of *dynamodbstreams.Client that the poller calls.
type streamsAPI interface {
	ListStreams(context.Context, *dynamodbstreams.ListStreamsInput, ...func(*dynamodbstreams.Options)) (*dynamodbstreams.ListStreamsOutput, error)
	DescribeStream(context.Context, *dynamodbstreams.DescribeStreamInput, ...func(*dynamodbstreams.Options)) (*dynamodbstreams.DescribeStreamOutput, error)
	GetShardIterator(context.Context, *dynamodbstreams.GetShardIteratorInput, ...func(*dynamodbstreams.Options)) (*dynamodbstreams.GetShardIteratorOutput, error)
	GetRecords(context.Context, *dynamodbstreams.GetRecordsInput, ...func(*dynamodbstreams.Options)) (*dynamodbstreams.GetRecordsOutput, error)
}

// dynamoAPI has the methods of *dynamodb.Client that the poller calls.
type dynamoAPI interface {
	DescribeTable(context.Context, *dynamodb.DescribeTableInput, ...func(*dynamodb.Options)) (*dynamodb.DescribeTableOutput, error)
	Query(context.Context, *dynamodb.QueryInput, ...func(*dynamodb.Options)) (*dynamodb.QueryOutput, error)
	GetItem(context.Context, *dynamodb.GetItemInput, ...func(*dynamodb.Options)) (*dynamodb.GetItemOutput, error)
	PutItem(context.Context, *dynamodb.PutItemInput, ...func(*dynamodb.Options)) (*dynamodb.PutItemOutput, error)
	UpdateItem(context.Context, *dynamodb.UpdateItemInput, ...func(*dynamodb.Options)) (*dynamodb.UpdateItemOutput, error)
	DeleteItem(context.Context, *dynamodb.DeleteItemInput, ...func(*dynamodb.Options)) (*dynamodb.DeleteItemOutput, error)
	TransactWriteItems(context.Context, *dynamodb.TransactWriteItemsInput, ...func(*dynamodb.Options)) (*dynamodb.TransactWriteItemsOutput, error)
}

// Position is where reading starts in a stream that has no leases yet.
type Position int

const (
	// TrimHorizon starts with the oldest record that the stream still keeps.
	TrimHorizon Position = iota
	// Latest starts with the records written after the first worker started
	// (±1 s). Shards that are created later are always read from their first
	// record.
	Latest
)

// Config says what to poll and how. Streams, DynamoDB, Handlers, LeaseTable,
// DeadLetterTable and one of TableName and StreamARN are required; all other
// fields have defaults.
type Config struct {
	// Streams and DynamoDB are the SDK's clients.
	Streams  streamsAPI
	DynamoDB dynamoAPI
	// TableName is the table whose stream is polled. The poller looks up the
	// table's latest stream. When the stream is disabled and enabled again, the
	// poller reads the old stream to its end before it begins the new one. Set either TableName or
	// StreamARN.
	TableName string
	// StreamARN names one stream instead of a table. Run returns ErrStreamEnded
	// when that stream has been disabled and read to its end.
	StreamARN string
	// LeaseTable and DeadLetterTable are the names of the tables that
	// LeaseTableInput and DeadLetterTableInput describe.
	LeaseTable      string
	DeadLetterTable string
	// Owner is the worker's name in leases, for the people who read them. New adds
	// a random suffix, so that two workers may have the same name. Default: "worker".
	Owner string
	// Group names the application that the worker belongs to. The workers of one group
	// share the records; each group gets all of them. Groups may share the tables. At
	// most two groups should read one stream (see ErrTooManyGroups), Lambda functions
	// included. Letters, digits, '.', '_' and '-', at most 64; "" is a group, too.
	Group string
	// Handlers are called for every record that passes their filters.
	Handlers []Handler
	// Start applies when the stream has no leases yet. Default: TrimHorizon.
	Start Position
	// OnGap applies when records were trimmed before they were read. Default:
	// GapContinue.
	OnGap GapPolicy
	// NeedImages makes Run fail if the stream's view type is not
	// NEW_AND_OLD_IMAGES. Without it, every view type is taken.
	NeedImages bool

	// PollActive is the pause after an empty page of a shard that had records
	// lately. The pause grows while the shard stays empty, up to PollIdle. There
	// is no pause after a page with records. Defaults: 250 ms, 5 s.
	PollActive time.Duration
	PollIdle   time.Duration
	// Hint wakes all readers at once: a value says that there may be new records.
	// Optional. A local engine sends one after each commit. Closing it is fine.
	Hint <-chan struct{}
	// Concurrency is how many handler calls may run at once, over all shards and handlers. Half of
	// the places are reserved, in equal parts for each handler, so that a slow handler leaves room
	// for the others. Default: 64.
	Concurrency int
	// LeaseDuration is how long a worker's leases last without a heartbeat. The shards of a
	// crashed worker are taken over within LeaseDuration + 1 s. Default: 10 s, at
	// least 100 ms.
	LeaseDuration time.Duration
	// Retry applies to failed handler calls, unless a handler has its own. Default: for 72 h.
	Retry Retry
	// DrainTimeout is how long a stop waits for running calls before it cancels
	// their contexts. Default: 10 s.
	DrainTimeout time.Duration
	// Log gets faults and lease changes, never item data. Default: slog.Default().
	Log *slog.Logger
	// Events are hooks for metrics and alarms. Default: none.
	Events Events

	// pageSize is the largest page to ask for, 1 to 1000. Default: 1000.
	pageSize int
	// maxPending is how many unfinished records of one shard may be in memory, maxPendingBytes how
	// many bytes of unfinished records of all shards together. A reader pauses at either limit. A
	// page may exceed the limits, and a shard without unfinished records may always read a page.
	// Defaults: 2000 and 64 MiB.
	maxPending      int
	maxPendingBytes int64
	// checkpointEvery is how often new progress is stored. After a crash, about as much is
	// delivered again. Default: 1 s.
	checkpointEvery time.Duration
	// discoverEvery is how often one of the workers lists all shards. Children are
	// looked up at the end of their parents; this listing finds what that lookup
	// missed. Default: 60 s.
	discoverEvery time.Duration
	// parkAfter is how long a record that fails stays in the memory of its shard's
	// worker, where it holds the checkpoint back. After that it waits in the retry
	// queue, which is part of the dead-letter table: its attempts survive restarts, the
	// checkpoint passes it, and the item's later records wait behind it. Default: 5 s.
	parkAfter time.Duration
	// holdBack is how long a slow handler may hold back the others: while its records use up
	// maxPending or maxPendingBytes, the shard's reader pauses. After that time the handler's
	// surplus waits in the retry queue, at two writes for each record, until the handler keeps up
	// again. Default: 30 s.
	holdBack time.Duration
	// handlerTimeout is how long one handler call may take. Default: 30 s.
	handlerTimeout time.Duration
	// lateAfter is the age above which Record.Late is set. Default: 1 min.
	lateAfter time.Duration
	// horizon is how long the service keeps a record; 24 h, except in tests.
	horizon time.Duration
	clock   *dynamo.Clock
	// calls limits the handler calls of the process. All its pollers share it, except in tests in
	// which a poller stands for a process.
	calls *callGate
}

// maxPageSize is the largest Limit of GetRecords.
const maxPageSize = 1000

const minLeaseDuration = 100 * time.Millisecond

const (
	defaultLateAfter      = time.Minute
	defaultHandlerTimeout = 30 * time.Second
)

// check reports every fault of the configuration.
func (c Config) check() error {
	var faults []error
	fault := func(format string, args ...any) {
		faults = append(faults, fmt.Errorf("streams: "+format, args...))
	}

	if c.Streams == nil || c.DynamoDB == nil {
		fault("Config.Streams and Config.DynamoDB must be set")
	}

	// Equal means that both are empty or both are set.
	if (c.TableName == "") == (c.StreamARN == "") {
		fault("exactly one of Config.TableName and Config.StreamARN must be set")
	}

	if c.LeaseTable == "" || c.DeadLetterTable == "" {
		fault("Config.LeaseTable and Config.DeadLetterTable must be set")
	}

	if c.Group != "" && !groupName.MatchString(c.Group) {
		fault("Config.Group is %q, want up to 64 letters, digits, '.', '_' and '-'", c.Group)
	}

	if c.LeaseDuration != 0 && c.LeaseDuration < minLeaseDuration {
		fault("Config.LeaseDuration is %v, want at least %v", c.LeaseDuration, minLeaseDuration)
	}

	if c.Concurrency < 0 {
		fault("Config.Concurrency is %d, want at least 1", c.Concurrency)
	}

	for _, field := range []struct {
		name  string
		value time.Duration
	}{
		{"PollActive", c.PollActive},
		{"PollIdle", c.PollIdle},
		{"Retry.Base", c.Retry.Base},
		{"Retry.Max", c.Retry.Max},
		{"Retry.For", c.Retry.For},
		{"DrainTimeout", c.DrainTimeout},
	} {
		if field.value < 0 {
			fault("Config.%s is %v, want more than 0", field.name, field.value)
		}
	}

	return errors.Join(append(faults, checkHandlers("Config", c.Handlers)...)...)
}

// checkHandlers returns every fault of the handlers. owner is the type that has them in its field
// Handlers.
func checkHandlers(owner string, handlers []Handler) []error {
	if len(handlers) == 0 {
		return []error{fmt.Errorf("streams: %s.Handlers is empty", owner)}
	}

	var faults []error
	seen := make(map[string]bool, len(handlers))
	for i, h := range handlers {
		if h.Name == "" || (h.Handle == nil) == (h.Batch == nil || h.Batch.Handle == nil) {
			faults = append(faults, fmt.Errorf("streams: handler %d needs a Name and either a Handle or a Batch with one", i))
		}

		if b := h.Batch; b != nil && (b.Size < 0 || b.Parallel < 0 || b.Window < 0) {
			faults = append(faults, fmt.Errorf("streams: handler %d: Batch.Size, Parallel and Window must not be negative", i))
		}

		if h.Concurrency < 0 {
			faults = append(faults, fmt.Errorf("streams: handler %d: Concurrency is %d, want at least 1", i, h.Concurrency))
		}

		for _, field := range []struct {
			name  string
			value time.Duration
		}{
			{"Timeout", h.Timeout},
			{"MaxAge", h.MaxAge},
			{"Retry.Base", h.Retry.Base},
			{"Retry.Max", h.Retry.Max},
			{"Retry.For", h.Retry.For},
		} {
			if field.value < 0 {
				faults = append(faults, fmt.Errorf("streams: handler %d: %s is %v, want more than 0", i, field.name, field.value))
			}
		}

		// A group's dead letters are stored under names with this prefix.
		if strings.HasPrefix(h.Name, groupPrefix) {
			faults = append(faults, fmt.Errorf("streams: handler %d: a Name must not begin with %q", i, groupPrefix))
		}

		if h.Name != "" && seen[h.Name] {
			faults = append(faults, fmt.Errorf("streams: two handlers are named %q", h.Name))
		}
		seen[h.Name] = true
	}

	return faults
}

// tableName returns the name of the stream's table.
func (c Config) tableName() string {
	if c.TableName != "" {
		return c.TableName
	}

	table, _ := splitStreamARN(c.StreamARN)

	return table
}

// withDefaults returns a copy in which every field that has a default is set.
func (c Config) withDefaults() Config {
	// The suffix makes the name unique among all workers, including earlier runs of
	// this one: leases rely on it.
	c.Owner = cmp.Or(c.Owner, "worker") + "-" + rand.Text()[:10]

	c.PollActive = cmp.Or(c.PollActive, 250*time.Millisecond)
	// An explicit PollActive above five seconds must not be more than PollIdle.
	c.PollIdle = cmp.Or(c.PollIdle, max(5*time.Second, c.PollActive))
	c.pageSize = cmp.Or(c.pageSize, maxPageSize)
	c.Concurrency = cmp.Or(c.Concurrency, 64)
	c.maxPending = cmp.Or(c.maxPending, 2000)
	c.maxPendingBytes = cmp.Or(c.maxPendingBytes, 64<<20)
	c.horizon = cmp.Or(c.horizon, horizon)
	c.clock = &dynamo.Clock{}
	c.calls = cmp.Or(c.calls, &processCalls)
	c.LeaseDuration = cmp.Or(c.LeaseDuration, 10*time.Second)
	c.checkpointEvery = cmp.Or(c.checkpointEvery, time.Second)
	c.discoverEvery = cmp.Or(c.discoverEvery, time.Minute)
	c.Retry = orRetry(c.Retry, defaultRetry)
	c.parkAfter = cmp.Or(c.parkAfter, 5*time.Second)
	c.holdBack = cmp.Or(c.holdBack, 30*time.Second)
	c.handlerTimeout = cmp.Or(c.handlerTimeout, defaultHandlerTimeout)
	c.lateAfter = cmp.Or(c.lateAfter, defaultLateAfter)
	c.DrainTimeout = cmp.Or(c.DrainTimeout, 10*time.Second)

	// After the poller's own defaults, because a handler inherits them.
	c.Handlers = handlersWithDefaults(c.Handlers, c.Retry, c.handlerTimeout)
	for i := range c.Handlers {
		c.Handlers[i].Concurrency = cmp.Or(c.Handlers[i].Concurrency, c.Concurrency)
	}

	c.Events = c.Events.withDefaults()

	if c.Log == nil {
		c.Log = slog.Default()
	}

	return c
}

func handlersWithDefaults(handlers []Handler, retry Retry, timeout time.Duration) []Handler {
	out := make([]Handler, len(handlers))
	for i, h := range handlers {
		h.Retry.Attempts = cmp.Or(h.Attempts, h.Retry.Attempts)
		h.Retry = orRetry(h.Retry, retry)
		h.Attempts = h.Retry.Attempts
		h.Timeout = cmp.Or(h.Timeout, timeout)

		if h.Handle == nil {
			h.Handle = newBatcher(*h.Batch).handle
		}
		out[i] = h
	}

	return out
}

// lineage returns the part of the configuration for the listing of streams.
func (c *Config) lineage() *lineageConfig {
	return &lineageConfig{
		Streams:       c.Streams,
		DynamoDB:      c.DynamoDB,
		NeedImages:    c.NeedImages,
		OnGap:         c.OnGap,
		LeaseDuration: c.LeaseDuration,
		Events:        c.Events,
		Log:           c.Log,
		clock:         c.clock,
		discoverEvery: c.discoverEvery,
		horizon:       c.horizon,
	}
}

// shards returns the part of the configuration for the work on shards.
func (c *Config) shards() *shardConfig {
	return &shardConfig{
		lineageConfig:   *c.lineage(),
		Owner:           c.Owner,
		Group:           c.Group,
		PollActive:      c.PollActive,
		PollIdle:        c.PollIdle,
		DrainTimeout:    c.DrainTimeout,
		pageSize:        c.pageSize,
		maxPending:      c.maxPending,
		checkpointEvery: c.checkpointEvery,
	}
}

// newScheduler returns the lanes and the retry queues of all shards.
func (c *Config) newScheduler() (*laneScheduler, *retryQueues) {
	table := &retryTable{api: c.DynamoDB, table: c.DeadLetterTable, scope: groupKey(c.Group, c.tableName()), clock: c.clock}

	scheduler := newLaneScheduler(&laneConfig{
		Handlers:    c.Handlers,
		Concurrency: c.Concurrency,
		Owner:       c.Owner,
		Group:       c.Group,
		Events:      c.Events,
		Log:         c.Log,
		deadLetters: &deadLetterTable{api: c.DynamoDB, table: c.DeadLetterTable, group: c.Group, clock: c.clock},
		retries:     table,
		clock:       c.clock,
		calls:       c.calls,
		maxPending:  c.maxPending,
		parkAfter:   c.parkAfter,
		holdBack:    c.holdBack,
		lateAfter:   c.lateAfter,
	})

	queues := newRetryQueues(&queueConfig{
		DynamoDB:        c.DynamoDB,
		StreamARN:       c.StreamARN,
		LeaseTable:      c.LeaseTable,
		DeadLetterTable: c.DeadLetterTable,
		Owner:           c.Owner,
		Group:           c.Group,
		Handlers:        c.Handlers,
		OnGap:           c.OnGap,
		PollIdle:        c.PollIdle,
		LeaseDuration:   c.LeaseDuration,
		DrainTimeout:    c.DrainTimeout,
		Events:          c.Events,
		Log:             c.Log,
		clock:           c.clock,
	}, table, scheduler)

	return scheduler, queues
}
