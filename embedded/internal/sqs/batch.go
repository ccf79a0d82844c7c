package sqs

import (
	"errors"
	"regexp"
	"sync"
	"time"

	"ratchet/embedded/internal/store"
	"ratchet/embedded/internal/wire"
)

// batchAnswer is the answer to a batch. Each entry of the request is in one of the lists.
type batchAnswer[T any] struct {
	Successful []T            `json:",omitempty"`
	Failed     []batchFailure `json:",omitempty"`
}

type batchFailure struct {
	ID          string `json:"Id"`
	Code        string
	Message     string
	SenderFault bool
}

// add adds the result of one entry. It returns err, which ends the whole batch, when err
// is the engine's own fault.
func (a *batchAnswer[T]) add(id string, answer T, err error) error {
	var entryErr *wire.Error
	switch {
	case err == nil:
		a.Successful = append(a.Successful, answer)
	case errors.As(err, &entryErr):
		a.Failed = append(a.Failed, batchFailure{
			ID:          id,
			Code:        queryCode(entryErr.Type),
			Message:     entryErr.Message,
			SenderFault: true,
		})
	default:
		return err
	}

	return nil
}

var entryIDRule = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z0-9_-]{1,80}$`) })

// checkBatch fails when the number of entries or their ids make a batch invalid as a
// whole.
func checkBatch(ids []string) error {
	const most = 10
	switch {
	case len(ids) == 0:
		return wire.Errorf("EmptyBatchRequest", "There should be at least one entry in the request.")
	case len(ids) > most:
		return wire.Errorf("TooManyEntriesInBatchRequest",
			"Maximum number of entries per request are %d. You have sent %d.", most, len(ids))
	}

	seen := make(map[string]bool, len(ids))
	// The whole batch fails for one bad ID: without distinct IDs the caller could not match the results.
	for _, id := range ids {
		if !entryIDRule().MatchString(id) {
			return wire.Errorf("InvalidBatchEntryId", "A batch entry id can only contain alphanumeric characters, "+
				"hyphens and underscores. It can be at most 80 letters long.")
		}

		if seen[id] {
			return wire.Errorf("BatchEntryIdsNotDistinct", "Id %s repeated.", id)
		}

		seen[id] = true
	}

	return nil
}

// forEachEntry runs do for every entry of a batch and collects the results. do runs under
// the service's lock.
func (s *Service) forEachEntry(in *receiptBatch, do func(*queue, *store.Batch, *receiptEntry, time.Time) error) (any, error) {
	ids := make([]string, len(in.Entries))
	for i, e := range in.Entries {
		ids[i] = e.ID
	}

	if err := checkBatch(ids); err != nil {
		return nil, err
	}

	type done struct {
		ID string `json:"Id"`
	}
	var out batchAnswer[done]

	err := s.withQueue(in.QueueUrl, func(q *queue, b *store.Batch, now time.Time) error {
		for i := range in.Entries {
			err := do(q, b, &in.Entries[i], now)
			// An answer of the API belongs to its entry. Any other error fails the
			// batch, whose changes are stored nevertheless.
			if err := out.add(ids[i], done{ids[i]}, err); err != nil {
				return err
			}
		}

		return nil
	})
	if err != nil {
		return nil, err
	}

	return out, nil
}

type receiptEntry struct {
	ID                string `json:"Id"`
	ReceiptHandle     string
	VisibilityTimeout *int64
}

type receiptRequest struct {
	QueueUrl string //nolint:revive // the wire's name
	receiptEntry
}

// visibilityBatch is the request of ChangeMessageVisibilityBatch.
type visibilityBatch struct{ receiptBatch }

type receiptBatch struct {
	QueueUrl string //nolint:revive // the wire's name
	Entries  []receiptEntry
}
