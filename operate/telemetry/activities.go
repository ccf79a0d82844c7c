package telemetry

import (
	"sync"
	"time"

	"ratchet/activities"
)

var activityMetrics = []Metric{
	{"ratchet_activity_polls_total", Counter, []string{"activity", "result"}, "Polls for tasks; result is task, empty or error"},
	{"ratchet_activity_denied", Gauge, []string{"activity"}, "1 while polls of the activity are refused until a person acts"},
	{"ratchet_activity_tasks_in_flight", Gauge, []string{"activity"}, "Tasks whose handlers run"},
	{"ratchet_activity_tasks_total", Counter, []string{"activity", "outcome"}, "Tasks by how they ended; outcome is succeeded, failed, parked, lost, unanswered or unknown"},
	{"ratchet_activity_task_failures_total", Counter, []string{"activity", "error"}, "Failed tasks by the name of the error"},
	{"ratchet_activity_task_duration_seconds", Histogram, []string{"activity"}, "Time from the receipt of a task to its end"},
	{"ratchet_activity_heartbeats_total", Counter, []string{"activity", "result"}, "Heartbeats of tasks; result is ok or error"},
}

type activityInstruments struct {
	polls, tasks, failures, heartbeats counter
	took                               histogram
	denied, inFlight                   level
	errors                             *names
	running                            *sync.Map // the tokens of tasks whose handlers run
}

func newActivityInstruments(m *meter) activityInstruments {
	return activityInstruments{
		polls:      m.counter(activityMetrics, "ratchet_activity_polls_total"),
		tasks:      m.counter(activityMetrics, "ratchet_activity_tasks_total"),
		failures:   m.counter(activityMetrics, "ratchet_activity_task_failures_total"),
		heartbeats: m.counter(activityMetrics, "ratchet_activity_heartbeats_total"),
		took:       m.histogram(activityMetrics, "ratchet_activity_task_duration_seconds"),
		denied:     m.level(activityMetrics, "ratchet_activity_denied"),
		inFlight:   m.level(activityMetrics, "ratchet_activity_tasks_in_flight"),
		errors:     &names{},
		running:    &sync.Map{},
	}
}

// ExpectActivity shows the figures of an activity as 0 before anything is counted.
func (t *Telemetry) ExpectActivity(activity string) {
	in := t.activities
	in.polls.zeroFor(activity, "task", "empty", "error")
	in.tasks.zeroFor(activity, string(activities.Succeeded), string(activities.Failed), string(activities.Parked),
		string(activities.Lost), string(activities.Unanswered), string(activities.Unknown))
	in.heartbeats.zeroFor(activity, "ok", "error")
	in.denied.move(0, activity)
	in.inFlight.move(0, activity)
}

// ActivityEvents returns hooks that count and then call next.
func (t *Telemetry) ActivityEvents(next activities.Events) activities.Events {
	in := t.activities
	events := next

	events.Polled = func(activity string, got bool, took time.Duration) {
		// An empty poll is no error: Step Functions answers without a task after a minute.
		result := "empty"
		if got {
			result = "task"
		}
		in.polls.inc(activity, result)

		if next.Polled != nil {
			next.Polled(activity, got, took)
		}
	}
	events.PollFailed = func(activity string, err error) {
		in.polls.inc(activity, "error")

		if next.PollFailed != nil {
			next.PollFailed(activity, err)
		}
	}
	events.Denied = func(activity string, err error) {
		// The worker calls this hook alternately: refused, answered again, refused. So the level is
		// 0 or 1.
		by := int64(-1)
		if err != nil {
			by = 1
		}
		in.denied.move(by, activity)

		if next.Denied != nil {
			next.Denied(activity, err)
		}
	}
	t.measureTasks(&events, next)

	return events
}

// measureTasks sets the hooks about single tasks.
func (t *Telemetry) measureTasks(events *activities.Events, next activities.Events) {
	in := t.activities

	events.Started = func(task activities.Task) {
		// Tokens, not a number: Done also comes for tasks that never started.
		in.running.Store(task.Token, nil)
		in.inFlight.move(1, task.Activity)

		if next.Started != nil {
			next.Started(task)
		}
	}
	events.Heartbeat = func(task activities.Task, err error) {
		in.heartbeats.inc(task.Activity, outcome(err))

		if next.Heartbeat != nil {
			next.Heartbeat(task, err)
		}
	}
	events.Done = func(d activities.Done) {
		activity := d.Task.Activity
		in.tasks.inc(activity, string(d.Outcome))
		in.took.observe(d.Took, activity)

		// A task that arrives at the end of a drain is done without a start.
		if _, started := in.running.LoadAndDelete(d.Task.Token); started {
			in.inFlight.move(-1, activity)
		}

		if d.ErrorName != "" {
			// A handler names its errors as it likes, so the label's values are bounded.
			in.failures.inc(activity, in.errors.of(d.ErrorName))
		}

		if next.Done != nil {
			next.Done(d)
		}
	}
}
