package activities

import "time"

// pace decides how many polls of an activity may be open at a time. It looks at how fast
// polls are answered: a task that was waiting for its poll calls for more, a poll that
// waited for its task for fewer. The number doubles per round of full polls; after a
// quota error it is halved, and beyond that half the number grows slowly.
type pace struct {
	most    int // Activity.Pollers
	loops   int // that run
	allowed int

	threshold int // below it every full poll allows one more
	full      int // full polls since the last growth beyond the threshold
	halvedAt  time.Time
}

const (
	// fewestPolls are open even when there is nothing to do, so that a poll that hangs does not keep
	// tasks from arriving.
	fewestPolls = 2
	// fullWithin: a task that arrives so soon had been waiting.
	fullWithin = time.Second
	// idleAfter: a poll that has waited so long is one too many.
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
		// Never below fewestPolls, and never raised to it: Activity.Pollers may be 1.
		p.allowed = max(p.allowed-1, min(fewestPolls, p.allowed))
	// An empty poll that returned early, or a task that had not been waiting, says nothing.
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

// exceeded takes note of a quota error. Polls that began before the last halving do not
// halve again.
func (p *pace) exceeded(began time.Time) {
	p.full = 0

	if !began.After(p.halvedAt) {
		return
	}

	p.halvedAt = time.Now()
	p.allowed = (p.allowed + 1) / 2
	p.threshold = p.allowed
}
