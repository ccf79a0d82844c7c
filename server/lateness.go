package server

import (
	"sync"
	"time"

	"ratchet/operate/processes"
	"ratchet/streams/poller"
)

// heardFor is how long the heartbeats of other processes say how late reactions begin: two heartbeats and
// a half. Older information slows no caller.
const heardFor = 25 * time.Second

// lateness knows how old the oldest record of the orders' stream is for which nothing was begun: by the pollers of
// this process if they hold a shard, and otherwise by the heartbeats of others. Records that wait for a retry, or
// because their handler is paused, do not count.
type lateness struct {
	mu      sync.Mutex
	pollers map[int]ageOfPoller
	next    int

	beats   map[string]int64 // of the newest look, by process
	others  time.Duration    // what the processes said whose beats had changed
	heardAt time.Time        // zero if none had
}

// ageOfPoller returns the age of the oldest record for which a poller has begun nothing, and whether it reads any shard.
type ageOfPoller func() (age time.Duration, reads bool)

// behind returns the age of the oldest record that the poller has not read, or that waits for a place of a handler.
// Handlers of Parts do not count: where their far sides are slow, orders are taken nevertheless.
func (b *Backend) behind(p *poller.Poller) ageOfPoller {
	handlers := b.handlersWithoutParts()

	return func() (age time.Duration, reads bool) {
		for _, lag := range p.Lags() {
			age, reads = max(age, lag.Unread), true
		}

		if reads {
			age = max(age, p.Waits(handlers))
		}

		return age, reads
	}
}

// follow takes a poller into account until the returned function is called.
func (l *lateness) follow(poller ageOfPoller) (end func()) {
	l.mu.Lock()
	defer l.mu.Unlock()

	if l.pollers == nil {
		l.pollers = map[int]ageOfPoller{}
	}

	n := l.next
	l.next++
	l.pollers[n] = poller

	return func() {
		l.mu.Lock()
		defer l.mu.Unlock()

		delete(l.pollers, n)
	}
}

// own returns the age of the oldest record for which the pollers of this process have begun nothing, and whether they
// read any shard.
func (l *lateness) own() (age time.Duration, reads bool) {
	l.mu.Lock()
	defer l.mu.Unlock()

	for _, poller := range l.pollers {
		one, known := poller()
		age, reads = max(age, one), reads || known
	}

	return age, reads
}

// hear notes what the rows of the processes say. A row whose beat is the one of the look before may be of a
// process that was killed.
func (l *lateness) hear(found []processes.Process, now time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()

	before := l.beats
	l.beats, l.others, l.heardAt = map[string]int64{}, 0, time.Time{}

	for _, p := range found {
		l.beats[p.ID] = p.Beat

		if beat, known := before[p.ID]; known && beat != p.Beat && p.State == processes.Live {
			l.others, l.heardAt = max(l.others, time.Duration(p.Behind)*time.Second), now
		}
	}
}

// age returns the age of the oldest record for which nothing was begun, 0 if this is not known.
func (l *lateness) age(now time.Time) time.Duration {
	if age, reads := l.own(); reads {
		return age
	}

	l.mu.Lock()
	defer l.mu.Unlock()

	if l.heardAt.IsZero() || now.Sub(l.heardAt) > heardFor {
		return 0
	}

	return l.others
}
