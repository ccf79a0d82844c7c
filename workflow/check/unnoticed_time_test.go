package check_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"ratchet/workflow"
	"ratchet/workflow/check"
)

// timedSteps is the first definition of the trial, in which time moves an order from A to B after an hour, and from B
// to D a day later.
func timedSteps(t testing.TB) *workflow.Definition {
	t.Helper()

	spec := trialDefinitions(t)[0].Spec()
	spec.Transitions[0].After = &workflow.After{Delay: time.Hour}
	spec.Transitions[3].From = []workflow.State{"A"}
	spec.Transitions = append(spec.Transitions, workflow.Transition{Event: "stop", From: []workflow.State{"B"}, To: "D", After: &workflow.After{Delay: 24 * time.Hour}})

	d, err := workflow.New(spec)
	if err != nil {
		t.Fatal(err)
	}

	return d
}

// TestTimeThatAnExecutionDoesNotNotice: in each row an execution waits while time moves the order.
func TestTimeThatAnExecutionDoesNotNotice(t *testing.T) {
	d, cfg := timedSteps(t), trialConfig()
	cfg.Tasks["await"] = func(p map[string]any) check.Effect {
		state, _ := p["state"].(string)
		return check.Effect{Awaits: workflow.State(state), Parks: true}
	}
	cfg.Tasks["person"] = func(map[string]any) check.Effect { return check.Effect{Parks: true} }

	rows := []struct {
		name, first, states string
		// want are parts of the findings, none if the execution notices.
		want []string
	}{
		{name: "a Wait, then a look", first: "W", states: `"W":{"Type":"Wait","Seconds":7200,"Next":"Look"},`},
		{name: "a Wait, then a task with a fence", first: "W", states: `"W":{"Type":"Wait","Seconds":7200,"Next":"Go"},`},
		{name: "a Wait that lasts no time", first: "W", states: `"W":{"Type":"Wait","Seconds":0,"Next":"Choose"},`},
		{name: "a Wait, then the end", first: "W", states: `"W":{"Type":"Wait","Seconds":7200,"Next":"N"},"N":{"Type":"Choice","Choices":[{STATE,"StringEquals":"A","Next":"Done"}],"Default":"Choose"},`,
			want: []string{"W: while the execution waits here, time applies go and the order is B: it ends without a task that looks where the order is"}},
		{name: "a person's answer", first: "P", states: `"P":{"Type":"Task","Resource":"${personArn}","TimeoutSeconds":99,"ResultPath":null,"Next":"Look"},`,
			want: []string{"P: while the execution waits here, time applies go and the order is B: nothing answers the task's token because of it"}},
		{name: "a wait for the state to which time leads, and that can come later", first: "P", states: `"P":{"Type":"Task","Resource":"${awaitArn}","Parameters":{"state":"B"},"TimeoutSeconds":99,"ResultPath":"$.order","Catch":[MOVED],"Next":"Choose"},`},
		{name: "a wait for a state that can be reached for some time", first: "P", states: `"P":{"Type":"Task","Resource":"${awaitArn}","Parameters":{"state":"C"},"TimeoutSeconds":99,"ResultPath":"$.order","Catch":[MOVED],"Next":"Choose"},`,
			want: []string{"P: while the execution waits here, time applies go and the order is B: the task waits on, because C can still be reached"}},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			report := runOn(t, soundMachine(row.first, row.states), d, cfg)

			var got []string
			for _, f := range report.Findings {
				if f.Code != "time-unnoticed" {
					continue
				}
				got = append(got, f.State+": "+f.Message)

				if f.Severity != check.SeverityWarning || len(f.Path) != 2 || f.Path[1].State != f.State {
					t.Errorf("severity %s, path %v", f.Severity, f.Path)
				}
			}

			if !slices.Equal(got, row.want) {
				t.Errorf("findings %q, want %q:\n%s", got, row.want, report.Text())
			}
		})
	}
}

// TestAPathNamesTimeAsTheMover: a refusal that time alone brings about needs no other caller.
func TestAPathNamesTimeAsTheMover(t *testing.T) {
	report := runOn(t, soundMachine("W", `"W":{"Type":"Wait","Seconds":7200,"Next":"G"},
"G":{"Type":"Task",GO,LIMITS,"ResultPath":"$.order","Next":"Fin"},`), timedSteps(t), trialConfig())

	i := slices.IndexFunc(report.Findings, func(f check.Finding) bool { return f.Code == "overtaken-not-caught" })
	if i < 0 || !strings.Contains(report.Text(), "time applies go") {
		t.Errorf("%s", report.Text())
	}
}
