package notify

import (
	"fmt"
	"math/rand/v2"
	"time"
)

// Schedule has the pauses between the attempts of a delivery. If the attempt after the last pause
// fails, the delivery is MISSED. A pause is longer by up to a fifth, at random, so that deliveries
// that failed together are not tried together.
type Schedule []time.Duration

// defaultSchedule is the schedule of Standard Webhooks: ten attempts within 75 hours and 35
// minutes, or up to 91 hours with the random parts.
func defaultSchedule() Schedule {
	return Schedule{
		5 * time.Second, 5 * time.Minute, 30 * time.Minute, 2 * time.Hour, 5 * time.Hour,
		10 * time.Hour, 14 * time.Hour, 20 * time.Hour, 24 * time.Hour,
	}
}

const maxAttempts = 64

func (s Schedule) check() error {
	if len(s) == 0 || len(s) >= maxAttempts {
		return fmt.Errorf("%w: Schedule: 1 to %d pauses, got %d", ErrInvalid, maxAttempts-1, len(s))
	}

	for i, pause := range s {
		if pause <= 0 {
			return fmt.Errorf("%w: Schedule[%d] %s: must be more than 0", ErrInvalid, i, pause)
		}
	}

	return nil
}

// after returns the pause after the nth attempt, from 1. It reports false after the last attempt.
func (s Schedule) after(n int) (time.Duration, bool) {
	if n > len(s) {
		return 0, false
	}

	pause := s[max(n, 1)-1]

	return pause + rand.N(pause/5+1), true //nolint:gosec // jitter, not a secret
}
