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
	// CodeWaiting: it was queued before, and waits for a worker.
	CodeWaiting    = "waiting"
	CodeUnreadable = "unreadable"
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
		s.Code = CodeUnreadable
	case !l.QueuedAt.IsZero():
		s.Code = CodeWaiting
	}

	return s
}

// Look implements [Work].
func (w DeadLetters) Look(ctx context.Context, j Job, id string) (Subject, error) {
	l, err := w.Queue.Letters().Get(ctx, j.Filter.Handler, id)
	switch {
	case errors.Is(err, deadletters.ErrNotFound):
		return Subject{ID: id, Code: CodeGone}, nil
	case err != nil && l.Unreadable == "":
		return Subject{}, err
	}

	return w.subject(l), nil
}

// Act implements [Work].
func (w DeadLetters) Act(ctx context.Context, j Job, s Subject) (code string, err error) {
	handler := j.Filter.Handler
	if w.Discard {
		return codeOfLetter(w.Queue.Letters().Delete(ctx, handler, s.ID))
	}

	l, err := w.Queue.Letters().Get(ctx, handler, s.ID)
	if err != nil && l.Unreadable == "" {
		return codeOfLetter(err)
	}

	// An owner before this one has queued it, and the worker has failed with it since or not yet come to it.
	seen, _ := strconv.Atoi(s.Mark)
	if l.Redrives > seen || l.QueuedAt.After(j.CreatedAt) {
		return CodeDone, nil
	}

	return codeOfLetter(w.Queue.Redrive(ctx, handler, s.ID))
}

func codeOfLetter(err error) (string, error) {
	switch {
	case err == nil:
		return CodeDone, nil
	case errors.Is(err, deadletters.ErrNotFound):
		return CodeGone, nil
	case errors.Is(err, deadletters.ErrRedriving):
		return CodeWaiting, nil
	case errors.Is(err, deadletters.ErrUnreadable):
		return CodeUnreadable, nil
	}

	return "", err
}
