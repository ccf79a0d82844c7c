package inspect

import (
	"strings"
	"testing"
	"time"

	"ratchet/transitions"
)

func TestATimerSaysWhatTimeDoesAndWhyItDidNot(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	timer := func(at time.Duration, unmet string) transitions.Timer {
		return transitions.Timer{Event: "expire", From: "PENDING", To: "EXPIRED", At: now.Add(at), Unmet: unmet}
	}

	for _, row := range []struct {
		name  string
		timer transitions.Timer
		want  string
		next  string
	}{
		{"later", timer(time.Hour, ""), "time makes expire (to EXPIRED) at 2026-03-01T13:00:00Z", ""},
		{"later, with a guard", timer(time.Hour, "guard g needs a missing"), "13:00:00Z, unless it is still so that guard g needs a missing", ""},
		{"now", timer(0, ""), "was due at 2026-03-01T12:00:00Z, and a worker makes it within a minute", "ratchet status"},
		{"refused by a guard", timer(-time.Hour, "guard g needs a missing"), "was due at 2026-03-01T11:00:00Z, but guard g needs a missing; it is tried again", ""},
	} {
		d := ofTimer(row.timer, now)
		if !strings.Contains(d.What, row.want) || !strings.Contains(d.Next, row.next) || d.NextTry.IsZero() == row.timer.At.After(now) {
			t.Errorf("%s: %+v", row.name, d)
		}
	}
}
