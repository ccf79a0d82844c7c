package deadletters

import (
	"context"
	"errors"
	"iter"
	"strings"
	"time"

	"ratchet/streams"
	"ratchet/streams/store"
)

// Filter selects dead letters. Fields with their zero values select all.
type Filter struct {
	// Since and Before bound FailedAt: from Since on, and before Before.
	Since, Before time.Time
	// Error is a part of the error's text.
	Error string
}

// Selects reports whether the filter selects the dead letter.
func (f Filter) Selects(l Letter) bool {
	inTime := !l.FailedAt.Before(f.Since) && (f.Before.IsZero() || l.FailedAt.Before(f.Before))

	return inTime && strings.Contains(l.Error, f.Error)
}

// pageOfDeadLetters is how many dead letters All reads at once.
const pageOfDeadLetters = 100

// All returns the selected dead letters of a handler in the order of their ids. An error ends the sequence.
func (d Letters) All(ctx context.Context, handler string, filter Filter) iter.Seq2[Letter, error] {
	return func(yield func(Letter, error) bool) {
		for after := ""; ; {
			letters, next, err := d.List(ctx, handler, after, pageOfDeadLetters)
			if err != nil {
				yield(Letter{}, err)
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

// ErrEarlierFailed is the result for a dead letter that is not tried because an earlier dead letter
// of its item was not redriven.
var ErrEarlierFailed = errors.New("streams: not redriven: an earlier dead letter of the item is left")

// RedriveAll redrives the selected dead letters of h one after the other and passes each result to
// report: nil, or why the dead letter stays. The records of an item keep their order within a
// shard: if a dead letter stays, the later dead letters of its item are not tried (ErrEarlierFailed). RedriveAll returns
// an error if it cannot read the dead letters or ctx ends.
func (d Letters) RedriveAll(ctx context.Context, h streams.Handler, filter Filter, report func(Letter, error)) error {
	left := map[store.ItemHash]bool{}
	for l, err := range d.All(ctx, h.Name, filter) {
		if err == nil {
			err = context.Cause(ctx)
		}

		if err != nil {
			return err
		}

		// The keys are also listed for a large record, whose Record is nil.
		item, known := store.HashOf(store.ItemKey(streams.Record{Keys: l.Keys})), len(l.Keys) > 0

		result := ErrEarlierFailed
		if !known || !left[item] {
			result = d.Redrive(ctx, l.ID, h)
		}

		// The map has at most one entry of 16 bytes for each dead letter of the handler.
		if known && result != nil && !errors.Is(result, ErrNotFound) {
			left[item] = true
		}
		report(l, result)
	}

	return nil
}
