package lanes

import (
	"sync"
	"time"
)

// ProcessCalls is the gate of all pollers of this process: a call that crashes ends the whole
// process.
var ProcessCalls Gate

// Gate lets the handler calls of a process run at the same time, except for a call that is tried
// alone.
type Gate struct {
	mu      sync.Mutex
	running int  // calls that Enter has begun
	alone   bool // a call is tried alone, or waits for the running calls to end
	changed notifier
	longest time.Duration // how long a call of any poller may take

	restUntil time.Time // no call is tried alone before this time, after a running call did not end in time
}

// expect notes how long a call may take.
func (g *Gate) expect(longest time.Duration) {
	g.mu.Lock()
	defer g.mu.Unlock()

	g.longest = max(g.longest, longest)
}

// Enter begins a call that may run beside others. It waits while a call is tried alone.
func (g *Gate) Enter() {
	for {
		g.mu.Lock()
		if !g.alone {
			g.running++
			g.mu.Unlock()

			return
		}
		changed := g.changed.wait()
		g.mu.Unlock()

		<-changed
	}
}

// Leave ends a call that was begun with Enter.
func (g *Gate) Leave() {
	g.mu.Lock()
	defer g.mu.Unlock()

	g.running--
	if g.alone && g.running == 0 {
		g.changed.notify()
	}
}

// EnterAlone begins a call that runs alone. It keeps other calls from beginning, and waits until
// the running calls have ended, at most as long as a call may take. It returns 0 if the call may
// run now. Otherwise it returns the pause before the next try: another call is tried alone, or a
// running call has not ended. In the second case no call is tried alone for as long as the other
// calls have waited.
func (g *Gate) EnterAlone() (pause time.Duration) {
	g.mu.Lock()
	defer g.mu.Unlock()

	atMost := g.longest

	if rest := time.Until(g.restUntil); rest > 0 {
		return rest
	}

	if g.alone {
		return AlonePause
	}
	// Set before the wait, so that no further call begins and running only falls.
	g.alone = true

	timeout := time.NewTimer(atMost)
	defer timeout.Stop()

	for ended := false; g.running > 0; {
		if ended {
			g.alone, g.restUntil = false, time.Now().Add(atMost)
			g.changed.notify()

			return max(atMost, AlonePause)
		}
		changed := g.changed.wait()
		// Unlocked during the wait: leave needs the lock.
		g.mu.Unlock()

		select {
		case <-changed:
		case <-timeout.C:
			ended = true
		}
		g.mu.Lock()
	}

	return 0
}

// LeaveAlone ends a call that was begun with EnterAlone.
func (g *Gate) LeaveAlone() {
	g.mu.Lock()
	defer g.mu.Unlock()

	g.alone = false
	g.changed.notify()
}

// IsAlone reports whether a call is tried alone, or is about to be.
func (g *Gate) IsAlone() bool {
	g.mu.Lock()
	defer g.mu.Unlock()

	return g.alone
}
