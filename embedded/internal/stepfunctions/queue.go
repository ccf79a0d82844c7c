package stepfunctions

import (
	"context"
	"sync"

	"ratchet/embedded/internal/ordered"
	"ratchet/embedded/internal/stepfunctions/keys"
)

// queuedTask is a task that waits for a worker.
type queuedTask struct {
	execution       keys.Execution
	thread, attempt int64
}

// queue gives the tasks of one activity to the waiting polls, the oldest task to the
// oldest poll. A task is either in the heap or with exactly one poll.
type queue struct {
	mu    sync.Mutex
	tasks ordered.Keys[queuedTask]
	polls []*poll
}

// poll is a GetActivityTask that waits.
type poll struct {
	// task receives the poll's task. It has a buffer of one, so that match never blocks.
	task chan taskOrder
	done bool // the poll has its task, or has given up
}

// taskOrder is a task with its place in the queue.
type taskOrder struct {
	queuedTask
	order int64
}

// put adds a task, or puts one back in its old place.
func (q *queue) put(t taskOrder) {
	q.mu.Lock()
	defer q.mu.Unlock()

	q.tasks.Set(t.queuedTask, t.order)
	q.match()
}

// remove removes a task that is over.
func (q *queue) remove(t queuedTask) {
	q.mu.Lock()
	defer q.mu.Unlock()

	q.tasks.Remove(t)
}

// match gives tasks to polls while there are both. The caller holds q.mu.
func (q *queue) match() {
	for len(q.polls) > 0 && q.tasks.Len() > 0 {
		p := q.polls[0]
		// Cleared, so that the array does not keep the poll in memory.
		q.polls[0] = nil
		q.polls = q.polls[1:]

		if p.done {
			continue
		}

		key, order, _ := q.tasks.Min()
		q.tasks.Remove(key)
		p.done = true
		p.task <- taskOrder{key, order}
	}
}

// take waits for a task until ctx ends; ok is false then. A task that arrives at the same
// moment goes back to its place.
func (q *queue) take(ctx context.Context) (t taskOrder, ok bool) {
	// A caller that has gone already must not be given a task.
	if ctx.Err() != nil {
		return t, false
	}

	p := &poll{task: make(chan taskOrder, 1)}
	q.mu.Lock()
	q.polls = append(q.polls, p)
	q.match()
	q.mu.Unlock()

	select {
	case t = <-p.task:
		return t, true
	case <-ctx.Done():
	}

	q.mu.Lock()
	defer q.mu.Unlock()

	// match sets done under the same lock, so a task is either still queued or already in the channel.
	if !p.done {
		p.done = true
		q.removePoll(p)

		return t, false
	}

	// The task came after ctx had ended: it returns to its place, and another poll may take it.
	t = <-p.task
	q.tasks.Set(t.queuedTask, t.order)
	q.match()

	return taskOrder{}, false
}

// removePoll removes a poll that has given up. The caller holds q.mu.
func (q *queue) removePoll(p *poll) {
	for i, other := range q.polls {
		if other == p {
			q.polls = append(q.polls[:i], q.polls[i+1:]...)
			return
		}
	}
}

// queue returns the queue of an activity. The queue and its tasks outlive a deleted activity.
func (s *Service) queue(arn string) *queue {
	s.queuesMu.Lock()
	defer s.queuesMu.Unlock()

	q := s.queues[arn]
	if q == nil {
		q = &queue{}
		s.queues[arn] = q
	}

	return q
}
