package txn

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// The codes of cancellation reasons that this package knows. Any other code is final.
// https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_TransactWriteItems.html
const (
	codeNone       = "None" // some endpoints leave it out
	codeCondition  = "ConditionalCheckFailed"
	codeConflict   = "TransactionConflict"
	codeThrottling = "ThrottlingError"
	codeThroughput = "ProvisionedThroughputExceeded"
	codeValidation = "ValidationError"
)

// reasons reads a cancellation by position.
func (t *Transaction) reasons(ctx context.Context, e *types.TransactionCanceledException) sight {
	if len(e.CancellationReasons) != len(t.parts) {
		return sight{reason: fmt.Errorf("%d reasons for %d parts", len(e.CancellationReasons), len(t.parts))}
	}

	var (
		marker    *Failure
		undecided bool // DynamoDB did not evaluate the condition of a decisive part
		failures  []Failure
		open      error    // another attempt may be decided
		unknown   []string // reasons with a code that this package does not know
		large     *ItemSizeError
		explained error
	)

	for i, r := range e.CancellationReasons {
		p, isMarker := t.parts[i], i+1 == t.marker
		switch code := aws.ToString(r.Code); code {
		case "", codeNone:
		case codeCondition:
			f := p.failure(r.Item)
			if isMarker {
				marker = &f
			} else {
				failures = append(failures, f)
			}
		case codeConflict:
			open, undecided = ErrContended, undecided || p.decisive
		case codeThrottling, codeThroughput:
			open, undecided = cmp.Or(open, ErrThrottled), undecided || p.decisive
		case codeValidation:
			// Every fault of a part has this code, so the message decides.
			if large == nil && strings.Contains(strings.ToLower(aws.ToString(r.Message)), "item size") {
				large = &ItemSizeError{p.name}
			}

			if explained == nil && p.onInvalid != nil {
				explained = p.onInvalid(ctx, fmt.Errorf("%s: %s", code, aws.ToString(r.Message)))
			}

			fallthrough
		default:
			unknown = append(unknown, fmt.Sprintf("%s: %s: %s", p.name, code, aws.ToString(r.Message)))
		}
	}

	// The order of the cases is the rank of the reasons. A failed condition counts only
	// if the marker was evaluated: otherwise the transaction may have been made before. The
	// same holds for the other decisive parts.
	switch {
	case marker != nil:
		return sight{refused: &CanceledError{Failure: *marker, Marker: true, Others: failures}}
	case large != nil:
		return sight{reason: large}
	case explained != nil:
		return sight{reason: explained, explained: true}
	case len(unknown) > 0:
		return sight{reason: errors.New(strings.Join(unknown, "; "))}
	case len(failures) > 0 && !undecided:
		return sight{refused: &CanceledError{Failure: failures[0], Others: failures[1:]}}
	case open != nil:
		return sight{reason: open, again: true}
	}

	return sight{reason: errors.New("canceled without a reason")}
}

// failure returns the failed condition of the part.
func (p part) failure(old map[string]types.AttributeValue) Failure {
	f := Failure{Part: p.name, Err: ErrCondition}
	if len(old) > 0 {
		f.Old = old
	}

	if p.onFailure != nil {
		if err := p.onFailure(f.Old); err != nil {
			f.Err = err
		}
	}

	return f
}
