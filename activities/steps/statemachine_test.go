package steps_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"ratchet"
	"ratchet/activities"
	"ratchet/activities/steps"
	"ratchet/workflow/check"
)

// wildcards stand for several errors. No state raises them.
var wildcards = []string{"States.ALL", "States.TaskFailed"}

// elsewhere are the errors of states and integrations that the state machine does not have.
var elsewhere = []string{
	"States.BranchFailed", "States.ExceedToleratedFailureThreshold", "States.Http.Socket",
	"States.ItemReaderFailed", "States.ResultWriterFailed",
}

// TestWorkerPoint16_EveryErrorNameHasOneRow collects the names of the service, of the worker and of the
// steps. A wait may have another row than a task for the same name.
func TestWorkerPoint16_EveryErrorNameHasOneRow(t *testing.T) {
	rows := map[steps.States]map[string][]string{steps.Tasks: {}, steps.Waits: {}}
	for _, c := range steps.ErrorClasses() {
		for _, name := range c.Errors {
			for of, names := range rows {
				if c.Of == of || c.Of == steps.AllStates {
					names[name] = append(names[name], c.Name)
				}
			}
		}
	}

	for of, names := range rows {
		for name, classes := range names {
			if len(classes) != 1 {
				t.Errorf("%s: %s has the rows %q", of, name, classes)
			}
		}
	}

	var raised []string
	for _, name := range check.ServiceErrors() {
		if !slices.Contains(wildcards, name) && !slices.Contains(elsewhere, name) {
			raised = append(raised, name)
		}
	}

	for _, name := range []string{
		activities.NameUnknown, activities.NamePanic, activities.NameDeadline, activities.NameDataLimit,
		activities.NameOutput, activities.NameShutdown,
	} {
		raised = append(raised, steps.ErrorPrefix+name)
	}

	for _, c := range activities.RetryClasses() {
		raised = append(raised, steps.ErrorPrefix+c.Name)
	}

	for _, name := range append(raised, steps.ErrorNames()...) {
		if len(rows[steps.Tasks][name]) != 1 {
			t.Errorf("%s has the rows %q", name, rows[steps.Tasks][name])
		}
	}
}

// TestOutagesOfHoursAreWaitedThrough computes the windows. Every try of an outage comes at
// most five minutes after the one before, unless the far side has asked for more.
func TestOutagesOfHoursAreWaitedThrough(t *testing.T) {
	outages := 0
	for _, c := range steps.ErrorClasses() {
		if !isOutage(c) {
			continue
		}
		outages++

		if window := c.Retry.Window(); window < 8*time.Hour || window > 26*time.Hour {
			t.Errorf("%s: the retries last %v", c.Name, window)
		}

		if longest := max(c.Retry.Longest, c.Retry.First); longest > 5*time.Minute && !strings.HasPrefix(c.Name, "asked") {
			t.Errorf("%s: a pause of %v", c.Name, longest)
		}
	}

	if want := 2 + len(activities.RetryClasses()); outages != want {
		t.Errorf("%d classes of outages, want %d", outages, want)
	}
}

// TestTechnicalFailuresEndInTheTask: no state catches what is not an answer, so that a redrive
// runs the task again, and no class is both retried and caught.
func TestTechnicalFailuresEndInTheTask(t *testing.T) {
	ending := map[string]steps.Ending{}
	for _, c := range steps.ErrorClasses() {
		for _, name := range c.Errors {
			ending[string(c.Of)+name] = c.Then
		}

		if c.Retry != nil && c.Then == steps.Caught {
			t.Errorf("%s is retried and caught", c.Name)
		}
	}

	var doc struct {
		States map[string]struct {
			Type, Resource string
			Catch          []struct{ ErrorEquals []string }
		}
	}
	if err := json.Unmarshal([]byte(ratchet.StateMachine), &doc); err != nil {
		t.Fatal(err)
	}

	caught := 0
	for name, s := range doc.States {
		of := steps.Tasks
		if s.Resource == waitResource {
			of = steps.Waits
		}

		for _, c := range s.Catch {
			for _, e := range c.ErrorEquals {
				caught++

				if ending[string(of)+e] != steps.Caught && ending[string(steps.AllStates)+e] != steps.Caught {
					t.Errorf("%s catches %s", name, e)
				}
			}
		}

		if s.Type == "Fail" {
			t.Errorf("%s is a Fail state: a redrive would only fail again", name)
		}
	}

	if caught == 0 {
		t.Error("no state catches anything; has the format of the file changed?")
	}
}

// TestWorkerPoint18_EveryStepHasATaskAndEveryTaskAStep compares placeholders with steps.
func TestWorkerPoint18_EveryStepHasATaskAndEveryTaskAStep(t *testing.T) {
	timings, err := steps.Timings(ratchet.StateMachine)
	if err != nil {
		t.Fatal(err)
	}

	for _, s := range (&steps.Steps{}).All() {
		timing, used := timings[s.Placeholder]
		if !used || timing.Heartbeat == 0 || timing.Timeout == 0 {
			t.Errorf("step %s has the timing %+v", s.Name, timing)
		}
		delete(timings, s.Placeholder)
	}

	if len(timings) > 0 {
		t.Errorf("no step for %v", timings)
	}
}
