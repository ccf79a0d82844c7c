package server

import (
	"log/slog"
	"strings"
	"time"

	"ratchet/activities"
	"ratchet/queues"
	"ratchet/streams"
	"ratchet/transitions"
)

// activityEvents logs the polls, tasks and heartbeats of an activity worker at level debug, and a failure without a
// name as a warning. The worker itself logs the other faults that need an operator.
func activityEvents(log *slog.Logger) activities.Events {
	return activities.Events{
		Polled: func(activity string, got bool, took time.Duration) {
			log.Debug("polled an activity", "activity", activity, "task", got, "took", took)
		},
		PollFailed: func(activity string, err error) {
			log.Debug("a poll of an activity failed", "activity", activity, "err", err)
		},
		Started: func(t activities.Task) { log.Debug("task started", "task", t) },
		Heartbeat: func(t activities.Task, err error) {
			log.Debug("heartbeat sent", "task", t, "err", err)
		},
		Done: func(d activities.Done) {
			log.Debug("task ended",
				"task", d.Task,
				"outcome", d.Outcome,
				"error", d.ErrorName,
				"ran", d.Ran,
				"took", d.Took)

			// No table of errors has it, so it is most likely a mistake of the step. It uses up the step's retries, and
			// until then only the execution's history has the text.
			if d.Outcome == activities.Failed && strings.HasSuffix(d.ErrorName, "."+activities.NameUnknown) {
				log.Warn("a task failed with an error that has no name", "task", d.Task, "err", d.Err)
			}
		},
	}
}

// queueEvents logs the polls and messages of the requests' consumer at level debug. The consumer itself
// logs the faults that need an operator.
func queueEvents(log *slog.Logger) queues.Events {
	return queues.Events{
		Polled: func(messages int, took time.Duration) {
			log.Debug("polled the requests' queue", "messages", messages, "took", took)
		},
		PollFailed: func(err error) { log.Debug("a poll of the requests' queue failed", "err", err) },
		Extended: func(messages int, err error) {
			log.Debug("visibility extended", "messages", messages, "err", err)
		},
		Ended: func(e queues.Ended) {
			log.Debug("message ended",
				"message", e.Message,
				"outcome", e.Outcome.Kind,
				"disposition", e.Disposition,
				"ran", e.Ran,
				"took", e.Took)
		},
	}
}

// logHandled logs the calls of the stream's handlers at level debug.
func logHandled(log *slog.Logger, m transitions.Mapping) func(streams.Handled) {
	return func(h streams.Handled) {
		order, _ := m.OrderOf(h.Record.Keys)
		log.Debug("record handled",
			"handler", h.Record.Handler,
			"order", order,
			"transition", m.TransitionOf(h.Record.New),
			"attempt", h.Record.Attempt,
			"took", h.Took,
			"err", h.Err)
	}
}
