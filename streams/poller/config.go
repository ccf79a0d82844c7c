package poller

import (
	"cmp"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"ratchet/internal/dynamo"
	"ratchet/streams"
	"ratchet/streams/calls"
	"ratchet/streams/deadletters"
	"ratchet/streams/lanes"
	"ratchet/streams/lineage"
	"ratchet/streams/redelivery"
	"ratchet/streams/retryqueue"
	"ratchet/streams/shards"
	"ratchet/streams/store"
)

// Config says what to poll and how. Streams, DynamoDB, Handlers, LeaseTable,
// DeadLetterTable and one of TableName and StreamARN are required; all other
// fields have defaults.
type Config struct {
	// Streams and DynamoDB are the SDK's clients.
	Streams  lineage.API
	DynamoDB store.API
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
	Handlers []streams.Handler
	// Start applies when the stream has no leases yet. Default: TrimHorizon.
	Start streams.Position
	// OnGap applies when records were trimmed before they were read. Default:
	// GapContinue.
	OnGap streams.GapPolicy
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
	// LeaseDuration is how long this worker's leases last without a heartbeat, as their rows say: other workers may
	// have another one. The shards of a crashed worker are taken over within its LeaseDuration + 1 s.
	// Default: 10 s, at least 100 ms.
	LeaseDuration time.Duration
	// Ended reports whether the worker of this name in leases has ended for certain, such as one of an earlier process
	// over the same embedded engine: its leases are taken at once. Default: none has.
	Ended func(owner string) bool
	// Retry applies to failed handler calls, unless a handler has its own. Default: for 72 h.
	Retry streams.Retry
	// DrainTimeout is how long a stop waits for running calls before it cancels
	// their contexts. Default: 10 s.
	DrainTimeout time.Duration
	// Log gets faults and lease changes, never item data. Default: slog.Default().
	Log *slog.Logger
	// Events are hooks for metrics and alarms. Default: none.
	Events streams.Events

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
	// queueShare is retryqueue.Table.Share.
	queueShare int
	// holdBack is how long a slow handler may hold back the others: while its records use up
	// maxPending or maxPendingBytes, the shard's reader pauses. After that time the handler's
	// surplus waits in the retry queue, at one write for each record, until the handler keeps up
	// again. Default: 30 s.
	holdBack time.Duration
	// handlerTimeout is how long one handler call may take. Default: 30 s.
	handlerTimeout time.Duration
	// lateAfter is the age above which Record.Late is set. Default: 1 min.
	lateAfter time.Duration
	// lineage.Horizon is how long the service keeps a record; 24 h, except in tests.
	horizon time.Duration
	clock   *dynamo.Clock
	// calls limits the handler Calls of the process. All its pollers share it, except in tests in
	// which a poller stands for a process.
	calls *lanes.Gate
}

const minLeaseDuration = 100 * time.Millisecond

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

	if c.Group != "" && !store.GroupName.MatchString(c.Group) {
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

	return errors.Join(append(faults, calls.Check("Config", c.Handlers)...)...)
}

// tableName returns the name of the stream's table.
func (c Config) tableName() string {
	if c.TableName != "" {
		return c.TableName
	}

	table, _ := store.SplitStreamARN(c.StreamARN)

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
	c.pageSize = cmp.Or(c.pageSize, lineage.MaxPageSize)
	c.Concurrency = cmp.Or(c.Concurrency, 64)
	c.maxPending = cmp.Or(c.maxPending, 2000)
	c.maxPendingBytes = cmp.Or(c.maxPendingBytes, 64<<20)
	c.horizon = cmp.Or(c.horizon, lineage.Horizon)
	c.clock = &dynamo.Clock{}
	c.calls = cmp.Or(c.calls, &lanes.ProcessCalls)
	c.LeaseDuration = cmp.Or(c.LeaseDuration, 10*time.Second)

	if c.Ended == nil {
		c.Ended = func(string) bool { return false }
	}
	c.checkpointEvery = cmp.Or(c.checkpointEvery, time.Second)
	c.discoverEvery = cmp.Or(c.discoverEvery, time.Minute)
	c.Retry = calls.Merge(c.Retry, calls.DefaultRetry)
	c.parkAfter = cmp.Or(c.parkAfter, 5*time.Second)
	c.holdBack = cmp.Or(c.holdBack, 30*time.Second)
	c.handlerTimeout = cmp.Or(c.handlerTimeout, calls.DefaultHandlerTimeout)
	c.lateAfter = cmp.Or(c.lateAfter, calls.DefaultLateAfter)
	c.DrainTimeout = cmp.Or(c.DrainTimeout, 10*time.Second)

	// After the poller's own defaults, because a handler inherits them.
	c.Handlers = calls.WithDefaults(c.Handlers, c.Retry, c.handlerTimeout)
	for i := range c.Handlers {
		c.Handlers[i].Concurrency = cmp.Or(c.Handlers[i].Concurrency, c.Concurrency)
	}

	c.Events = withHooks(c.Events)

	if c.Log == nil {
		c.Log = slog.Default()
	}

	return c
}

// lineage returns the part of the configuration for the listing of streams.
func (c *Config) lineage() *lineage.Config {
	return &lineage.Config{
		Streams:       c.Streams,
		DynamoDB:      c.DynamoDB,
		NeedImages:    c.NeedImages,
		OnGap:         c.OnGap,
		LeaseDuration: c.LeaseDuration,
		Events:        c.Events,
		Log:           c.Log,
		Clock:         c.clock,
		DiscoverEvery: c.discoverEvery,
		Horizon:       c.horizon,
	}
}

// shards returns the part of the configuration for the work on Shards.
func (c *Config) shards() *shards.Config {
	return &shards.Config{
		Config:          *c.lineage(),
		Owner:           c.Owner,
		Group:           c.Group,
		PollActive:      c.PollActive,
		PollIdle:        c.PollIdle,
		DrainTimeout:    c.DrainTimeout,
		PageSize:        c.pageSize,
		MaxPending:      c.maxPending,
		CheckpointEvery: c.checkpointEvery,
	}
}

// newScheduler returns the lanes and the retry queues of all shards.
func (c *Config) newScheduler() (*lanes.Scheduler, *redelivery.Queues) {
	scheduler := lanes.NewScheduler(&lanes.Config{
		Handlers:    c.Handlers,
		Concurrency: c.Concurrency,
		Owner:       c.Owner,
		Group:       c.Group,
		Events:      c.Events,
		Log:         c.Log,
		DeadLetters: &deadletters.Table{API: c.DynamoDB, Table: c.DeadLetterTable, Group: c.Group, Clock: c.clock},
		Retries:     &retryqueue.Table{API: c.DynamoDB, Table: c.DeadLetterTable, Scope: store.GroupKey(c.Group, c.tableName()), Clock: c.clock, Share: c.queueShare},
		Clock:       c.clock,
		Calls:       c.calls,
		MaxPending:  c.maxPending,
		ParkAfter:   c.parkAfter,
		HoldBack:    c.holdBack,
		LateAfter:   c.lateAfter,
	})

	queues := redelivery.NewQueues(&redelivery.Config{
		Config:        scheduler.Cfg,
		StreamARN:     c.StreamARN,
		LeaseTable:    c.LeaseTable,
		OnGap:         c.OnGap,
		PollIdle:      c.PollIdle,
		LeaseDuration: c.LeaseDuration,
		Ended:         c.Ended,
		DrainTimeout:  c.DrainTimeout,
	}, scheduler)

	return scheduler, queues
}
