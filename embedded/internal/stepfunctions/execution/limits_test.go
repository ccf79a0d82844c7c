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
	w := newWorld(t, `{"StartAt":"P","States":{"P":{"Type":"Pass","Next":"C"},"C":{"Type":"Choice","Choices":[`+
		`{"Variable":"$.stop","IsPresent":true,"Next":"E"}],"Default":"P"},"E":{"Type":"Succeed"}}}`)
	if err := w.start(`{}`); err != nil {
		t.Fatal(err)
	}

	for w.state().Status == Running {
		if err := w.sleep(1); err != nil {
			t.Fatal(err)
		}
	}

	last := w.events[len(w.events)-1]
	if len(w.events) != maxEvents || last.Type != ExecutionFailed || w.state().LastEvent != maxEvents {
		t.Errorf("%d events, the last is %v of %d", len(w.events), last.Name(w.machine), w.state().LastEvent)
	}
}

// An inline Map runs up to 40 iterations at a time, also if maxConcurrency is larger.
// Source: https://docs.aws.amazon.com/step-functions/latest/dg/state-map-inline.html
func TestIterationsAtATime(t *testing.T) {
	for limit, want := range map[int]int{0: 40, 7: 7, 40: 40, 100: 40} {
		w := newWorld(t, fmt.Sprintf(`{"StartAt":"M","States":{"M":{"Type":"Map","MaxConcurrency":%d,"ItemProcessor":{"StartAt":"A","States":{`+
			`"A":{"Type":"Task","Resource":"arn:aws:states:us-east-1:000000000000:activity:work","End":true}}},"End":true}}}`, limit))
		if err := w.start("[1" + strings.Repeat(",1", 49) + "]"); err != nil {
			t.Fatal(err)
		}

		if len(w.queue) != want {
			t.Errorf("MaxConcurrency %d: %d tasks", limit, len(w.queue))
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
		w := newWorld(t, `{"StartAt":"S","States":{"S":{`+state+`,"ResultPath":null,"End":true}}}`)
		if err := w.start(`[1,2]`); err != nil {
			t.Fatal(err)
		}

		if s := w.state(); s.Status != Failed || s.Error != dataLimitError {
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
	w := newWorld(t, `{"TimeoutSeconds":5,"StartAt":"W","States":{"W":{"Type":"Wait","Seconds":60,"End":true}}}`)
	if err := w.start(`{}`); err != nil {
		t.Fatal(err)
	}
	w.now = w.now.Add(5 * time.Second)

	err := w.step(func(e *Env, s *State) (*Turn, error) { return e.Stop(s, "Stopped", "") })
	if s := w.state(); !errors.Is(err, ErrNotRunning) || s.Status != TimedOut || s.Error != "" {
		t.Errorf("%v %s, %v", s.Status, s.Error, err)
	}
}

// An execution that has succeeded is not redriven, so its threads are dropped.
func TestASucceededExecutionHasNoThreads(t *testing.T) {
	w := newWorld(t, `{"StartAt":"A","States":{"A":{"Type":"Succeed"}}}`)
	if err := w.start(`{}`); err != nil || w.state().Status != Succeeded || len(w.state().threads) > 0 {
		t.Errorf("%+v, %v", w.state(), err)
	}
}

// What a path selects is a document, also if it selects one place several times.
func TestSelectionsAreBounded(t *testing.T) {
	for _, state := range []string{
		`"Type":"Pass","OutputPath":"$['a','a','a']","End":true`,
		`"Type":"Succeed","InputPath":"$['a','a','a']"`,
		`"Type":"Task","Resource":"arn:aws:states:us-east-1:000000000000:activity:work","InputPath":"$['a','a','a']","End":true`,
	} {
		w := newWorld(t, `{"StartAt":"S","States":{"S":{`+state+`}}}`)
		if err := w.start(`{"a":"` + strings.Repeat("x", 100<<10) + `"}`); err != nil {
			t.Fatal(err)
		}

		if s := w.state(); s.Status != Failed || s.Error != dataLimitError {
			t.Errorf("%s: %v %s", state, s.Status, s.Error)
		}
	}
}
