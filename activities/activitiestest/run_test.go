package activitiestest_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"go.uber.org/goleak"

	"ratchet/activities"
	"ratchet/activities/activitiestest"
	"ratchet/embedded/embeddedtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// count counts minutes and records each.
func count(ctx context.Context, in struct{ Minutes int }) (int, error) {
	for i := range in.Minutes {
		select {
		case <-ctx.Done():
		case <-time.After(time.Minute):
		}

		if err := activities.RecordHeartbeat(ctx, i+1); err != nil {
			return 0, err
		}
	}

	return in.Minutes, nil
}

func TestRunTellsWhatBecameOfATask(t *testing.T) {
	activity := activities.Activity{Handle: activities.Typed(count), Heartbeat: 30 * time.Second}
	long := map[string]int{"Minutes": 30}

	for _, row := range []struct {
		is   string
		task activitiestest.Task
		want string // outcome, output or error, minutes that were counted
		stop error
	}{
		{is: "half an hour of work", task: activitiestest.Task{Activity: activity, Input: long}, want: "succeeded 30 30"},
		{is: "input of another type", task: activitiestest.Task{Activity: activity, Input: map[string]int{"Hours": 1}},
			want: "failed Worker.InvalidInput 0"},
		{is: "throttled heartbeats", task: activitiestest.Task{Activity: activity, Input: long,
			Faults: []embeddedtest.Fault{embeddedtest.Throttle("SendTaskHeartbeat").From(8)}}, want: "lost States.Timeout 2"}, // between one and two minutes, whatever the jitter
		{is: "the state's time-out", task: activitiestest.Task{Activity: activity, Input: long, TimeoutAfter: 150 * time.Second},
			want: "lost States.Timeout 3"},
		{is: "the handler's time-out", task: activitiestest.Task{Input: long,
			Activity: activities.Activity{Handle: activity.Handle, Timeout: 90 * time.Second}}, want: "failed Worker.Deadline 2"},
		{is: "an answer whose response is lost", task: activitiestest.Task{Activity: activity, Input: long,
			Faults: []embeddedtest.Fault{embeddedtest.LoseAnswer("SendTaskSuccess").Next(1)}}, want: "unknown 30 30"},
		{is: "a stop", task: activitiestest.Task{Activity: activity, Input: long, StopAfter: 10 * time.Minute,
			Config: func(c *activities.Config) { c.ErrorPrefix = "Order." }}, want: "failed Order.WorkerShutdown 11", stop: activities.ErrForced},
		{is: "a parked task", task: activitiestest.Task{Activity: activities.Activity{
			Handle: func(context.Context, activities.Task) (any, error) { return nil, activities.ErrParked },
		}}, want: "parked  0"},
	} {
		t.Run(row.is, func(t *testing.T) {
			began := time.Now()
			r := activitiestest.Run(t, row.task)

			if got := fmt.Sprint(r.Done.Outcome, " ", string(r.Output), r.Error, " ", len(r.Progress)); got != row.want {
				t.Errorf("got %s (%s), want %s", got, r.Cause, row.want)
			}

			if !errors.Is(r.Stop, row.stop) {
				t.Errorf("Run: %v, want %v", r.Stop, row.stop)
			}

			if took := time.Since(began); took > time.Minute {
				t.Errorf("took %v of real time", took)
			}

			for i, at := range r.Heartbeats {
				if i > 0 && at-r.Heartbeats[i-1] > 10*time.Second {
					t.Errorf("no heartbeat for %v", at-r.Heartbeats[i-1])
				}
			}
		})
	}
}
