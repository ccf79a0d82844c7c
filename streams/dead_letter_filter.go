package streams

import (
	"context"
	"errors"
	"iter"
	"reflect"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// DeadLetterFilter selects dead letters. Fields with their zero values select all.
type DeadLetterFilter struct {
	// Since and Before bound FailedAt: from Since on, and before Before.
	Since, Before time.Time
	// Error is a part of the error's text.
	Error string
	// Keys is the primary key of the item.
	Keys map[string]types.AttributeValue
}

// Selects reports whether the filter selects the dead letter.
func (f DeadLetterFilter) Selects(l DeadLetter) bool {
	switch {
	case l.FailedAt.Before(f.Since):
		return false
	case !f.Before.IsZero() && !l.FailedAt.Before(f.Before):
		return false
	case len(f.Keys) > 0 && !reflect.DeepEqual(f.Keys, l.Keys):
		return false
	}

	return strings.Contains(l.Error, f.Error)
}

// pageOfDeadLetters is how many dead letters All reads at once.
const pageOfDeadLetters = 100

// All returns the selected dead letters of a handler in the order of their ids. An error
// ends the sequence.
func (d DeadLetters) All(ctx context.Context, handler string, filter DeadLetterFilter) iter.Seq2[DeadLetter, error] {
	return func(yield func(DeadLetter, error) bool) {
		for after := ""; ; {
			letters, next, err := d.List(ctx, handler, after, pageOfDeadLetters)
			if err != nil {
				yield(DeadLetter{}, err)
				return
			}

			for _, l := range letters {
				if filter.Selects(l) && !yield(l, nil) {
					return
				}
			}

			if next == "" {
				return
			}
			after = next
		}
	}
}

// errEarlierFailed is the result for a dead letter that is not tried because an earlier dead letter
// of its item was not redriven.
var errEarlierFailed = errors.New("streams: not redriven: an earlier dead letter of the item is left")

// RedriveAll redrives the selected dead letters of h one after the other and passes each result to
// report: nil, or why the dead letter stays. The records of an item keep their order within a
// shard: if a dead letter stays, the later dead letters of its item are not tried. RedriveAll returns
// an error if it cannot read the dead letters or ctx ends.
func (d DeadLetters) RedriveAll(ctx context.Context, h Handler, filter DeadLetterFilter, report func(DeadLetter, error)) error {
	left := map[laneHash]bool{}
	for l, err := range d.All(ctx, h.Name, filter) {
		if err == nil {
			err = context.Cause(ctx)
		}

		if err != nil {
			return err
		}

		// The keys are also listed for a large record, whose Record is nil.
		item, known := hashLane(itemKey(Record{Keys: l.Keys})), len(l.Keys) > 0

		result := errEarlierFailed
		if !known || !left[item] {
			result = d.Redrive(ctx, l.ID, h, nil)
		}

		// The map has at most one entry of 16 bytes for each dead letter of the handler.
		if known && result != nil && !errors.Is(result, ErrDeadLetterNotFound) {
			left[item] = true
		}
		report(l, result)
	}

	return nil
}

// deleteAll deletes the selected dead letters of a handler and returns their number. A dead letter
// whose record cannot be decoded is deleted, too. A dead letter of a newer format ends deleteAll
// with ErrUnreadable.
func (d DeadLetters) deleteAll(ctx context.Context, handler string, filter DeadLetterFilter) (deleted int, err error) {
	for l, err := range d.All(ctx, handler, filter) {
		if err == nil {
			err = d.Delete(ctx, handler, l.ID)
		}

		if err != nil {
			return deleted, err
		}
		deleted++
	}

	return deleted, nil
}
