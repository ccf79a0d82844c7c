package idempotency

import "time"

// What the tests of package idempotency_test use beside the exported names.

// SetNow sets the clock of Retry-After.
func (c *Config) SetNow(now func() time.Time) { c.now = now }
