package waiting

import (
	"context"
	"sync"

	"ratchet/embedded/internal/ordered"
	"ratchet/embedded/internal/stepfunctions/keys"
)

// Task is a task that waits for a worker.
type Task struct {
	Execution       keys.Execution
	Thread, Attempt int64
}

// Queue gives the tasks of one activity to the waiting polls, the oldest task to the
// oldest poll. A task is either in the heap or with exactly one poll.
type Queue struct {
	mu    sync.Mutex
	tasks ordered.Keys[Task]
	polls []*poll
}

// poll is a GetActivityTask that waits.
type poll struct {
	// task receives the poll's task. It has a buffer of one, so that match never blocks.
	task chan Placed
	done bool // the poll has its task, or has given up
}

// Placed is a task with its place in the queue.
type Placed struct {
	Task
	Order int64
}

// Put adds a task, or puts one back in its old place.
func (q *Queue) Put(t Placed) {
	q.mu.Lock()
	defer q.mu.Unlock()

	q.tasks.Set(t.Task, t.Order)
	q.match()
}

// Remove removes a task that is over.
func (q *Queue) Remove(t Task) {
	q.mu.Lock()
	defer q.mu.Unlock()

	q.tasks.Remove(t)
}

// Len returns the number of tasks that wait.
func (q *Queue) Len() int {
	q.mu.Lock()
	defer q.mu.Unlock()

	return q.tasks.Len()
}

// match gives tasks to polls while there are both. The caller holds q.mu.
func (q *Queue) match() {
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
		p.task <- Placed{key, order}
	}
}

// Take waits for a task until ctx ends; ok is false then. A task that arrives at the same
// moment goes back to its place.
func (q *Queue) Take(ctx context.Context) (t Placed, ok bool) {
	// A caller that has gone already must not be given a task.
	if ctx.Err() != nil {
		return t, false
	}

	p := &poll{task: make(chan Placed, 1)}
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
	q.tasks.Set(t.Task, t.Order)
	q.match()

	return Placed{}, false
}

// removePoll removes a poll that has given up. The caller holds q.mu.
func (q *Queue) removePoll(p *poll) {
	for i, other := range q.polls {
		if other == p {
			q.polls = append(q.polls[:i], q.polls[i+1:]...)
			return
		}
	}
}

// Queues has the queues by name.
type Queues struct {
	mu   sync.Mutex
	list map[string]*Queue
}

// NewQueues returns a list without queues.
func NewQueues() *Queues { return &Queues{list: map[string]*Queue{}} }

// Of returns the queue of an activity. The queue and its tasks outlive a deleted activity.
func (l *Queues) Of(arn string) *Queue {
	l.mu.Lock()
	defer l.mu.Unlock()

	q := l.list[arn]
	if q == nil {
		q = &Queue{}
		l.list[arn] = q
	}

	return q
}
