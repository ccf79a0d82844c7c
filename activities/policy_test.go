package activities

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func succeed(context.Context, Task) (any, error) { return 1, nil }

func TestWhatOffloadReturnsIsCheckedLikeAnOutput(t *testing.T) {
	for _, row := range []struct {
		is      string
		offload func() (json.RawMessage, error)
		want    string // in the failure
	}{
		{is: "a panic", offload: func() (json.RawMessage, error) { panic("disk") }, want: "Worker.Panic"},
		{is: "an error", offload: func() (json.RawMessage, error) { return nil, errors.New("disk full") }, want: "disk full"},
		{is: "no JSON", offload: func() (json.RawMessage, error) { return json.RawMessage("s3:"), nil }, want: "Worker.InvalidOutput"},
		{is: "still too large", offload: func() (json.RawMessage, error) {
			return json.RawMessage(`"` + strings.Repeat("x", maxOutput) + `"`), nil
		}, want: "Worker.DataLimit"},
	} {
		t.Run(row.is, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newScript("t")
				r := begin(t, s.config(func(context.Context, Task) (any, error) { return strings.Repeat("x", maxOutput), nil }, func(c *Config) {
					c.Offload = func(context.Context, Task, json.RawMessage) (json.RawMessage, error) { return row.offload() }
				}))
				synctest.Wait()
				wantNil(t, r.stop())

				failures := s.of("SendTaskFailure")
				if len(failures) != 1 || !strings.Contains(failures[0].body, row.want) {
					t.Errorf("sent %.300v, want %s", failures, row.want)
				}
			})
		})
	}
}

func TestEveryFaultOfAConfigurationIsReported(t *testing.T) {
	_, err := New(Config{
		ErrorPrefix:  "States.",
		WorkerName:   strings.Repeat("ü", maxWorkerName+1),
		DrainTimeout: -1,
		Activities: []Activity{
			{ARN: "a", Handle: succeed, Slots: -1},
			{Handle: succeed},
			{ARN: "a", Handle: succeed, Heartbeat: time.Millisecond},
			{ARN: "b", Handle: succeed, Timeout: -1, PerSecond: -0.5},
			{ARN: "c"},
		},
	})
	if err == nil {
		t.Fatal("no error")
	}

	want := []string{
		"activities: Config.SFN must be set",
		"activities: Config.WorkerName has more than 80 characters",
		`activities: Config.ErrorPrefix starts with "States.", which is the service's own`,
		"activities: Config.DrainTimeout is -1ns, want at least 0",
		"activities: a has -1 slots and 0 pollers, want at least 1",
		"activities: activity 1 needs an ARN and a Handle",
		"activities: a is served twice",
		"activities: heartbeat of a is 1ms, want at least 1s",
		"activities: b has a timeout of -1ns and begins -0.5 tasks a second, want at least 0",
		"activities: activity 4 needs an ARN and a Handle",
	}
	if got := strings.Split(err.Error(), "\n"); strings.Join(got, "|") != strings.Join(want, "|") {
		t.Errorf("got\n%s\nwant\n%s", err, strings.Join(want, "\n"))
	}
}
