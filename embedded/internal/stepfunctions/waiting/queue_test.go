package waiting

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"
)

func at(n int64) Placed { return Placed{Task{Thread: n}, n} }

// The oldest poll gets the oldest task, and a task that is put back has its old place.
func TestQueueIsFair(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := &Queue{}
		got := make([]int64, 3)
		for i := range got {
			go func() {
				task, ok := q.Take(t.Context())
				if ok {
					got[i] = task.Order
				}
			}()
			synctest.Wait()
		}

		for n := range int64(3) {
			q.Put(at(n + 1))
		}
		synctest.Wait()

		if !slices.Equal(got, []int64{1, 2, 3}) {
			t.Errorf("polls got tasks %v", got)
		}
		q.Put(at(5))
		q.Put(at(6))
		first, _ := q.Take(t.Context())
		q.Put(at(7))
		q.Put(first)

		for _, want := range []int64{5, 6, 7} {
			if task, _ := q.Take(t.Context()); task.Order != want {
				t.Errorf("task %d, want %d", task.Order, want)
			}
		}
		ended, cancel := context.WithCancel(t.Context())
		cancel()
		q.Put(at(8))

		if _, ok := q.Take(ended); ok || q.tasks.Len() != 1 {
			t.Error("a poll that had ended took a task")
		}
		q.Remove(at(8).Task)

		if q.tasks.Len() != 0 || len(q.polls) != 0 {
			t.Error("something is left")
		}
	})
}
