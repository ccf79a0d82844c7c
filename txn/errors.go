package txn

import (
	"errors"
	"fmt"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// Before anything was sent.
var (
	// ErrInvalid: DynamoDB could never take the transaction; the text names the part
	// and the rule.
	ErrInvalid = errors.New("invalid transaction")
)

// Decided: nothing was written.
var (
	// ErrMarker: the marker's condition failed: see [Refused].
	ErrMarker = errors.New("the marker was there before")
	// ErrCondition: the condition of a part failed that has no error of its own.
	ErrCondition = errors.New("condition failed")
	// ErrTokenUsed: the token was used by another transaction, and no marker can decide.
	ErrTokenUsed = errors.New("token used by another transaction")
)

// Not decided within the attempts. [Retryable] reports true: send it again later.
var (
	// ErrContended: other transactions held the items every time. Nothing was written.
	ErrContended = errors.New("in conflict with other transactions")
	// ErrThrottled: DynamoDB had no capacity every time. Nothing was written.
	ErrThrottled = errors.New("throttled")
	// ErrUnknown: no answer; the transaction may have been made, or may still be. The
	// marker tells when it is sent again.
	ErrUnknown = errors.New("the outcome of the transaction is unknown")
)

// Retryable reports whether sending the transaction again may succeed.
func Retryable(err error) bool {
	return errors.Is(err, ErrContended) || errors.Is(err, ErrThrottled) || errors.Is(err, ErrUnknown)
}

// Failure is one part whose condition failed.
type Failure struct {
	// Part is its name.
	Part string
	// Old is the item that made the condition fail; nil when there is none.
	Old map[string]types.AttributeValue
	// Err is what the part's Refusal said, [ErrMarker] or [ErrCondition].
	Err error
}

// Refused is a transaction of which at least one condition failed. Nothing was written.
type Refused struct {
	// Failure is the part that decides: the marker, else the first in the order of the
	// transaction.
	Failure
	// Marker tells that the deciding part is the marker.
	Marker bool
	// Others are the other parts whose conditions failed, in order.
	Others []Failure
	// Cancellation is the answer as the SDK returned it: its Date is the service's clock.
	Cancellation error
}

func (r *Refused) Error() string {
	text := "transaction refused by " + r.Part + ": " + r.Err.Error()
	if len(r.Others) == 0 {
		return text
	}

	names := make([]string, len(r.Others))
	for i, f := range r.Others {
		names[i] = f.Part
	}

	return fmt.Sprintf("%s (and by %s)", text, strings.Join(names, ", "))
}

// Unwrap is the deciding part's error.
func (r *Refused) Unwrap() error { return r.Err }
