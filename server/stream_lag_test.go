package server

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"
	"time"

	"ratchet/streams"
	"ratchet/transitions"
)

func TestALateStreamIsLoggedOnceAMinute(t *testing.T) {
	var out bytes.Buffer
	events := streamEvents(slog.New(slog.NewTextHandler(&out, nil)), transitions.Mapping{})

	events.Lag(streams.Lag{Shard: "s", Age: lagWarning - time.Second, ToHorizon: 24 * time.Hour})

	if out.Len() != 0 {
		t.Errorf("a shard that is hardly behind was logged: %s", &out)
	}

	for range 3 {
		events.Lag(streams.Lag{Shard: "s", Age: 2 * time.Hour, ToHorizon: 22 * time.Hour, Pending: 7})
	}

	if got := out.String(); strings.Count(got, "\n") != 1 || !strings.Contains(got, "age=2h0m0s pending=7 lostIn=22h0m0s") {
		t.Errorf("log %q, want one line with the lag", got)
	}
}

func TestALagThatEndsInLostRecordsIsAnError(t *testing.T) {
	for left, level := range map[time.Duration]string{lossAlarm: "WARN", lossAlarm - time.Second: "ERROR"} {
		var out bytes.Buffer
		streamEvents(slog.New(slog.NewTextHandler(&out, nil)), transitions.Mapping{}).Lag(streams.Lag{Shard: "s", Age: 24*time.Hour - left, ToHorizon: left})

		if !strings.Contains(out.String(), "level="+level) {
			t.Errorf("%v before the loss: %s", left, &out)
		}
	}
}
