package once

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"ratchet/internal/dynamo"
)

// Bounds of what is stored as text, in bytes.
const (
	maxFailure   = 1 << 10 // a failure's message
	maxCode      = 128
	maxOperation = 128
	maxBy        = 256 // the name of an operator
	maxReason    = 1 << 10
)

// Failure is a final failure. It is stored under the key, and every later caller gets an
// equal one. After a replay, errors.Is and errors.As still find the error that
// [Config.Failures] registers under the code.
type Failure struct {
	Code    string
	Message string
	cause   error
}

// Fail makes err a final failure with a code. Work that returns it is not repeated. The code is cut at 128
// bytes, and the message, where it is stored, at 1 KiB.
func Fail(code string, err error) error {
	f := &Failure{Code: cut(code, maxCode), cause: err}
	if err != nil {
		f.Message = err.Error()
	}

	return f
}

func (f *Failure) Error() string {
	if f.Message == "" {
		return f.Code
	}

	return f.Message
}

func (f *Failure) Unwrap() error { return f.cause }

// NotBegun marks an error of work that had no effect, for example because its input was refused
// before anything was sent. The key is free then. The mark counts if err alone is marked, or is
// wrapped by errors that wrap nothing else: in a join, the other errors may have come after an effect.
func NotBegun(err error) error { return &notBegunError{err} }

type notBegunError struct{ error }

func (e *notBegunError) Unwrap() error { return e.error }

// IsNotBegun reports whether an error of work says by [NotBegun] that there was no effect.
func IsNotBegun(err error) bool {
	for ; err != nil; err = errors.Unwrap(err) { // Unwrap returns nil for a join
		if _, ok := err.(*notBegunError); ok { //nolint:errorlint // a join must not count
			return true
		}
	}

	return false
}

// WithoutResult returns an error for work that was done, and whose result cannot be stored: its claim is
// completed without one. It wraps err and [ErrResultUnavailable], which alone says nothing of this work:
// it may have come from a claim that the work made.
func WithoutResult(err error) error { return &withoutResultError{err} }

type withoutResultError struct{ error }

func (e *withoutResultError) Error() string {
	return ErrResultUnavailable.Error() + ": " + e.error.Error()
}

func (e *withoutResultError) Unwrap() []error { return []error{ErrResultUnavailable, e.error} }

func isWithoutResult(err error) bool {
	_, ok := err.(*withoutResultError) //nolint:errorlint // an error that wraps it may be another claim's
	return ok
}

// Is reports whether target is a failure with the same code.
func (f *Failure) Is(target error) bool {
	other, ok := target.(*Failure)
	return ok && other.Code == f.Code
}

// finalFailure returns the final failure that an error of the work stands for: Fail made it,
// or Config.Failures registers it.
func (c *Claims) finalFailure(err error) (*Failure, bool) {
	var f *Failure
	if errors.As(err, &f) && f.Code != "" {
		return &Failure{Code: f.Code, Message: err.Error(), cause: err}, true
	}

	// Sorted, so that an error with two codes always gets the same one.
	for _, code := range slices.Sorted(maps.Keys(c.cfg.Failures)) {
		if errors.Is(err, c.cfg.Failures[code]) {
			return &Failure{Code: code, Message: err.Error(), cause: err}, true
		}
	}

	return nil, false
}

type storedFailure struct {
	Code    string `json:"code"`
	Message string `json:"message,omitempty"`
}

// encode returns the failure as it is stored.
func (f *Failure) encode() []byte {
	stored := storedFailure{Code: cut(f.Code, maxCode), Message: cut(f.Message, maxFailure)}
	text, _ := json.Marshal(stored) // strings never fail

	return text
}

// cut makes a text valid UTF-8 of at most n bytes.
func cut(text string, n int) string { return dynamo.Cut(strings.ToValidUTF8(text, "?"), n) }

// decodeFailure reads a stored failure. Its cause is the error that is registered for its
// code, if there is one.
func decodeFailure(text []byte, registered map[string]error) (*Failure, error) {
	var s storedFailure
	if err := json.Unmarshal(text, &s); err != nil {
		return nil, fmt.Errorf("%w: failure: %w", ErrCorrupt, err)
	}

	if s.Code == "" {
		return nil, fmt.Errorf("%w: failure: the code is empty", ErrCorrupt)
	}

	return &Failure{Code: s.Code, Message: s.Message, cause: registered[s.Code]}, nil
}
