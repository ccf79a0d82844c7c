package notify

import "time"

// Names for the tests of package notify_test, beside the exported ones.

const FirstTry = firstTry
const MaxEndpoints = maxEndpoints
const RefreshEvery = refreshEvery

var DefaultSchedule = defaultSchedule

// SetPlaces sets how many attempts run at the same time.
func (c *Config) SetPlaces(n int) { c.places = n }

// SetNow sets the clock.
func (s *Endpoints) SetNow(now func() time.Time) { s.clock.Local = now }

// Now is the time of the clock.
func (s *Endpoints) Now() time.Time { return s.clock.Now() }
