package telemetry

import (
	"time"

	"ratchet/queues"
)

var queueMetrics = []Metric{
	{"ratchet_queue_polls_total", Counter, []string{"result"}, "Polls of the requests' queue; result is messages, empty or error"},
	{"ratchet_queue_messages_total", Counter, []string{"disposition"}, "Messages by what became of them; disposition is deleted, dead_lettered, returned, unread or lost"},
	{"ratchet_queue_message_duration_seconds", Histogram, nil, "Time from the receipt of a message to its end"},
	{"ratchet_queue_extensions_total", Counter, []string{"result"}, "Calls that extend the visibility timeouts of messages; result is ok or error"},
}

type queueInstruments struct {
	polls, messages, extensions counter
	took                        histogram
}

func newQueueInstruments(m *meter) queueInstruments {
	in := queueInstruments{
		polls:      m.counter(queueMetrics, "ratchet_queue_polls_total"),
		messages:   m.counter(queueMetrics, "ratchet_queue_messages_total"),
		took:       m.histogram(queueMetrics, "ratchet_queue_message_duration_seconds"),
		extensions: m.counter(queueMetrics, "ratchet_queue_extensions_total"),
	}
	in.polls.zero("messages", "empty", "error")
	in.extensions.zero("ok", "error")
	in.messages.zero(string(queues.Deleted), string(queues.DeadLettered), string(queues.Returned), string(queues.Unread), string(queues.Lost))

	return in
}

// QueueEvents returns hooks that count and then call next.
func (t *Telemetry) QueueEvents(next queues.Events) queues.Events {
	in, events := t.queues, next

	events.Polled = func(messages int, took time.Duration) {
		result := "empty"
		if messages > 0 {
			result = "messages"
		}
		in.polls.inc(result)

		if next.Polled != nil {
			next.Polled(messages, took)
		}
	}
	events.PollFailed = func(err error) {
		in.polls.inc("error")

		if next.PollFailed != nil {
			next.PollFailed(err)
		}
	}
	events.Extended = func(messages int, err error) {
		in.extensions.inc(outcome(err))

		if next.Extended != nil {
			next.Extended(messages, err)
		}
	}
	events.Ended = func(e queues.Ended) {
		in.messages.inc(string(e.Disposition))
		in.took.observe(e.Took)

		if next.Ended != nil {
			next.Ended(e)
		}
	}

	return events
}
