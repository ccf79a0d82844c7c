package jobs

import (
	"context"
	"errors"
	"fmt"

	"ratchet/transitions/lists"
)

// Lists is the work of [RebuildLists]. Its subjects are the parts of the tables, of which the last one declares the lists
// ready.
type Lists struct{ Lists *lists.Lists }

// codeIncomplete: the lists are not ready, because a worker without lists has handled changes meanwhile.
const codeIncomplete = "lists_incomplete"

// Select implements [Work].
func (w Lists) Select(_ context.Context, _ Job, found func(Subject) error) error {
	for part := range lists.Parts {
		if err := found(Subject{ID: fmt.Sprintf("part-%03d", part)}); err != nil {
			return err
		}
	}

	return nil
}

// Look implements [Work].
func (w Lists) Look(_ context.Context, _ Job, id string) (Subject, error) {
	return Subject{ID: id, Code: codeGone}, nil
}

// Act implements [Work].
func (w Lists) Act(ctx context.Context, _ Job, s Subject) (code string, err error) {
	var part int
	if _, err := fmt.Sscanf(s.ID, "part-%d", &part); err != nil {
		return codeGone, nil
	}

	found, err := w.Lists.RebuildPart(ctx, part)

	switch {
	case errors.Is(err, lists.ErrIncomplete):
		return codeIncomplete, nil
	case err != nil:
		return "", err
	// The other orders of the part are in the lists.
	case found.Unreadable > 0:
		return codeUnreadable, nil
	}

	return codeDone, nil
}
