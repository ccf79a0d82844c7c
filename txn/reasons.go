package txn

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// The codes of a cancellation's reasons that this package knows. Any other one is
// never tried again.
// https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_TransactWriteItems.html
const (
	codeNone       = "None" // some endpoints leave it out
	codeCondition  = "ConditionalCheckFailed"
	codeConflict   = "TransactionConflict"
	codeThrottling = "ThrottlingError"
	codeThroughput = "ProvisionedThroughputExceeded"
)

// reasons reads a cancellation by position: final when a condition failed or the
// transaction can never be written, else what was in the way.
func (t *Transaction) reasons(e *types.TransactionCanceledException) (final, open error) {
	if len(e.CancellationReasons) != len(t.parts) {
		return fmt.Errorf("write transaction: %d reasons for %d parts: %w", len(e.CancellationReasons), len(t.parts), e), nil
	}

	var (
		marker       *Failure
		markerSilent bool // the marker was not judged
		failures     []Failure
		broken       []string
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
			open, markerSilent = ErrContended, markerSilent || isMarker
		case codeThrottling, codeThroughput:
			open, markerSilent = cmp.Or(open, ErrThrottled), markerSilent || isMarker
		default:
			broken = append(broken, fmt.Sprintf("%s: %s: %s", p.name, code, aws.ToString(r.Message)))
		}
	}

	switch {
	case marker != nil:
		return &Refused{Failure: *marker, Marker: true, Others: failures}, nil
	case len(broken) > 0:
		return fmt.Errorf("write transaction: %s: %w", strings.Join(broken, "; "), e), nil
	case len(failures) > 0 && !markerSilent:
		return &Refused{Failure: failures[0], Others: failures[1:]}, nil
	case open != nil:
		return nil, open
	}

	return fmt.Errorf("write transaction: cancelled without a reason: %w", e), nil
}

// failure is the part's failed condition.
func (p part) failure(old map[string]types.AttributeValue) Failure {
	f := Failure{Part: p.name, Err: ErrCondition}
	if len(old) > 0 {
		f.Old = old
	}

	if p.refusal != nil {
		if err := p.refusal(f.Old); err != nil {
			f.Err = err
		}
	}

	return f
}
