package transitions

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"

	"ratchet/internal/dynamo"
)

// Rows that are recorded at the same time are written with one call. Each row has a statement of its
// own, an INSERT, which DynamoDB refuses if there is a row with the key: so a batch that arrives late
// replaces nothing, neither a row whose person was erased since nor another transition. A row that a
// batch did not write is written alone, and judged alone: see Orders.Record. A row that comes while no
// other is being written does not wait; the rows that come during its call are the next batch.

const (
	// maxBatchRows is how many statements DynamoDB takes in a call.
	maxBatchRows = 25
	// patience is how long rows wait for the call before. After it they are written beside it, so that a
	// call that hangs does not hold up the journal.
	patience = 100 * time.Millisecond
)

// statements has the method of a *dynamodb.Client that writes several rows. A Config.DynamoDB without it
// writes each row alone.
type statements interface {
	BatchExecuteStatement(context.Context, *dynamodb.BatchExecuteStatementInput, ...func(*dynamodb.Options)) (*dynamodb.BatchExecuteStatementOutput, error)
}

// journalBatches gathers the rows that are recorded at the same time.
type journalBatches struct {
	db    statements // nil if there is none
	table string
	clock *dynamo.Clock
	// refused is set when the service refuses such calls: the permission is missing, or a compatible
	// endpoint does not know them.
	refused atomic.Bool

	mu        sync.Mutex
	gathering *journalBatch // takes further rows; nil if there is none
	writing   bool          // a call is on its way, and not longer than patience
}

// journalBatch is the rows of one call.
type journalBatch struct {
	rows    []image
	keys    map[string]bool // of the rows: DynamoDB takes no two statements of one item
	waiting int             // the callers that wait for the end
	cancel  context.CancelFunc
	start   chan struct{} // closed when the batch is to be written
	done    chan struct{} // closed when written is set
	written []bool
}

// write writes the row in a batch. It reports false if it has not: then the caller writes the row alone.
// The caller calls end when the row is written.
func (b *journalBatches) write(ctx context.Context, row image) (done bool, end func()) {
	if b.db == nil || b.refused.Load() {
		return false, func() {}
	}

	batch, n, end := b.join(ctx, row)
	if batch == nil {
		return false, end
	}

	select {
	case <-batch.done:
		return batch.written[n], end
	case <-ctx.Done():
	}

	// The other rows have callers that still wait. The last caller ends the call.
	if b.leave(batch) {
		batch.cancel()
		<-batch.done
	}

	return false, end
}

// join adds the row to the batch that gathers, or begins one. It returns no batch for a row that is to be
// written alone.
func (b *journalBatches) join(ctx context.Context, row image) (batch *journalBatch, n int, end func()) {
	key := dynamo.Text(row, "orderId") + " " + dynamo.Text(row, entryAttribute)

	b.mu.Lock()
	defer b.mu.Unlock()

	if !b.writing {
		b.writing = true
		return nil, 0, b.patiently()
	}

	if batch = b.gathering; batch == nil {
		batch = &journalBatch{keys: map[string]bool{}, start: make(chan struct{}), done: make(chan struct{})}
		b.gathering = batch

		// The batch has the values of its first row's context, and ends when no caller waits any more.
		var work context.Context
		work, batch.cancel = context.WithCancel(context.WithoutCancel(ctx))

		go b.run(work, batch)
	}

	if batch.keys[key] {
		return nil, 0, func() {}
	}
	n = len(batch.rows)
	batch.rows, batch.keys[key] = append(batch.rows, row), true
	batch.waiting++

	if len(batch.rows) == maxBatchRows {
		b.close(batch)
	}

	return batch, n, func() {}
}

// patiently returns a function that ends the call that is on its way. The call also counts as ended
// after patience.
func (b *journalBatches) patiently() (end func()) {
	next := sync.OnceFunc(b.next)
	timer := time.AfterFunc(patience, next)

	return func() {
		timer.Stop()
		next()
	}
}

// leave notes that a caller waits no more. It reports whether it was the last one.
func (b *journalBatches) leave(batch *journalBatch) (last bool) {
	b.mu.Lock()
	defer b.mu.Unlock()

	batch.waiting--
	if last = batch.waiting == 0; last && b.gathering == batch {
		b.close(batch)
	}

	return last
}

// close lets the batch be written. The caller holds the lock.
func (b *journalBatches) close(batch *journalBatch) {
	b.gathering, b.writing = nil, true
	close(batch.start)
}

// next lets the rows be written that have come since.
func (b *journalBatches) next() {
	b.mu.Lock()
	defer b.mu.Unlock()

	b.writing = false
	if b.gathering != nil {
		b.close(b.gathering)
	}
}

// run writes the batch when it is closed.
func (b *journalBatches) run(ctx context.Context, batch *journalBatch) {
	<-batch.start
	defer batch.cancel()

	defer b.patiently()()

	batch.written = b.send(ctx, batch.rows)
	close(batch.done)
}

// send writes the rows, and reports which of them were written.
func (b *journalBatches) send(ctx context.Context, rows []image) []bool {
	written := make([]bool, len(rows))
	if ctx.Err() != nil {
		return written
	}

	in := &dynamodb.BatchExecuteStatementInput{Statements: make([]types.BatchStatementRequest, len(rows))}
	for i, row := range rows {
		in.Statements[i] = insertion(b.table, row)
	}

	// Without the SDK's retries: a row that is not known to be written is written alone.
	out, err := b.db.BatchExecuteStatement(ctx, in, dynamo.WithoutRetries, b.clock.Listen)
	if err != nil {
		b.note(ctx, err)
		return written
	}

	for i, answer := range out.Responses {
		written[i] = answer.Error == nil

		if answer.Error != nil && answer.Error.Code == types.BatchStatementErrorCodeEnumAccessDenied {
			b.refused.Store(true)
		}
	}

	return written
}

// note remembers an error after which no batch can succeed. Throttling and faults of the service pass.
func (b *journalBatches) note(ctx context.Context, err error) {
	var api smithy.APIError
	if errors.As(err, &api) && !dynamo.Retryable(err) && !dynamo.OutcomeUnknown(ctx, err) && !dynamo.DiskFull(err) {
		b.refused.Store(true)
	}
}

// insertion returns the statement that writes the row if there is none with its key.
func insertion(table string, row image) types.BatchStatementRequest {
	var text strings.Builder
	text.WriteString(`INSERT INTO "` + table + `" VALUE {`)

	names := make([]string, 0, len(row))
	for name := range row {
		names = append(names, name)
	}
	// Sorted, so that rows with the same attributes have the same text.
	slices.Sort(names)

	parameters := make([]types.AttributeValue, len(names))
	for i, name := range names {
		if i > 0 {
			text.WriteString(", ")
		}
		text.WriteString("'" + name + "': ?")
		parameters[i] = row[name]
	}
	text.WriteString("}")

	return types.BatchStatementRequest{Statement: aws.String(text.String()), Parameters: parameters}
}
