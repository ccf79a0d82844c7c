package streams

import (
	"context"
	"time"
)

// BatchFunc acts on records of different items at once. It returns one result for each
// record, in their order: nil if the record is handled, and otherwise an error with
// the meaning of a HandlerFunc's error. It may return nil if all are handled. The context
// ends when the context of one of the records ends.
type BatchFunc func(ctx context.Context, records []Record) []error

// Batch makes a handler get several records at once. Each record keeps its own order,
// retries, attempts and dead letter: a batch has at most one record of an item, and the next
// one of that item comes in a later batch.
type Batch struct {
	// Handle acts on the records.
	Handle BatchFunc
	// Size is the largest number of records in a batch. Default: 25. A batch never has more
	// than Handler.Concurrency records, because each record waits in one of these places.
	Size int
	// Window is how long a record waits for others. With 0, a record waits only while Parallel
	// batches run; the records that come meanwhile are the next batch.
	Window time.Duration
	// Parallel is how many batches may run at once. Default: 1.
	Parallel int
}
