package execution

import (
	"math"
	"slices"

	"ratchet/embedded/internal/stepfunctions/asl"
)

// matchRetrier returns the index of the first entry that matches the failure, or -1.
func (t *turn) matchRetrier(th *thread, f *failure) int {
	return slices.IndexFunc(t.state(th).Retry, func(r asl.Retrier) bool { return f.matches(r.ErrorEquals) })
}

// findRetrier returns the index of the entry that allows another attempt, or -1. Only the
// first entry that matches counts, also when its attempts are used up.
func (t *turn) findRetrier(th *thread, f *failure) int {
	i := t.matchRetrier(th, f)
	if i < 0 || th.attemptsOf(i) >= t.state(th).Retry[i].MaxAttempts {
		return -1
	}

	return i
}

// attemptsOf returns how often the retrier i has retried the state.
func (th *thread) attemptsOf(i int) int64 {
	if i < len(th.attempts) {
		return th.attempts[i]
	}

	return 0
}

// interval returns the seconds before the next attempt of the retrier i, without jitter.
func (t *turn) interval(th *thread, i int) float64 {
	r := &t.state(th).Retry[i]

	// Many attempts make this infinite. The limits below bound it.
	delay := float64(r.IntervalSeconds) * math.Pow(r.BackoffRate, float64(th.attemptsOf(i)))
	if r.MaxDelaySeconds > 0 {
		delay = min(delay, float64(r.MaxDelaySeconds))
	}

	return min(delay, maxWait)
}

// retry runs the state again after the interval of its retrier i.
func (t *turn) retry(th *thread, i int) {
	s := t.state(th)
	if th.attempts == nil {
		th.attempts = make([]int64, len(s.Retry))
	}

	delay := t.interval(th, i)
	if s.Retry[i].FullJitter {
		delay *= t.env.Random.Float64()
	}

	th.attempts[i]++

	// All attempts of all retriers, for the context object.
	th.retries++
	th.run = 0 // another attempt of a distributed Map is another Map Run
	th.phase, th.wake = backoff, t.now+int64(delay*1000)
	// Full jitter can draw 0. The attempt then follows in the same turn.
	if th.wake <= t.now {
		t.work = append(t.work, workItem{th: th})
	}
}
