package txn

import (
	"errors"
	"fmt"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// Errors before anything is sent.
var (
	// ErrInvalid means that DynamoDB would always reject the transaction. The text names
	// the part and the rule.
	ErrInvalid = errors.New("invalid transaction")
)

// Errors after DynamoDB has decided. Nothing was written.
var (
	// ErrMarker means that the marker's condition failed; see [CanceledError].
	ErrMarker = errors.New("the marker exists already")
	// ErrCondition means that the condition of a part without a [ConditionError] failed.
	ErrCondition = errors.New("condition failed")
	// ErrTokenUsed means that the token was used with another body and the transaction
	// has no marker that could decide.
	ErrTokenUsed = errors.New("token used by another transaction")
)

// Errors if DynamoDB has not decided within the attempts. [Retryable] reports true for
// these errors.
var (
	// ErrContended means that every attempt was answered, the last one with a conflict: other
	// transactions had locked the items. Nothing was written.
	ErrContended = errors.New("in conflict with other transactions")
	// ErrThrottled means that every attempt was answered, and that DynamoDB had no capacity for the
	// last one. Nothing was written.
	ErrThrottled = errors.New("throttled")
	// ErrUnknown means that an attempt had no answer, and that no later one has shown whether it was
	// made, whatever its error was. The transaction may have been made, or may still be made. Send it
	// again: the marker shows whether it was made.
	ErrUnknown = errors.New("the outcome of the transaction is unknown")
)

// Retryable reports whether the same transaction may succeed when it is sent again.
func Retryable(err error) bool {
	return errors.Is(err, ErrContended) || errors.Is(err, ErrThrottled) || errors.Is(err, ErrUnknown)
}

// ErrItemSize is the kind of an [ItemSizeError].
var ErrItemSize = errors.New("the item would have more than 400 KB")

// ItemSizeError means that an update would make its item larger than 400 KB. Nothing was written. A put of
// such an item is [ErrInvalid]. It is an [ErrItemSize].
type ItemSizeError struct {
	// Part is the name of the part with the update.
	Part string
}

func (e *ItemSizeError) Error() string {
	return fmt.Sprintf("%s: the item would have more than %d bytes", e.Part, maxItem)
}

// Unwrap returns ErrItemSize.
func (e *ItemSizeError) Unwrap() error { return ErrItemSize }

// Failure is one part whose condition failed.
type Failure struct {
	// Part is the name of the part.
	Part string
	// Old is the item that failed the condition, nil if there is none.
	Old map[string]types.AttributeValue
	// Err is the error that the part's [ConditionError] returned, [ErrMarker] or [ErrCondition].
	Err error
}

// CanceledError reports that the condition of at least one part failed. Nothing was written.
type CanceledError struct {
	// Failure is the part that decides: the marker if it failed, else the first failed
	// part in the order of the transaction.
	Failure
	// Marker reports whether the deciding part is the marker.
	Marker bool
	// Others are the other failed parts, in the order of the transaction.
	Others []Failure
}

func (r *CanceledError) Error() string {
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

// Unwrap returns the error of the deciding part.
func (r *CanceledError) Unwrap() error { return r.Err }
