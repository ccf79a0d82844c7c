package stepfunctions

import (
	"context"
	"sync"

	"ratchet/embedded/internal/ordered"
)

// queued is a task that waits for a worker.
type queued struct {
	execution       executionKey
	thread, attempt int64
}

// queue hands the tasks of one activity to the polls that wait, oldest task to
// oldest poll. A task is at any moment in the heap or in the hands of one poll.
type queue struct {
	mu    sync.Mutex
	tasks ordered.Keys[queued]
	polls []*poll
}

type poll struct {
	// task gets what is handed over; it has room, so that handing over never blocks.
	task chan taskOrder
	done bool // handed a task, or given up
}

type taskOrder struct {
	queued
	order int64
}

// put adds a task, or puts one back in its old place.
func (q *queue) put(t taskOrder) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.tasks.Set(t.queued, t.order)
	q.match()
}

// remove takes away a task that nobody shall get any more.
func (q *queue) remove(t queued) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.tasks.Remove(t)
}

// match hands tasks over while there are both tasks and polls.
func (q *queue) match() {
	for len(q.polls) > 0 && q.tasks.Len() > 0 {
		p := q.polls[0]
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

// take waits for a task until ctx ends; ok is false then. A task that was handed
// over at the last moment goes back.
func (q *queue) take(ctx context.Context) (t taskOrder, ok bool) {
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

	if !p.done {
		p.done = true
		q.forget(p)
		return t, false
	}
	t = <-p.task
	q.tasks.Set(t.queued, t.order)
	q.match()

	return taskOrder{}, false
}

// forget drops a poll that has given up.
func (q *queue) forget(p *poll) {
	for i, other := range q.polls {
		if other == p {
			q.polls = append(q.polls[:i], q.polls[i+1:]...)
			return
		}
	}
}
