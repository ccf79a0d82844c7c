package txn

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	mrand "math/rand/v2"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"
)

// dynamo is what this package needs of the SDK's client.
type dynamoDB interface {
	TransactWriteItems(context.Context, *dynamodb.TransactWriteItemsInput, ...func(*dynamodb.Options)) (*dynamodb.TransactWriteItemsOutput, error)
}

// Config of a [Writer].
type Config struct {
	// DynamoDB is required.
	DynamoDB dynamoDB
	// Attempts is how often one Write sends at most, beyond what the SDK retries by
	// itself: 1 to 100. Default 20.
	Attempts int
	// Keys names the key attributes of tables that are put into, so that one item
	// twice is found before sending. DynamoDB refuses it in any case.
	Keys map[string][]string
	// Consumed is told what each transaction cost that was written, by table; the
	// request then asks for it. It must not block. Default nobody.
	Consumed func([]types.ConsumedCapacity)
}

// Writer sends transactions. Its methods may be called from many goroutines.
type Writer struct{ cfg Config }

// New returns a Writer, or an error that names the field and its rule.
func New(cfg Config) (*Writer, error) {
	if cfg.Attempts == 0 {
		cfg.Attempts = 20
	}

	switch {
	case cfg.DynamoDB == nil:
		return nil, errors.New("txn: DynamoDB: must be set")
	case cfg.Attempts < 1 || cfg.Attempts > maxAttempts:
		return nil, fmt.Errorf("txn: Attempts %d: 1 to %d", cfg.Attempts, maxAttempts)
	}

	return &Writer{cfg}, nil
}

// Write sends the transaction until DynamoDB has decided. It returns nil when it was
// written, a [Refused] when a condition failed, [ErrInvalid] when it was not sent; when
// nothing was decided, [ErrContended], [ErrThrottled] or [ErrUnknown].
func (w *Writer) Write(ctx context.Context, t *Transaction) error {
	if err := w.check(t); err != nil {
		return err
	}

	in := &dynamodb.TransactWriteItemsInput{ClientRequestToken: &t.token, TransactItems: make([]types.TransactWriteItem, len(t.parts))}
	for i, p := range t.parts {
		in.TransactItems[i] = p.item
	}
	// Equal bytes matter where the same token is sent again and nothing else decides.
	options := []func(*dynamodb.Options){canonical}
	if t.token == "" {
		in.ClientRequestToken = aws.String(rand.Text())

		if t.marker != 0 {
			options = nil
		}
	}

	if w.cfg.Consumed != nil {
		in.ReturnConsumedCapacity = types.ReturnConsumedCapacityTotal
	}

	var undecided error // what the attempts so far leave open
	for attempt := 1; ; attempt++ {
		out, err := w.cfg.DynamoDB.TransactWriteItems(ctx, in, options...)
		if err == nil {
			if w.cfg.Consumed != nil {
				w.cfg.Consumed(out.ConsumedCapacity)
			}
			return nil
		}

		final, open := t.judge(ctx, err)
		if final != nil {
			return final
		}

		if !errors.Is(undecided, ErrUnknown) { // later conflicts do not tell what became of an unanswered sending
			undecided = open
		}

		if errors.Is(open, ErrTokenUsed) { // give the token up: the marker decides
			in.ClientRequestToken, undecided = aws.String(rand.Text()), ErrUnknown
		}

		if attempt == w.cfg.Attempts || !pause(ctx, attempt) {
			return errors.Join(undecided, context.Cause(ctx), err)
		}
	}
}

// judge reads an error: final when DynamoDB has decided or never will, else what it
// leaves open.
func (t *Transaction) judge(ctx context.Context, err error) (final, open error) {
	var (
		canceled *types.TransactionCanceledException
		mismatch *types.IdempotentParameterMismatchException
		running  *types.TransactionInProgressException
	)
	switch {
	case errors.As(err, &canceled):
		final, open = t.reasons(canceled)
		if refused := (*Refused)(nil); errors.As(final, &refused) {
			refused.Cancellation = err
		}

		return final, open
	case errors.As(err, &mismatch) && t.marker == 0:
		return fmt.Errorf("%w: %w", ErrTokenUsed, err), nil
	case errors.As(err, &mismatch):
		return nil, ErrTokenUsed
	case errors.As(err, &running), ctx.Err() != nil:
		return nil, ErrUnknown
	case refusedBeforehand(err):
		return nil, ErrThrottled
	case retryables.IsErrorRetryable(err).Bool():
		return nil, ErrUnknown
	}

	return fmt.Errorf("write transaction: %w", err), nil
}

var retryables = retry.IsErrorRetryables(retry.DefaultRetryables)

// refusedBeforehand recognises throttling of the whole request.
func refusedBeforehand(err error) bool {
	var api smithy.APIError
	if !errors.As(err, &api) {
		return false
	}
	_, throttled := retry.DefaultThrottleErrorCodes[api.ErrorCode()]

	return throttled
}

// pause waits before the next attempt, with full jitter up to 5 ms * 2^attempt, at
// most 1 s. It reports false when ctx ends first.
func pause(ctx context.Context, attempt int) bool {
	limit := min(5*time.Millisecond<<min(attempt, 8), time.Second)
	timer := time.NewTimer(mrand.N(limit)) //nolint:gosec // jitter, not a secret
	defer timer.Stop()

	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}
