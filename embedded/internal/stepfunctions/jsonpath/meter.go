package jsonpath

import (
	"context"
	"errors"
	"fmt"
	"time"

	"ratchet/embedded/internal/stepfunctions/places"
)

// Limits of the expressions of one field. A path of 20 characters could otherwise read a document of 256 KiB
// for hours: each .. and each filter in it can read the document once for every place.
const (
	// maxRead is how many bytes the expressions may read, and maxMade how many bytes their values may take.
	// Both are counted in advance or roughly.
	maxRead = 4 << 30
	maxMade = 64 << 20

	// maxTime is the time that the expressions have. It begins with the first freeWork bytes, so that small
	// expressions read no clock.
	maxTime  = 5 * time.Second
	freeWork = 1 << 20
	// lookEvery is how many bytes are read between two looks at the clock.
	lookEvery = 1 << 20

	// maxRunning is the number of evaluations beyond freeWork that run at a time in the process. Others wait.
	maxRunning = 4
)

var running = places.New(maxRunning)

var (
	errTime    = fmt.Errorf("the expressions of the field take longer than %v", maxTime)
	errRead    = errors.New("the expressions of the field read too much of their documents")
	errMatched = fmt.Errorf("its values take more than %d bytes", maxResult)
	errMade    = fmt.Errorf("the values of the field's expressions take more than %d bytes", maxMade)
)

// Meter bounds the work of one caller, which may evaluate fields one after the other, and fields inside of a
// field. The zero value is ready.
type Meter struct {
	// Life ends when no caller waits for values any more. Nil means never.
	Life context.Context

	inside int // evaluations that have begun and not ended
	placed bool
	read   int64
	look   int64 // the value of read at which check runs again
	made   int64
	until  time.Time // zero before the first look
	err    error
	cut    error
}

// Interrupted returns why a value is missing for a reason that says nothing about its expression
// (places.Interrupted), nil if there is no such value.
func (m *Meter) Interrupted() error { return m.cut }

// Next begins another field, unless the evaluation of one is under way.
func (m *Meter) Next() {
	if m.inside == 0 {
		*m = Meter{Life: m.Life, cut: m.cut}
	}
}

func (m *Meter) enter() { m.inside++ }

// leave ends an evaluation. The outermost one gives its place back.
func (m *Meter) leave() {
	if m.inside--; m.inside == 0 && m.placed {
		m.placed = false
		running.Free()
	}
}

// spend counts n bytes that are about to be read, and 128 bytes for the time that reading even an empty value
// takes. It returns false if the evaluation has to end.
func (m *Meter) spend(n int) bool {
	if m.err != nil {
		return false
	}

	if m.read += int64(n) + 128; m.read >= max(m.look, freeWork) {
		m.check()
	}

	return m.err == nil
}

// make counts n bytes of a value.
func (m *Meter) make(n int) bool {
	if m.made += int64(n); m.made > maxMade && m.err == nil {
		m.err = errMade
	}

	// Bytes that are made count as work, too: many large values together need a place.
	return m.spend(n)
}

// check compares the work with its limits.
func (m *Meter) check() {
	m.look = m.read + lookEvery

	life := m.Life
	if life == nil {
		life = context.Background()
	}

	if !m.placed {
		waited, err := running.Take(life, places.Longest)
		if err != nil {
			m.err, m.cut = err, err
			return
		}

		m.placed = true
		if !m.until.IsZero() {
			// The wait does not use up the field's time.
			m.until = m.until.Add(waited)
		}
	}

	now := time.Now()
	if m.until.IsZero() {
		m.until = now.Add(maxTime)
	}

	switch {
	case life.Err() != nil:
		m.err, m.cut = life.Err(), life.Err()
	case now.After(m.until):
		m.err = errTime
	case m.read > maxRead:
		m.err = errRead
	}
}
