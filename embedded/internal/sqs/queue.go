package sqs

import (
	"slices"
	"time"

	"ratchet/embedded/internal/ordered"
	"ratchet/embedded/internal/store"
)

// record is a queue as it is stored.
type record struct {
	ID         uint64            `json:"id"`
	Name       string            `json:"name"`
	Created    int64             `json:"created"`  // ms
	Modified   int64             `json:"modified"` // ms
	Attributes map[string]string `json:"attributes"`
}

// queue is a queue and the index of its messages. The service's lock guards it.
type queue struct {
	record
	settings
	messages map[uint64]*message
	ready    ordered.Keys[uint64] // may be received now; of a FIFO queue the first of each free group
	hidden   ordered.Keys[uint64] // in flight or delayed, by when it ends
	age      ordered.Keys[uint64] // all, by when they were sent
	inFlight int
	groups   map[string]*group // FIFO
	dedup    map[string]dedup  // FIFO
	dedupAge ordered.Keys[string]
	last     uint64 // the newest message's number
	// changed is closed when there may be more to receive than before.
	changed chan struct{}
}

// message is the state of a message. Times are ms.
type message struct {
	seq uint64
	// Group and Sent are copied from the content, so that the index needs no contents.
	Group string `json:"g,omitempty"`
	Sent  int64  `json:"s"`
	// Visible is when it may be received (again). Received is the last receive, First
	// the first.
	Visible  int64 `json:"v"`
	Received int64 `json:"r,omitempty"`
	First    int64 `json:"f,omitempty"`
	// Receives counts all receives, Tries those from this queue.
	Receives int64 `json:"n,omitempty"`
	Tries    int64 `json:"t,omitempty"`
	// Nonce tells the last receive's handle from those before.
	Nonce uint64 `json:"h,omitempty"`

	inFlight bool
}

// group is a message group of a FIFO queue.
type group struct {
	seqs     []uint64 // its messages in order
	inFlight int
	listed   uint64 // its entry in queue.ready, 0 when there is none
}

// dedup is what was sent under a deduplication id.
type dedup struct {
	ID   string `json:"id"`
	Seq  uint64 `json:"seq"`
	Sent int64  `json:"sent"`
}

// dedupWindow is how long a deduplication id is remembered: developer guide,
// "Exactly-once processing in Amazon SQS".
const dedupWindow = 5 * time.Minute

func newQueue(r record) *queue {
	return &queue{record: r, settings: parse(r.Attributes), messages: map[uint64]*message{},
		groups: map[string]*group{}, dedup: map[string]dedup{}, changed: make(chan struct{})}
}

// next numbers a message: numbers grow, also over restarts, and are not reused, unless
// the clock was set back while the queue was empty.
func (q *queue) next(now time.Time) uint64 {
	q.last = max(q.last+1, uint64(now.UnixMicro()))
	return q.last
}

// add puts a message into the index.
func (q *queue) add(m *message, now int64) {
	q.last = max(q.last, m.seq)
	q.messages[m.seq] = m
	q.age.Set(m.seq, m.Sent)

	if q.fifo {
		g := q.groups[m.Group]
		if g == nil {
			g = &group{}
			q.groups[m.Group] = g
		}
		g.seqs = append(g.seqs, m.seq)
	}

	if m.Visible > now {
		q.hide(m, m.Received > 0)
	} else {
		q.show(m)
	}
}

// hide notes that the message is invisible until m.Visible.
func (q *queue) hide(m *message, inFlight bool) {
	q.hidden.Set(m.seq, m.Visible)

	if inFlight && !m.inFlight {
		m.inFlight = true
		q.inFlight++
		if q.fifo {
			q.groups[m.Group].inFlight++
		}
	}
	q.list(m)

	if first, _, _ := q.hidden.Min(); first == m.seq {
		q.wake() // who waits may have to look earlier than it thinks
	}
}

// show notes that the message is visible.
func (q *queue) show(m *message) {
	q.hidden.Remove(m.seq)

	if m.inFlight {
		m.inFlight = false
		q.inFlight--
		if q.fifo {
			q.groups[m.Group].inFlight--
		}
	}
	q.list(m)
}

// list brings what may be received now up to date with the message's state.
func (q *queue) list(m *message) {
	if q.fifo {
		q.listGroup(m.Group)
		return
	}

	if _, hidden := q.hidden.Order(m.seq); hidden || q.messages[m.seq] == nil {
		q.ready.Remove(m.seq)
		return
	}
	q.ready.Set(m.seq, int64(m.seq))
	q.wake()
}

// listGroup does so for a group: its first message, when it is visible and none of the
// group is in flight.
func (q *queue) listGroup(name string) {
	g := q.groups[name]
	if g.listed != 0 {
		q.ready.Remove(g.listed)
		g.listed = 0
	}

	if len(g.seqs) == 0 {
		delete(q.groups, name)
		return
	}

	first := g.seqs[0]
	if _, hidden := q.hidden.Order(first); hidden || g.inFlight > 0 {
		return
	}
	g.listed = first
	q.ready.Set(first, int64(first))
	q.wake()
}

func (q *queue) wake() {
	close(q.changed)
	q.changed = make(chan struct{})
}

// drop takes a message out of the index.
func (q *queue) drop(m *message) {
	delete(q.messages, m.seq)
	q.age.Remove(m.seq)

	if q.fifo {
		g := q.groups[m.Group]
		if g.seqs[0] == m.seq {
			g.seqs = g.seqs[1:]
		} else if i, ok := slices.BinarySearch(g.seqs, m.seq); ok {
			g.seqs = slices.Delete(g.seqs, i, i+1)
		}
	}
	q.show(m) // no longer hidden or in flight
}

// remove takes a message away for good.
func (q *queue) remove(b *store.Batch, m *message) {
	b.Delete(contentKey(q.ID, m.seq))
	b.Delete(stateKey(q.ID, m.seq))
	q.drop(m)
}

// settle brings the queue to the present: what is too old goes, what was hidden long
// enough is visible.
func (q *queue) settle(b *store.Batch, now int64) {
	for {
		seq, sent, ok := q.age.Min()
		if !ok || sent+q.retention.Milliseconds() > now {
			break
		}
		q.remove(b, q.messages[seq])
	}

	for {
		seq, until, ok := q.hidden.Min()
		if !ok || until > now {
			break
		}
		q.show(q.messages[seq])
	}

	for {
		k, sent, ok := q.dedupAge.Min()
		if !ok || sent+dedupWindow.Milliseconds() > now {
			break
		}
		b.Delete(dedupKey(q.ID, k))
		delete(q.dedup, k)
		q.dedupAge.Remove(k)
	}
}

// due is when something becomes visible by itself; ok is false when nothing will.
func (q *queue) due() (at int64, ok bool) {
	_, at, ok = q.hidden.Min()
	return at, ok
}
