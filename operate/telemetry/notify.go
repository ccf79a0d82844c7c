package telemetry

import (
	"strings"
	"time"

	"ratchet/notify"
)

var notifyMetrics = []Metric{
	{"ratchet_notification_attempts_total", Counter, []string{"status"}, "Attempts to deliver a notification by what the delivery is then; status is delivered, pending (it is tried again), missed (given up) or skipped (the order has no address)"},
	{"ratchet_notification_attempt_duration_seconds", Histogram, nil, "Time that an attempt took"},
	{"ratchet_notification_endpoints_disabled_total", Counter, nil, "Endpoints that this process has disabled because they failed for too long"},
}

type notifyInstruments struct {
	attempts, disabled counter
	took               histogram
}

func newNotifyInstruments(m *meter) notifyInstruments {
	in := notifyInstruments{
		attempts: m.counter(notifyMetrics, "ratchet_notification_attempts_total"),
		took:     m.histogram(notifyMetrics, "ratchet_notification_attempt_duration_seconds"),
		disabled: m.counter(notifyMetrics, "ratchet_notification_endpoints_disabled_total"),
	}
	in.attempts.zero("delivered", "pending", "missed", "skipped")
	in.disabled.zero()

	return in
}

// NotifyEvents returns hooks that count and then call next.
func (t *Telemetry) NotifyEvents(next notify.Events) notify.Events {
	in, events := t.notify, next

	events.Attempted = func(d notify.Delivery, took time.Duration) {
		in.attempts.inc(strings.ToLower(string(d.Status)))
		in.took.observe(took)

		if next.Attempted != nil {
			next.Attempted(d, took)
		}
	}
	events.Disabled = func(endpoint, reason string) {
		in.disabled.inc()

		if next.Disabled != nil {
			next.Disabled(endpoint, reason)
		}
	}

	return events
}
