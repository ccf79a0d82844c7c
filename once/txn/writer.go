package txn

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go/middleware"

	"ratchet/internal/dynamo"
)

// transactionWriter has the method of the SDK's client that this package calls.
type transactionWriter interface {
	TransactWriteItems(context.Context, *dynamodb.TransactWriteItemsInput, ...func(*dynamodb.Options)) (*dynamodb.TransactWriteItemsOutput, error)
}

// Config configures a [Writer].
type Config struct {
	// DynamoDB is required.
	DynamoDB transactionWriter
	// Attempts is how often one call of Write sends the transaction at most: 1 to 100. Default
	// 20. The SDK's own retries are switched off.
	Attempts int
	// Clock hears the time of each answer. Default: a clock of the Writer's own.
	Clock *dynamo.Clock
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

	// firstWait bounds the first wait before a retry: a conflict is mostly over by then.
	firstWait = 5 * time.Millisecond
	// tokenLife is how long DynamoDB remembers a token.
	tokenLife = 10 * time.Minute
)

func (c *Config) check() error {
	if c.Attempts == 0 {
		c.Attempts = defaultAttempts
	}

	if c.Clock == nil {
		c.Clock = &dynamo.Clock{}
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
// decided, the error is [ErrContended], [ErrThrottled] or [ErrUnknown]. Any other error means that
// DynamoDB has refused every attempt, so nothing was written.
func (w *Writer) Write(ctx context.Context, t *Transaction) error {
	if err := t.prepare(ctx); err != nil {
		return fmt.Errorf("write transaction: %w", err)
	}

	if err := w.check(t); err != nil {
		return err
	}

	in, options := w.request(t)
	attempts := dynamo.Attempts{Most: w.cfg.Attempts, First: firstWait}
	first := w.cfg.Clock.LocalNow()

	for {
		err := w.send(ctx, in, options)
		if err == nil {
			return nil
		}

		seen := t.classify(ctx, err)
		if seen.refused != nil {
			return seen.refused
		}

		ended := attempts.Judged(ctx, err, seen.unknown, seen.again) != nil
		switch {
		// Only its token shows that a transaction without a marker was made, and DynamoDB may have
		// forgotten the token.
		case attempts.Unanswered() && (ended || t.marker == 0 && w.cfg.Clock.LocalNow().Sub(first) > tokenLife):
			return errors.Join(ErrUnknown, context.Cause(ctx), err)
		case ended && seen.again && seen.reason != nil:
			return errors.Join(seen.reason, context.Cause(ctx), err)
		case ended && seen.explained:
			return fmt.Errorf("write transaction: %w", seen.reason)
		case ended && seen.reason != nil:
			return fmt.Errorf("write transaction: %w: %w", seen.reason, err)
		case ended:
			return fmt.Errorf("write transaction: %w", err)
		}

		switch {
		case t.marker == 0 && attempts.Unanswered():
			// Only under the same token, and so with the same body, is it the same transaction.
		case len(t.each) > 0:
			if err := t.prepare(ctx); err != nil && attempts.Unanswered() {
				return errors.Join(ErrUnknown, err)
			} else if err != nil {
				return fmt.Errorf("write transaction: %w", err)
			}

			in.ClientRequestToken = aws.String(rand.Text())
		case errors.Is(seen.reason, ErrTokenUsed):
			// Another body has used the token. A new token lets the marker decide.
			in.ClientRequestToken = aws.String(rand.Text())
		}
	}
}

// send makes one attempt.
func (w *Writer) send(ctx context.Context, in *dynamodb.TransactWriteItemsInput, options []func(*dynamodb.Options)) error {
	began := w.cfg.Clock.LocalNow()

	out, err := w.cfg.DynamoDB.TransactWriteItems(ctx, in, options...)
	if err != nil {
		w.cfg.Clock.Hear(began, middleware.Metadata{}, err)
		return err
	}

	w.cfg.Clock.Hear(began, out.ResultMetadata, nil)

	if w.cfg.Consumed != nil {
		w.cfg.Consumed(out.ConsumedCapacity)
	}

	return nil
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
	options := []func(*dynamodb.Options){dynamo.WithoutRetries, canonicalBody}
	if t.token == "" {
		in.ClientRequestToken = aws.String(rand.Text())

		if t.marker != 0 {
			options = options[:1]
		}
	}

	return in, options
}

// sight is what the error of one attempt shows.
type sight struct {
	refused *CanceledError // DynamoDB has decided
	reason  error          // more about the error, nil if there is no more
	// explained: the reason says all that there is to say (see Explain).
	explained bool
	unknown   bool // the attempt may have been made
	again     bool // another attempt may succeed
}

// classify reads the error of one attempt.
func (t *Transaction) classify(ctx context.Context, err error) sight {
	var (
		canceled *types.TransactionCanceledException
		mismatch *types.IdempotentParameterMismatchException
		running  *types.TransactionInProgressException
	)

	switch {
	case errors.As(err, &canceled):
		return t.reasons(ctx, canceled)
	// Without a marker, no record can show which transaction used the token.
	case errors.As(err, &mismatch) && t.marker == 0:
		return sight{reason: ErrTokenUsed}
	// The transaction that used the token may be this one.
	case errors.As(err, &mismatch):
		return sight{reason: ErrTokenUsed, unknown: true, again: true}
	// Another call, or an attempt of this one, is under way under the token.
	case errors.As(err, &running):
		return sight{reason: ErrUnknown, unknown: true, again: true}
	case dynamo.Throttled(err):
		return sight{reason: ErrThrottled, again: true}
	}

	return sight{unknown: dynamo.OutcomeUnknown(ctx, err), again: dynamo.Retryable(err)}
}
