package deadletters

import "errors"

// Errors of DeadLetters.
var (
	// ErrNotFound reports that there is no dead letter with that id.
	ErrNotFound = errors.New("streams: no such dead letter")
	// ErrRedriving reports that the dead letter was put into the retry queue less than an hour ago,
	// or that another call of Redrive or Rewrite works on it.
	ErrRedriving = errors.New("streams: dead letter is being redriven")
	// ErrChanged reports that the dead letter was redriven since the caller has seen it.
	ErrChanged = errors.New("streams: the dead letter has changed since it was seen")
	// ErrUnreadable reports that the dead letter's record cannot be decoded. Such a dead letter can
	// only be deleted. A dead letter of a newer format cannot be deleted either.
	ErrUnreadable = errors.New("streams: dead letter cannot be decoded")
)
