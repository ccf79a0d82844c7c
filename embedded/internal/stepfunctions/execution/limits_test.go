package execution

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"
)

// A history that is full ends with the failure, and has no event more.
// Source: https://docs.aws.amazon.com/step-functions/latest/dg/service-quotas.html
func TestAHistoryHasSoManyEvents(t *testing.T) {
	x := newMemoryExecution(t, `{"StartAt":"P","States":{"P":{"Type":"Pass","Next":"C"},"C":{"Type":"Choice","Choices":[`+
		`{"Variable":"$.stop","IsPresent":true,"Next":"E"}],"Default":"P"},"E":{"Type":"Succeed"}}}`)
	if err := x.start(`{}`); err != nil {
		t.Fatal(err)
	}

	for x.state().Status == Running {
		if err := x.sleep(1); err != nil {
			t.Fatal(err)
		}
	}

	last := x.events[len(x.events)-1]
	if len(x.events) != maxEvents || last.Type != ExecutionFailed || x.state().LastEvent != maxEvents {
		t.Errorf("%d events, the last is %v of %d", len(x.events), last.Name(x.machine), x.state().LastEvent)
	}
}

// An inline Map runs up to 40 iterations at a time, also if maxConcurrency is larger.
// Source: https://docs.aws.amazon.com/step-functions/latest/dg/state-map-inline.html
func TestIterationsAtATime(t *testing.T) {
	for limit, want := range map[int]int{0: 40, 7: 7, 40: 40, 100: 40} {
		x := newMemoryExecution(t, fmt.Sprintf(`{"StartAt":"M","States":{"M":{"Type":"Map","MaxConcurrency":%d,"ItemProcessor":{"StartAt":"A","States":{`+
			`"A":{"Type":"Task","Resource":"arn:aws:states:us-east-1:000000000000:activity:work","End":true}}},"End":true}}}`, limit))
		if err := x.start("[1" + strings.Repeat(",1", 49) + "]"); err != nil {
			t.Fatal(err)
		}

		if len(x.queue) != want {
			t.Errorf("MaxConcurrency %d: %d tasks", limit, len(x.queue))
		}
	}
}

// The results of branches and of iterations are a document together.
func TestResultsOfAJoinAreBounded(t *testing.T) {
	large := `{"Type":"Pass","Result":"` + strings.Repeat("x", 150<<10) + `","End":true}`

	for is, state := range map[string]string{
		"branches":   `"Type":"Parallel","Branches":[{"StartAt":"A","States":{"A":` + large + `}},{"StartAt":"B","States":{"B":` + large + `}}]`,
		"iterations": `"Type":"Map","ItemProcessor":{"StartAt":"A","States":{"A":` + large + `}}`,
	} {
		x := newMemoryExecution(t, `{"StartAt":"S","States":{"S":{`+state+`,"ResultPath":null,"End":true}}}`)
		if err := x.start(`[1,2]`); err != nil {
			t.Fatal(err)
		}

		if s := x.state(); s.Status != Failed || s.Error != dataLimitError {
			t.Errorf("%s: %v %s", is, s.Status, s.Error)
		}
	}
}

// An execution can be redriven for 14 days after its end.
// Source: https://docs.aws.amazon.com/step-functions/latest/dg/redrive-executions.html
func TestRedriveWindow(t *testing.T) {
	s := &State{Status: Failed, Stopped: epoch.UnixMilli()}
	end := epoch.Add(14 * 24 * time.Hour)

	if why := s.NotRedrivable(end); why != "" {
		t.Error(why)
	}

	if why := s.NotRedrivable(end.Add(time.Millisecond)); !strings.Contains(why, "14 day") {
		t.Errorf("after 14 days: %q", why)
	}
}

// Timers that were due before a stop fire first: an execution that has timed out cannot be stopped.
func TestAStopComesAfterTheDeadline(t *testing.T) {
	x := newMemoryExecution(t, `{"TimeoutSeconds":5,"StartAt":"W","States":{"W":{"Type":"Wait","Seconds":60,"End":true}}}`)
	if err := x.start(`{}`); err != nil {
		t.Fatal(err)
	}
	x.now = x.now.Add(5 * time.Second)

	err := x.step(func(e *Env, s *State) (*Turn, error) { return e.Stop(s, "Stopped", "") })
	if s := x.state(); !errors.Is(err, ErrNotRunning) || s.Status != TimedOut || s.Error != "" {
		t.Errorf("%v %s, %v", s.Status, s.Error, err)
	}
}

// An execution that has succeeded is not redriven, so its threads are dropped.
func TestASucceededExecutionHasNoThreads(t *testing.T) {
	x := newMemoryExecution(t, `{"StartAt":"A","States":{"A":{"Type":"Succeed"}}}`)
	if err := x.start(`{}`); err != nil || x.state().Status != Succeeded || len(x.state().threads) > 0 {
		t.Errorf("%+v, %v", x.state(), err)
	}
}

// What a path selects is a document, also if it selects one place several times.
func TestSelectionsAreBounded(t *testing.T) {
	for _, state := range []string{
		`"Type":"Pass","OutputPath":"$.a[0,0,0]","End":true`,
		`"Type":"Succeed","InputPath":"$.a[0,0,0]"`,
		`"Type":"Task","Resource":"arn:aws:states:us-east-1:000000000000:activity:work","InputPath":"$.a[0,0,0]","End":true`,
	} {
		x := newMemoryExecution(t, `{"StartAt":"S","States":{"S":{`+state+`}}}`)
		if err := x.start(`{"a":["` + strings.Repeat("x", 100<<10) + `"]}`); err != nil {
			t.Fatal(err)
		}

		if s := x.state(); s.Status != Failed || s.Error != dataLimitError {
			t.Errorf("%s: %v %s", state, s.Status, s.Error)
		}
	}
}
