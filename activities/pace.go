package activities

import "time"

// pace decides how many polls of an activity may be open at a time. It looks at how fast polls are
// answered. If a poll gets its task at once, the task was waiting, so more polls are needed. If a poll
// waits long, fewer are needed. Each poll that gets its task at once allows one more. After a quota
// error the number is halved; above that half it grows slowly.
type pace struct {
	most    int // Activity.Pollers
	loops   int // that run
	allowed int

	threshold int // below it each full poll (one that got its task at once) allows one more
	full      int // full polls since the number last grew beyond the threshold
	halvedAt  time.Time
}

const (
	// fewestPolls are open even if there is nothing to do, so that tasks arrive even while one poll
	// hangs.
	fewestPolls = 2
	// fullWithin: a task that arrives within this time was waiting before the poll began.
	fullWithin = time.Second
	// idleAfter: a poll that has waited this long is not needed.
	idleAfter = 10 * time.Second
	// recoverAfter is how many full polls allow one more beyond the threshold.
	recoverAfter = 10
)

func newPace(most int) pace {
	return pace{most: most, allowed: min(fewestPolls, most), threshold: most}
}

// missing returns how many loops to start, and counts them.
func (p *pace) missing() int {
	n := max(0, p.allowed-p.loops)
	p.loops += n

	return n
}

// leave reports whether one loop must end, and counts it.
func (p *pace) leave() bool {
	if p.loops <= p.allowed {
		return false
	}
	p.loops--

	return true
}

// answered takes note of an answered poll: whether it brought a task, and how long it
// took.
func (p *pace) answered(got bool, took time.Duration) {
	switch {
	case took >= idleAfter:
		// Not below fewestPolls. A smaller number stays: Activity.Pollers may be 1.
		p.allowed = max(p.allowed-1, min(fewestPolls, p.allowed))
	// An empty poll that returned early, and a task that was not waiting, change nothing.
	case !got || took >= fullWithin || p.allowed >= p.most:
	case p.allowed < p.threshold:
		p.allowed++
	default:
		if p.full++; p.full >= recoverAfter {
			p.full = 0
			p.allowed++
			p.threshold = p.allowed
		}
	}
}

// exceeded takes note of a quota error. If the poll began before the number was last halved, it does
// not halve the number again.
func (p *pace) exceeded(began time.Time) {
	p.full = 0

	if !began.After(p.halvedAt) {
		return
	}

	p.halvedAt = time.Now()
	p.allowed = (p.allowed + 1) / 2
	p.threshold = p.allowed
}
