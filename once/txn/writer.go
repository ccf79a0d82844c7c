package txn

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"

	"ratchet/internal/dynamo"
	"ratchet/internal/worker"
)

// transactionWriter has the method of the SDK's client that this package calls.
type transactionWriter interface {
	TransactWriteItems(context.Context, *dynamodb.TransactWriteItemsInput, ...func(*dynamodb.Options)) (*dynamodb.TransactWriteItemsOutput, error)
}

// Config configures a [Writer].
type Config struct {
	// DynamoDB is required.
	DynamoDB transactionWriter
	// Attempts is how often one call of Write sends the transaction at most, in addition
	// to the SDK's own retries: 1 to 100. Default 20.
	Attempts int
	// Keys holds the names of the key attributes by table. It lets Write find a
	// transaction that puts one item twice before it is sent. DynamoDB rejects such a
	// transaction in any case. Optional.
	Keys map[string][]string
	// Consumed is called with the capacity that a written transaction consumed, one entry
	// per table. If it is set, the request asks for the capacity. It must not block.
	// Optional.
	Consumed func([]types.ConsumedCapacity)
}

const (
	defaultAttempts = 20
	maxAttempts     = 100
)

func (c *Config) check() error {
	if c.Attempts == 0 {
		c.Attempts = defaultAttempts
	}

	var faults []error
	if c.DynamoDB == nil {
		faults = append(faults, errors.New("txn: DynamoDB: must be set"))
	}

	if c.Attempts < 1 || c.Attempts > maxAttempts {
		faults = append(faults, fmt.Errorf("txn: Attempts %d: 1 to %d", c.Attempts, maxAttempts))
	}

	return errors.Join(faults...)
}

// Writer sends transactions. It is safe for concurrent use.
type Writer struct{ cfg Config }

// New returns a Writer. The error names every field that breaks a rule.
func New(cfg Config) (*Writer, error) {
	if err := cfg.check(); err != nil {
		return nil, err
	}

	return &Writer{cfg}, nil
}

// Write sends the transaction until DynamoDB has decided. It returns nil if the
// transaction was written, a [*CanceledError] if a condition failed, and [ErrInvalid] if
// it was not sent. If the token was used with another body, the error is [ErrTokenUsed]. If DynamoDB has not
// decided, the error is [ErrContended], [ErrThrottled] or [ErrUnknown].
func (w *Writer) Write(ctx context.Context, t *Transaction) error {
	if err := w.check(t); err != nil {
		return err
	}

	in, options := w.request(t)

	var undecided error // why the attempts so far decided nothing
	for attempt := 1; ; attempt++ {
		out, err := w.cfg.DynamoDB.TransactWriteItems(ctx, in, options...)
		if err == nil {
			if w.cfg.Consumed != nil {
				w.cfg.Consumed(out.ConsumedCapacity)
			}

			return nil
		}

		final, open := t.classify(ctx, err)
		if final != nil {
			return final
		}

		// A later conflict does not show whether an earlier attempt without an answer
		// was made, so ErrUnknown stays.
		if !errors.Is(undecided, ErrUnknown) {
			undecided = open
		}

		// Another body has used the token. A new token lets the marker decide.
		if errors.Is(open, ErrTokenUsed) {
			in.ClientRequestToken, undecided = aws.String(rand.Text()), ErrUnknown
		}

		if attempt == w.cfg.Attempts || !waitBeforeRetry(ctx, attempt) {
			return errors.Join(undecided, context.Cause(ctx), err)
		}
	}
}

// request returns the call for the transaction.
func (w *Writer) request(t *Transaction) (*dynamodb.TransactWriteItemsInput, []func(*dynamodb.Options)) {
	in := &dynamodb.TransactWriteItemsInput{
		ClientRequestToken: aws.String(t.token),
		TransactItems:      make([]types.TransactWriteItem, len(t.parts)),
	}
	for i, p := range t.parts {
		in.TransactItems[i] = p.item
	}

	if w.cfg.Consumed != nil {
		in.ReturnConsumedCapacity = types.ReturnConsumedCapacityTotal
	}

	// A random token with a marker needs no canonical body: if the endpoint takes a retry
	// for another transaction, the marker decides. Sorting the body costs time.
	options := []func(*dynamodb.Options){canonicalBody}
	if t.token == "" {
		in.ClientRequestToken = aws.String(rand.Text())

		if t.marker != 0 {
			options = nil
		}
	}

	return in, options
}

// classify reads the error of one attempt. It returns final if DynamoDB has decided or
// never will accept the transaction, else open: why the attempt was not decided.
func (t *Transaction) classify(ctx context.Context, err error) (final, open error) {
	var (
		canceled *types.TransactionCanceledException
		mismatch *types.IdempotentParameterMismatchException
		running  *types.TransactionInProgressException
	)

	switch {
	case errors.As(err, &canceled):
		final, open = t.reasons(canceled)
		if refused := (*CanceledError)(nil); errors.As(final, &refused) {
			refused.Cancellation = err
		}

		return final, open
	// Without a marker, no record can show which transaction used the token.
	case errors.As(err, &mismatch) && t.marker == 0:
		return fmt.Errorf("%w: %w", ErrTokenUsed, err), nil
	case errors.As(err, &mismatch):
		return nil, ErrTokenUsed
	// The transaction may have been made, or may still be made.
	case errors.As(err, &running), ctx.Err() != nil:
		return nil, ErrUnknown
	case throttled(err):
		return nil, ErrThrottled
	case dynamo.Retryable(err):
		return nil, ErrUnknown
	}

	return fmt.Errorf("write transaction: %w", err), nil
}

// throttled reports whether DynamoDB rejected the whole request for lack of capacity, in
// which case nothing was written.
func throttled(err error) bool {
	var api smithy.APIError
	if !errors.As(err, &api) {
		return false
	}

	_, found := retry.DefaultThrottleErrorCodes[api.ErrorCode()]

	return found
}

// waitBeforeRetry waits with full jitter up to 5 ms * 2^attempt, at most 1 s. It reports
// false if ctx ends first.
func waitBeforeRetry(ctx context.Context, attempt int) bool {
	return worker.WaitRetry(ctx, attempt, 5*time.Millisecond, time.Second)
}
