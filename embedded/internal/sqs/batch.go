package sqs

import (
	"errors"
	"regexp"

	"ratchet/embedded/internal/wire"
)

// batchAnswer is the answer to a batch: each entry is in one of the lists.
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

// add notes what became of an entry. It returns err when that is no refusal but the
// engine's own fault.
func (a *batchAnswer[T]) add(id string, answer T, err error) error {
	var refused *wire.Error
	switch {
	case err == nil:
		a.Successful = append(a.Successful, answer)
	case errors.As(err, &refused):
		a.Failed = append(a.Failed, batchFailure{id, queryCode(refused.Type), refused.Message, true})
	default:
		return err
	}

	return nil
}

var entryIDRule = regexp.MustCompile(`^[A-Za-z0-9_-]{1,80}$`)

// checkBatch refuses a batch as a whole for its number of entries or their ids.
func checkBatch(ids []string) error {
	const most = 10
	switch {
	case len(ids) == 0:
		return wire.Errorf("EmptyBatchRequest", "There should be at least one entry in the request.")
	case len(ids) > most:
		return wire.Errorf("TooManyEntriesInBatchRequest", "Maximum number of entries per request are %d. You have sent %d.", most, len(ids))
	}

	seen := make(map[string]bool, len(ids))
	for _, id := range ids {
		if !entryIDRule.MatchString(id) {
			return wire.Errorf("InvalidBatchEntryId", "A batch entry id can only contain alphanumeric characters, hyphens and underscores. It can be at most 80 letters long.")
		}

		if seen[id] {
			return wire.Errorf("BatchEntryIdsNotDistinct", "Id %s repeated.", id)
		}
		seen[id] = true
	}

	return nil
}
