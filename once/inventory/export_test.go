package inventory

import "time"

// What the tests of package inventory_test use beside the exported names.

const MaxLines = maxLines

// SetEvery sets how often Run sweeps.
func (c *Config) SetEvery(d time.Duration) { c.every = d }
