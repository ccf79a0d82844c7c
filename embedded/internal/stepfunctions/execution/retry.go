package execution

import "math"

// findRetrier returns the index of the entry that allows another attempt, or -1. Only the
// first entry that matches counts, also when its attempts are used up.
func (t *turn) findRetrier(th *thread, f *failure) int {
	s := t.state(th)
	for i := range s.Retry {
		if !f.matches(s.Retry[i].ErrorEquals) {
			continue
		}

		if i < len(th.attempts) && th.attempts[i] >= s.Retry[i].MaxAttempts || s.Retry[i].MaxAttempts == 0 {
			return -1
		}

		return i
	}

	return -1
}

// retry runs the state again after the interval of its retrier i.
func (t *turn) retry(th *thread, i int) {
	r := &t.state(th).Retry[i]
	if th.attempts == nil {
		th.attempts = make([]int64, len(t.state(th).Retry))
	}

	delay := float64(r.IntervalSeconds) * math.Pow(r.BackoffRate, float64(th.attempts[i]))
	if r.MaxDelaySeconds > 0 {
		delay = min(delay, float64(r.MaxDelaySeconds))
	}

	delay = min(delay, maxWait)
	if r.FullJitter {
		delay *= t.env.Random.Float64()
	}

	th.attempts[i]++

	th.retries++
	th.run = 0 // another attempt of a distributed Map is another Map Run
	th.phase, th.wake = backoff, t.now+int64(delay*1000)
	if th.wake <= t.now {
		t.work = append(t.work, workItem{th: th})
	}
}
