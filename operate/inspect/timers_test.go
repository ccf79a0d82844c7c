package inspect

import (
	"errors"
	"strings"
	"testing"
	"time"

	"ratchet/transitions"
)

func TestATimerSaysWhatTimeDoesAndWhyItDidNot(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	unknown := errors.New("the order is of version 7")

	for _, row := range []struct {
		name    string
		in      time.Duration
		unmet   string
		version error
		overdue string
		want    string
	}{
		{"later", time.Hour, "", nil, "", "time makes expire (to EXPIRED) at 2026-03-01T13:00:00Z"},
		{"later, with a guard", time.Hour, "guard g needs a missing", nil, "", "13:00:00Z, unless it is still so that guard g needs a missing"},
		{"later, of another version", time.Hour, "", unknown, "", "at 2026-03-01T13:00:00Z"},
		{"now", 0, "", nil, "a worker makes it within a minute", "was due at 2026-03-01T12:00:00Z: a worker"},
		{"late", -time.Hour, "", nil, "no worker has made it; `ratchet status`", "was due at 2026-03-01T11:00:00Z: no worker"},
		{"refused by a guard", -time.Hour, "guard g needs a missing", nil, "guard g needs a missing; it is tried again", "11:00:00Z: guard g needs a missing; it is tried again"},
		{"of another version", -time.Hour, "", unknown, "version 7", "11:00:00Z: the order is of version 7"},
	} {
		timer := Timer{Timer: transitions.Timer{Event: "expire", From: "PENDING", To: "EXPIRED", At: now.Add(row.in), Unmet: row.unmet}}
		timer.Overdue = overdue(timer.Timer, row.version, now)

		if !strings.Contains(timer.Overdue, row.overdue) || (row.overdue == "") != (timer.Overdue == "") {
			t.Errorf("%s: overdue %q", row.name, timer.Overdue)
		}

		if d := ofTimer(timer); !strings.Contains(d.What, row.want) || d.Event != "expire" || d.NextTry.IsZero() == timer.At.After(now) {
			t.Errorf("%s: %+v", row.name, d)
		}
	}
}
