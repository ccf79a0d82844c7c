package dynamo

import (
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"ratchet/internal/worker"
)

// ErrUnanswered means that an attempt of a write had no answer, and that no later attempt has shown
// whether it was made.
var ErrUnanswered = errors.New("the write had no answer")

// WithoutRetries switches the SDK's retries off for one call. The SDK reports only the error of its
// last attempt, which says nothing about the attempts before.
func WithoutRetries(o *dynamodb.Options) { o.Retryer = aws.NopRetryer{} }

// Attempts is the memory of one write that is sent until DynamoDB has decided. Once an attempt had no
// answer, an error of a later attempt does not prove that nothing was written. Only a success or a
// failed condition ends such a write: both show the item as it is. Each attempt must be sent with
// [WithoutRetries].
//
//	attempts := dynamo.Attempts{Most: 8}
//	for {
//		out, err := client.UpdateItem(ctx, input, dynamo.WithoutRetries)
//		old, refused := dynamo.FailedCondition(err)
//		if err == nil || refused {
//			return out, old, nil
//		}
//		if err := attempts.Failed(ctx, err); err != nil {
//			return nil, nil, err
//		}
//	}
type Attempts struct {
	// Most is how many attempts there may be, at least 1.
	Most int
	// First bounds the first wait, which grows to 1 s. Default 25 ms.
	First time.Duration

	failed     int
	unanswered bool
}

// Failed notes that an attempt has ended in err, which is neither nil nor a failed condition. It
// waits, and returns nil if the write is to be sent again. Otherwise it returns the error that
// ends the write: err, if no attempt can have written anything, or else [ErrUnanswered] joined
// with err and the cause of the context's end.
func (a *Attempts) Failed(ctx context.Context, err error) error {
	return a.Judged(ctx, err, OutcomeUnknown(ctx, err), Retryable(err))
}

// Judged is Failed for a caller that knows more about err: whether this attempt may have been made
// (unknown), and whether another one may succeed (again).
func (a *Attempts) Judged(ctx context.Context, err error, unknown, again bool) error {
	a.failed++
	a.unanswered = a.unanswered || unknown

	switch {
	case (a.unanswered || again) && a.failed < a.Most && a.wait(ctx):
		return nil
	case a.unanswered:
		return errors.Join(ErrUnanswered, context.Cause(ctx), err)
	}

	return err
}

// Unanswered reports whether an attempt so far had no answer.
func (a *Attempts) Unanswered() bool { return a.unanswered }

// wait waits before the next attempt. It reports false if ctx ends first.
func (a *Attempts) wait(ctx context.Context) bool {
	return worker.WaitRetry(ctx, a.failed, cmp.Or(a.First, 25*time.Millisecond), time.Second)
}

// UntilDecided calls send, which sends one conditional write with [WithoutRetries], until DynamoDB has
// decided, at most the given number of times. It reports whether the condition refused the write, and
// returns the item that failed it (nil for none). The errors are those of [Attempts.Failed].
func UntilDecided(ctx context.Context, most int, send func() error) (old Item, refused bool, err error) {
	attempts := Attempts{Most: most}
	for {
		err := send()
		if err == nil {
			return nil, false, nil
		}

		if old, refused := FailedCondition(err); refused {
			return old, true, nil
		}

		if err := attempts.Failed(ctx, err); err != nil {
			return nil, false, err
		}
	}
}
