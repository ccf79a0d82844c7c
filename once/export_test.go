package once

import "time"

// What the tests of package once_test use beside the exported names.

// SetMargin sets how far a caller's clock may be off the service's.
func (c *Config) SetMargin(d time.Duration) { c.margin = d }

// SetNow sets the clock of Lock.Since.
func (c *LocksConfig) SetNow(now func() time.Time) { c.now = now }
