// Package counter is what the tests of the command plant mutants in.
package counter

import "errors"

// ErrFull means that the counter has reached its limit.
var ErrFull = errors.New("full")

// condition guards the write. The bound of its second part has no test.
const condition = "attribute_not_exists(id) AND version < :version"

// Counter counts up to Limit.
type Counter struct{ N, Limit int }

// Add adds one. Its tests do not reach the limit.
func (c *Counter) Add() error {
	if c.N >= c.Limit {
		return ErrFull
	}
	c.N++

	return nil
}

// Positive reports whether anything was counted.
func (c *Counter) Positive() bool { return c.N > 0 }

// Drain counts down to zero.
func (c *Counter) Drain() {
	for c.N > 0 {
		c.N--
	}
}

// Condition returns the condition.
func Condition() string { return condition }
