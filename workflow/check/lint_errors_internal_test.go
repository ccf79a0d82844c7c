package check

import (
	"slices"
	"testing"
)

// TestErrorsThatARetryOrCatchTakes: which errors the names of a Retry or Catch stand for, as in
// https://docs.aws.amazon.com/step-functions/latest/dg/concepts-error-handling.html.
func TestErrorsThatARetryOrCatchTakes(t *testing.T) {
	const all, failed, timeout, heartbeat = "States.ALL", "States.TaskFailed", "States.Timeout", "States.HeartbeatTimeout"
	const limit, runtime = "States.DataLimitExceeded", "States.Runtime"

	rows := []struct {
		names []string
		takes []string
		not   []string
	}{
		{[]string{all}, []string{"Mine", timeout, heartbeat, "States.NoChoiceMatched", ""}, []string{limit, runtime}},
		{[]string{failed}, []string{"Mine", "", "States.Permissions"}, []string{timeout, heartbeat, limit, runtime}},
		{[]string{timeout}, []string{timeout, heartbeat}, []string{"Mine", "", limit, runtime}},
		{[]string{heartbeat}, []string{heartbeat}, []string{timeout, "Mine"}},
		{[]string{limit}, []string{limit}, []string{"Mine", runtime}},
		// The service never catches it, even by its name.
		{[]string{runtime}, nil, []string{runtime}},
		{[]string{"Other", "Mine"}, []string{"Mine", "Other"}, []string{"Min", ""}},
		{nil, nil, []string{"Mine", ""}},
	}
	for _, row := range rows {
		for _, err := range row.takes {
			if !matches(row.names, err) {
				t.Errorf("%v does not take %q", row.names, err)
			}
		}

		for _, err := range row.not {
			if matches(row.names, err) {
				t.Errorf("%v takes %q", row.names, err)
			}
		}
	}
}

// TestErrorsThatARetryTakesUnnamed: a Retry swallows an error that no retry can change if it takes it first
// and does not name it.
func TestErrorsThatARetryTakesUnnamed(t *testing.T) {
	c := &checker{cfg: Config{Overtaken: []string{"Order.Moved"}, Retryable: []string{"Order.Busy"}, Terminal: []string{"Order.Bad"}}}
	s := &aslState{retry: []aslRetry{
		{errors: []string{"Order.Bad", "States.Timeout"}},
		{errors: []string{"States.TaskFailed"}},
		{errors: []string{"States.ALL"}},
	}}

	for i, want := range [][]string{nil, {"Order.Moved"}, nil} {
		if got := c.swallowed(s, i); !slices.Equal(got, want) {
			t.Errorf("entry %d swallows %v, want %v", i, got, want)
		}
	}

	s.retry = s.retry[1:]
	if got := c.swallowed(s, 0); !slices.Equal(got, []string{"Order.Moved", "Order.Bad"}) {
		t.Errorf("States.TaskFailed alone swallows %v", got)
	}
}
