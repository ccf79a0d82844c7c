package jobs

import (
	"context"
	"errors"
	"strconv"

	"ratchet/streams/deadletters"
	"ratchet/streams/retryqueue"
)

// DeadLetters is the work of [RedriveDeadLetters], or with Discard that of [DiscardDeadLetters].
type DeadLetters struct {
	Queue   retryqueue.Queue
	Discard bool
}

// The codes of dead letters that are not redriven.
const (
	// codeWaiting: it was queued before, and waits for a worker.
	codeWaiting    = "waiting"
	codeUnreadable = "unreadable"
	// codeChanged: the handler has failed with it again since it was selected, so it is not the letter that a person
	// meant.
	codeChanged = "changed"
)

// Select implements [Work].
func (w DeadLetters) Select(ctx context.Context, j Job, found func(Subject) error) error {
	f := deadletters.Filter{Since: j.Filter.Since, Before: j.Filter.Until, Error: j.Filter.Error}

	for l, err := range w.Queue.Letters().All(ctx, j.Filter.Handler, f) {
		if err != nil {
			return err
		}

		if err := found(w.subject(l)); err != nil {
			return err
		}
	}

	return nil
}

func (w DeadLetters) subject(l deadletters.Letter) Subject {
	s := Subject{ID: l.ID, Mark: strconv.Itoa(l.Redrives)}

	switch {
	case w.Discard:
	case l.Unreadable != "":
		s.Code = codeUnreadable
	case !l.QueuedAt.IsZero():
		s.Code = codeWaiting
	}

	return s
}

// Look implements [Work].
func (w DeadLetters) Look(ctx context.Context, j Job, id string) (Subject, error) {
	l, err := w.Queue.Letters().Get(ctx, j.Filter.Handler, id)
	switch {
	case errors.Is(err, deadletters.ErrNotFound):
		return Subject{ID: id, Code: codeGone}, nil
	case err != nil && l.Unreadable == "":
		return Subject{}, err
	}

	return w.subject(l), nil
}

// Act implements [Work].
func (w DeadLetters) Act(ctx context.Context, j Job, s Subject) (code string, err error) {
	handler := j.Filter.Handler
	seen, _ := strconv.Atoi(s.Mark)

	if w.Discard {
		return codeOfLetter(w.Queue.Letters().DeleteFrom(ctx, handler, s.ID, seen))
	}

	l, err := w.Queue.Letters().Get(ctx, handler, s.ID)
	if err != nil && l.Unreadable == "" {
		return codeOfLetter(err)
	}

	// An owner before this one has queued it, and the workers have not come to it.
	if l.QueuedAt.After(j.CreatedAt) {
		return codeDone, nil
	}

	code, err = codeOfLetter(w.Queue.RedriveFrom(ctx, handler, s.ID, seen))
	if code == codeChanged {
		// It was redriven since it was selected, by an owner before this one or by a person.
		code = codeDone
	}

	return code, err
}

func codeOfLetter(err error) (string, error) {
	switch {
	case err == nil:
		return codeDone, nil
	case errors.Is(err, deadletters.ErrNotFound):
		return codeGone, nil
	case errors.Is(err, deadletters.ErrRedriving):
		return codeWaiting, nil
	case errors.Is(err, deadletters.ErrUnreadable):
		return codeUnreadable, nil
	case errors.Is(err, deadletters.ErrChanged):
		return codeChanged, nil
	}

	return "", err
}
