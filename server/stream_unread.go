package server

import (
	"sync"
	"time"

	"ratchet/operate/processes"
	"ratchet/streams"
)

// heardFor is how long the heartbeats of other processes say how far the stream is read: two heartbeats and
// a half. Older information slows no caller.
const heardFor = 25 * time.Second

// unreadStream knows how old the oldest record of the orders' stream is that is not read: by the pollers of
// this process if they hold a shard, and otherwise by the heartbeats of others. It looks only at reading.
// Records that were read and wait, for a retry or because their handler is paused, are not unread.
type unreadStream struct {
	mu      sync.Mutex
	pollers map[int]func() []streams.Lag
	next    int

	beats   map[string]int64 // of the newest look, by process
	others  time.Duration    // what the processes said whose beats had changed
	heardAt time.Time        // zero if none had
}

// follow takes a poller's lags into account until the returned function is called.
func (u *unreadStream) follow(lags func() []streams.Lag) (end func()) {
	u.mu.Lock()
	defer u.mu.Unlock()

	if u.pollers == nil {
		u.pollers = map[int]func() []streams.Lag{}
	}

	n := u.next
	u.next++
	u.pollers[n] = lags

	return func() {
		u.mu.Lock()
		defer u.mu.Unlock()

		delete(u.pollers, n)
	}
}

// own returns the age of the oldest record that the pollers of this process have not read, and whether they
// read any shard.
func (u *unreadStream) own() (age time.Duration, reads bool) {
	u.mu.Lock()
	defer u.mu.Unlock()

	for _, lags := range u.pollers {
		for _, l := range lags() {
			age, reads = max(age, l.Unread), true
		}
	}

	return age, reads
}

// hear notes what the rows of the processes say. A row whose beat is the one of the look before may be of a
// process that was killed.
func (u *unreadStream) hear(found []processes.Process, now time.Time) {
	u.mu.Lock()
	defer u.mu.Unlock()

	before := u.beats
	u.beats, u.others, u.heardAt = map[string]int64{}, 0, time.Time{}

	for _, p := range found {
		u.beats[p.ID] = p.Beat

		if beat, known := before[p.ID]; known && beat != p.Beat && p.State == processes.Live {
			u.others, u.heardAt = max(u.others, time.Duration(p.Unread)*time.Second), now
		}
	}
}

// age returns the age of the oldest record that is not read, 0 if this is not known.
func (u *unreadStream) age(now time.Time) time.Duration {
	if age, reads := u.own(); reads {
		return age
	}

	u.mu.Lock()
	defer u.mu.Unlock()

	if u.heardAt.IsZero() || now.Sub(u.heardAt) > heardFor {
		return 0
	}

	return u.others
}
