package sqs

import (
	"slices"
	"time"

	"ratchet/embedded/internal/store"
)

// group is a message group of a FIFO queue.
type group struct {
	seqs  []uint64 // its messages in order
	ready uint64   // its message in queue.ready; 0 means none
}

// next returns the number of a new message. Numbers grow, also over restarts, because
// they follow the clock. They repeat only when the clock is set back while the queue is
// empty and the engine restarts.
func (q *queue) next(now time.Time) uint64 {
	// Numbers follow the clock, because the clock also passes the numbers of messages that were
	// deleted before a restart.
	q.last = max(q.last+1, uint64(now.UnixMicro()))
	return q.last
}

// add puts a message into the index. Messages are added in the order of their numbers.
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

	// recover adds messages that may have been received before: these are in flight and not delayed.
	if m.Visible > now {
		q.hide(m, m.Received > 0)
	} else {
		q.show(m)
	}
}

// hide makes the message invisible until m.Visible. If inFlight is false, the message is delayed.
func (q *queue) hide(m *message, inFlight bool) {
	// Also if the message is in flight already: ChangeMessageVisibility moves the time.
	q.hidden.Set(m.seq, m.Visible)

	if inFlight && !m.inFlight {
		m.inFlight = true
		q.inFlight++
	}

	q.updateReady(m)

	// A waiting receive sleeps until the next message becomes visible. That time has changed.
	if first, _, _ := q.hidden.Min(); first == m.seq {
		q.wake()
	}
}

// show makes the message visible.
func (q *queue) show(m *message) {
	q.hidden.Remove(m.seq)

	if m.inFlight {
		m.inFlight = false
		q.inFlight--
	}

	q.updateReady(m)
}

// updateReady puts the message into q.ready or takes it out, as its state demands.
func (q *queue) updateReady(m *message) {
	if q.fifo {
		q.updateReadyGroup(m.Group)
		return
	}

	// removeFromIndex has taken a deleted message out of q.messages before.
	if _, hidden := q.hidden.Order(m.seq); hidden || q.messages[m.seq] == nil {
		q.ready.Remove(m.seq)
		return
	}

	q.ready.Set(m.seq, int64(m.seq))
	q.wake()
}

// updateReadyGroup is updateReady for a FIFO queue. A group stands in q.ready with its first message, if that message is
// visible, also while later messages of the group are in flight.
// Source: LocalStack's recordings of AWS (tests/aws/services/sqs,
// test_fifo_group_visibility_extends_with_change_message_visibility)
func (q *queue) updateReadyGroup(name string) {
	g := q.groups[name]
	// Removed first, because the first message of the group may be another one now.
	if g.ready != 0 {
		q.ready.Remove(g.ready)
		g.ready = 0
	}

	if len(g.seqs) == 0 {
		delete(q.groups, name)
		return
	}

	first := g.seqs[0]
	// A hidden first message holds up its whole group, which keeps its order.
	if _, hidden := q.hidden.Order(first); hidden {
		return
	}

	g.ready = first
	q.ready.Set(first, int64(first))
	q.wake()
}

// wake makes waiting receives look again.
func (q *queue) wake() {
	// Closing wakes all receives at once; the new channel is for the next change.
	close(q.changed)
	q.changed = make(chan struct{})
}

// removeFromIndex takes a message out of the index.
func (q *queue) removeFromIndex(m *message) {
	delete(q.messages, m.seq)
	q.age.Remove(m.seq)

	if q.fifo {
		g := q.groups[m.Group]
		// Messages are mostly deleted in their order.
		if g.seqs[0] == m.seq {
			g.seqs = g.seqs[1:]
		} else if i, ok := slices.BinarySearch(g.seqs, m.seq); ok {
			g.seqs = slices.Delete(g.seqs, i, i+1)
		}
	}

	// The message leaves hidden and the count of messages in flight. updateReady does not list it, because
	// it is no longer among the messages.
	q.show(m)
}

// remove deletes a message from the disk and from the index.
func (q *queue) remove(b *store.Batch, m *message) {
	b.Delete(contentKey(q.ID, m.seq))
	b.Delete(stateKey(q.ID, m.seq))
	q.removeFromIndex(m)
}

// advance brings the queue to the time now: messages past the retention are removed, messages that were
// hidden long enough become visible, and old deduplication ids are forgotten.
func (q *queue) advance(b *store.Batch, now int64) {
	// Expired messages are removed before others become visible, so that no receive gets
	// one of them.
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

		// The id is deleted from the disk, too: recover would remember it again.
		b.Delete(dedupKey(q.ID, k))
		delete(q.dedup, k)
		q.dedupAge.Remove(k)
	}
}

// nextVisible returns when the next hidden message becomes visible. ok is false when no
// message is hidden.
func (q *queue) nextVisible() (at int64, ok bool) {
	_, at, ok = q.hidden.Min()
	return at, ok
}
