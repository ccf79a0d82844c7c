package server

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"ratchet/activities"
	"ratchet/queues"
	"ratchet/streams"
)

// The keys of pollHealth, in addition to "activity NAME" and "stream handler NAME".
const (
	streamPoller = "stream"
	queuePoller  = "requests queue"
	streamPages  = streamPoller + " GetRecords"
)

// failingTooLong is how long all polls of a poller may fail before the process is not ready. It can be
// short, because a refused poll fails at once; only an answered poll takes up to a minute.
const failingTooLong = 15 * time.Second

// pollHealth keeps which calls fail at the moment, and when each last succeeded. Its keys stand for the
// polls of an activity, the polls of the queue, and the operations and handlers of the stream.
type pollHealth struct {
	mu      sync.Mutex
	failing map[string]failure
	good    map[string]time.Time // the newest good answer of each poller
}

// failure is a series of failed calls with no success in between.
type failure struct {
	since time.Time // when the first call failed
	err   error     // of the newest call
}

// note takes the result of a call.
func (p *pollHealth) note(poller string, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()

	if err == nil {
		delete(p.failing, poller)

		if p.good == nil {
			p.good = map[string]time.Time{}
		}
		p.good[poller] = time.Now()

		return
	}

	if p.failing == nil {
		p.failing = map[string]failure{}
	}

	// since stays at the first failure. The error is the newest, which is the one to show.
	f, failing := p.failing[poller]
	if !failing {
		f.since = time.Now()
	}
	f.err = err
	p.failing[poller] = f
}

// lastGood returns the whole seconds since the newest good answer of each activity, of the queue and
// of the stream.
func (p *pollHealth) lastGood(now time.Time) map[string]int64 {
	p.mu.Lock()
	defer p.mu.Unlock()

	seconds := map[string]int64{}

	for poller, at := range p.good {
		if poller == queuePoller || poller == streamPages || strings.HasPrefix(poller, "activity ") {
			seconds[poller] = int64(now.Sub(at).Seconds())
		}
	}

	return seconds
}

// checks returns a failed check for each poller with the prefix whose calls have failed for too
// long.
func (p *pollHealth) checks(now time.Time, prefix, permission string) []HealthCheck {
	p.mu.Lock()
	defer p.mu.Unlock()

	var checks []HealthCheck

	for _, poller := range slices.Sorted(maps.Keys(p.failing)) {
		f := p.failing[poller]
		if age := now.Sub(f.since); strings.HasPrefix(poller, prefix) && age >= failingTooLong {
			checks = append(checks, failed(poller, fmt.Sprintf("every poll has failed for %s: %v", age.Round(time.Second), f.err), actionFor(f.err, permission)))
		}
	}

	return checks
}

// causes names the failing pollers with the prefix and their errors, "" if there are none.
func (p *pollHealth) causes(prefix string) string {
	p.mu.Lock()
	defer p.mu.Unlock()

	var causes []string

	for _, poller := range slices.Sorted(maps.Keys(p.failing)) {
		if strings.HasPrefix(poller, prefix) {
			causes = append(causes, fmt.Sprintf("%s: %v", poller, p.failing[poller].err))
		}
	}

	return strings.Join(causes, "; ")
}

// actionFor says what a person should do about polls that fail.
func actionFor(err error, permission string) string {
	// The text is searched, because each service has its own types of errors.
	text := err.Error()

	switch {
	case strings.Contains(text, "AccessDenied"):
		return "give the worker's role the permission " + permission
	case strings.Contains(text, "Throttl"), strings.Contains(text, "LimitExceeded"):
		return "the account's quota is used up: lower calls-per-second or slots, run fewer workers, or ask AWS for a higher quota"
	case strings.Contains(text, "DoesNotExist"), strings.Contains(text, "NotFound"):
		return "run `ratchet init` with the same prefix, region and account"
	}

	return "check the network, the endpoint and the credentials"
}

// activityEvents notes the results of polls, and calls next.
func (h *health) activityEvents(next activities.Events) activities.Events {
	events := next
	events.Polled = func(activity string, got bool, took time.Duration) {
		h.polls.note("activity "+activity, nil)
		next.Polled(activity, got, took)
	}
	events.PollFailed = func(activity string, err error) {
		h.polls.note("activity "+activity, err)
		next.PollFailed(activity, err)
	}

	return events
}

// queueEvents notes the results of polls, and calls next.
func (h *health) queueEvents(next queues.Events) queues.Events {
	events := next
	events.Polled = func(messages int, took time.Duration) {
		h.polls.note(queuePoller, nil)
		next.Polled(messages, took)
	}
	events.PollFailed = func(err error) {
		h.polls.note(queuePoller, err)
		next.PollFailed(err)
	}

	return events
}

// streamEvents notes gaps and the failures while the stream is read and handled. It calls next.Handled.
// It replaces Page, Fault and Gap, so next must not have these. The other events of next stay.
func (h *health) streamEvents(next streams.Events) streams.Events {
	events := next
	events.Page = func(streams.Page) { h.polls.note(streamPages, nil) }
	events.Fault = func(op, _ string, err error) { h.polls.note(streamPoller+" "+op, err) }
	events.Handled = func(r streams.Handled) {
		h.polls.note(streamPoller+" handler "+r.Record.Handler, r.Err)
		next.Handled(r)
	}
	events.Gap = h.gap

	return events
}
