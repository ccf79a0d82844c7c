package stepfunctions

import (
	"fmt"

	"ratchet/embedded/internal/stepfunctions/execution"
	"ratchet/embedded/internal/stepfunctions/keys"
)

// history reads documents of one execution.
type history struct {
	s   *Service
	key keys.Execution
}

// Document returns a document of an earlier turn, from memory if the turn is recent.
func (h history) Document(ref execution.Ref) ([]byte, error) {
	return h.find(ref, execution.FindDocument)
}

// Assigned returns the variables that an event of an earlier turn assigns.
func (h history) Assigned(ref execution.Ref) ([]byte, error) {
	return h.find(ref, execution.FindAssigned)
}

func (h history) find(ref execution.Ref, in func(execution.Ref, []byte) ([]byte, error)) ([]byte, error) {
	// recent keeps only the newest turn with documents, which need not be the turn that ref names.
	if item, ok := h.s.recent.Get(h.key); ok && item.Chunk == ref.Chunk {
		return in(ref, item.Events)
	}

	data, ok, err := h.s.db.Get(h.key.History(ref.Chunk))
	if err != nil {
		return nil, fmt.Errorf("read the history of execution %d: %w", h.key.ID, err)
	}

	if !ok {
		return nil, fmt.Errorf("read the history of execution %d: the turn at event %d is missing", h.key.ID, ref.Chunk)
	}

	return in(ref, data)
}
