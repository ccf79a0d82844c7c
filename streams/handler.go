package streams

import (
	"context"
	"time"
)

// HandlerFunc acts on one record. If it returns nil, the record is finished for
// this handler. After an error the call is repeated as Retry says; at the end of
// the retries the record becomes a dead letter. Permanent skips the retries; NotYet
// retries without counting; RetryAfter says how long to wait at least.
//
// The context ends when the call has taken Handler.Timeout, when the lease of the
// shard is lost, or when the poller's drain is over. context.Cause returns
// ErrTimeout, ErrLeaseLost or ErrStopped accordingly. After the last two the call
// does not count as an attempt, and the next holder of the lease repeats it. A
// handler must honor its context, because Run waits for it.
type HandlerFunc func(ctx context.Context, r Record) error

// Handler is one subscriber of the stream. All handlers share one reader. Each
// has its own retries and dead letters. Records that a handler fails for longer than
// 5 s wait in the retry queue and delay no other handler. The surplus of a handler that
// has been slower than the others for 30 s does not delay them either.
type Handler struct {
	// Name identifies the handler in dead letters, metrics and effect keys. It
	// must be unique in the poller and must not change between deployments.
	Name string
	// Filter reports whether the handler takes the record; nil takes all. It runs
	// in the reader, so it must be fast and must not block.
	Filter func(Record) bool
	// Handle acts on the record. Either Handle or Batch must be set.
	Handle HandlerFunc
	// Batch makes the handler get several records at once.
	Batch *Batch
	// MaxAge is how old a record may be when it is handled; 0 means any age. An older record
	// becomes a dead letter without a call (ErrTooOld). Records that are redriven or replayed may
	// have any age.
	MaxAge time.Duration
	// Recheck is called before Handle if Record.Late is set, so that a handler can compare an old
	// record with the item as it is now. If Recheck returns nil, Handle is called. If it returns
	// Skip, the record is finished without Handle. Any other error has the same effect as an error
	// of Handle. Optional.
	Recheck HandlerFunc
	// Version returns the number of the item's version that the record is about, as a Rebuild
	// counts versions. With Version, a record of the stream is not delivered after a newer version
	// that a Rebuild has queued. Optional.
	Version func(Record) int64
	// Retry says how failed calls are repeated. Fields that are 0 have the values of
	// Config.Retry.
	Retry Retry
	// Attempts is short for Retry.Attempts. If both are set, Attempts counts.
	Attempts int
	// Timeout is how long one call may take. Default: 30 s.
	Timeout time.Duration
	// Concurrency is how many calls of this handler may run at once, over all shards,
	// within Config.Concurrency. 0 means as many as there are places that are not
	// reserved for other handlers.
	Concurrency int
	// Unordered gives up the order within an item for this handler: records of
	// the same item may run at the same time and overtake a record that is retried.
	Unordered bool
}
