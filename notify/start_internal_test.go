package notify

import (
	"testing"
	"time"
)

// TestAnEndpointStartsByTheServicesClock: the record's time decides, with a margin on the side of sending,
// and not the clock of the machine that moved the order.
func TestAnEndpointStartsByTheServicesClock(t *testing.T) {
	for _, row := range []struct {
		name         string
		at, recorded time.Duration // from the endpoint's start
		wants        bool
	}{
		{"made after the start, by a clock that is behind", -time.Hour, time.Second, true},
		{"made before the start, by a clock that is ahead", time.Hour, -time.Minute, false},
		{"in the margin", 0, -startMargin, true},
		{"just before the margin", 0, -startMargin - time.Second, false},
	} {
		e := Endpoint{CreatedAt: noon}
		n := Notification{At: noon.Add(row.at), RecordedAt: noon.Add(row.recorded)}

		if got := e.wants(n); got != row.wants {
			t.Errorf("%s: %t", row.name, got)
		}
	}
}
