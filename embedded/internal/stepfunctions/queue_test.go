package stepfunctions

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"
)

func at(n int64) taskOrder { return taskOrder{queuedTask{thread: n}, n} }

// The oldest poll gets the oldest task, and a task that is put back has its old place.
func TestQueueIsFair(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := &queue{}
		got := make([]int64, 3)
		for i := range got {
			go func() {
				task, ok := q.take(t.Context())
				if ok {
					got[i] = task.order
				}
			}()
			synctest.Wait()
		}

		for n := range int64(3) {
			q.put(at(n + 1))
		}
		synctest.Wait()

		if !slices.Equal(got, []int64{1, 2, 3}) {
			t.Errorf("polls got tasks %v", got)
		}
		q.put(at(5))
		q.put(at(6))
		first, _ := q.take(t.Context())
		q.put(at(7))
		q.put(first)

		for _, want := range []int64{5, 6, 7} {
			if task, _ := q.take(t.Context()); task.order != want {
				t.Errorf("task %d, want %d", task.order, want)
			}
		}
		ended, cancel := context.WithCancel(t.Context())
		cancel()
		q.put(at(8))

		if _, ok := q.take(ended); ok || q.tasks.Len() != 1 {
			t.Error("a poll that had ended took a task")
		}
		q.remove(at(8).queuedTask)

		if q.tasks.Len() != 0 || len(q.polls) != 0 {
			t.Error("something is left")
		}
	})
}
