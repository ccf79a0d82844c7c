package server

import (
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"ratchet/activities"
	"ratchet/queues"
)

func TestTheRuntimesEventsReachTheDebugLogWithoutSecrets(t *testing.T) {
	var out strings.Builder
	log := slog.New(slog.NewTextHandler(&out, &slog.HandlerOptions{Level: slog.LevelDebug}))
	task := activities.Task{Token: "secret", Activity: "Pay", Worker: "w", Input: []byte(`{"card":"secret"}`)}
	message := queues.Message{ID: "m-1", Queue: "requests", Body: "secret"}

	a := activityEvents(log)
	a.Polled("Pay", true, time.Second)
	a.PollFailed("Pay", errors.New("no network"))
	a.Started(task)
	a.Heartbeat(task, errors.New("throttled"))
	a.Done(activities.Done{Task: task, Outcome: activities.Failed, ErrorName: "Order.Declined"})

	q := queueEvents(log)
	q.Polled(3, time.Second)
	q.PollFailed(errors.New("no network"))
	q.Extended(3, nil)
	q.Ended(queues.Ended{Message: message, Outcome: queues.Done(), Disposition: queues.Deleted})

	if strings.Contains(out.String(), "secret") {
		t.Errorf("the log holds a token, an input or a body:\n%s", &out)
	}

	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	for i, want := range []string{
		"activity=Pay task=true took=1s",
		`activity=Pay err="no network"`,
		"task.activity=Pay",
		"err=throttled",
		"outcome=failed error=Order.Declined",
		"messages=3 took=1s",
		`err="no network"`,
		"messages=3 err=<nil>",
		"message=requests/m-1 outcome=done disposition=deleted",
	} {
		if i >= len(lines) || !strings.Contains(lines[i], want) {
			t.Errorf("line %d lacks %s:\n%s", i, want, &out)
		}
	}
}

// TestAFailureWithoutANameIsAWarning: a mistake of a step is in the log of a worker at its usual level.
func TestAFailureWithoutANameIsAWarning(t *testing.T) {
	var out strings.Builder

	a := activityEvents(slog.New(slog.NewTextHandler(&out, nil)))
	task := activities.Task{Token: "secret", Activity: "fetch", Worker: "w", Input: []byte(`{"card":"secret"}`)}

	a.Done(activities.Done{Task: task, Outcome: activities.Failed, ErrorName: "Order.Declined", Err: errors.New("declined")})
	a.Done(activities.Done{Task: task, Outcome: activities.Succeeded})
	a.Done(activities.Done{Task: task, Outcome: activities.Failed, ErrorName: "Order.Unknown", Err: errors.New("no such shelf")})

	if got := out.String(); strings.Count(got, "\n") != 1 || !strings.Contains(got, "level=WARN") || !strings.Contains(got, "task.activity=fetch") ||
		!strings.Contains(got, `err="no such shelf"`) || strings.Contains(got, "secret") {
		t.Errorf("the log has\n%s", got)
	}
}
