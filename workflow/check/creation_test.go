package check_test

import (
	"bytes"
	"slices"
	"testing"

	"ratchet/workflow"
	"ratchet/workflow/check"
)

// TestATaskCreatesTheOrder: what is known after a task that creates the order, and after one that may have.
func TestATaskCreatesTheOrder(t *testing.T) {
	const again = `
"Again":{"Type":"Task","Resource":"${createArn}",LIMITS,"ResultPath":"$.order","Next":"After"},
"After":{"Type":"Choice","Choices":[{STATE,"StringEquals":"A","Next":"Choose"}]},`
	const second = `"Catch":[{"ErrorEquals":["Order.Busy"],"ResultPath":"$.failure","Next":"Second"}],`

	rows := []struct {
		name, catch, first, states string
		want, not                  string // a finding as "code state"
	}{
		{name: "it creates the order once", first: "Choose", not: "created-again Create"},
		{name: "a second one takes the order as it is", first: "Again", states: again, want: "created-again Again"},
		{name: "others may have moved it meanwhile", first: "Again", states: again, want: "no-choice-matched After"},
		{name: "one that gave up may have created the order", catch: second, first: "Choose", states: `
"Second":{"Type":"Task","Resource":"${createArn}",LIMITS,"ResultPath":"$.order","Next":"Choose"},`,
			want: "created-again Second"},
		{name: "a Retry repeats it", catch: `"Retry":[{"ErrorEquals":["Order.Busy"],"MaxAttempts":1}],`, first: "Choose", want: "created-again Create"},
		{name: "a Retry without attempts does not", catch: `"Retry":[{"ErrorEquals":["Order.Busy"],"MaxAttempts":0}],`, first: "Choose", not: "created-again Create"},
		{name: "each item of a Map creates an order of its own", first: "Each", states: `
"Each":{"Type":"Map","ItemsPath":"$.items","ResultPath":null,"ItemProcessor":{"StartAt":"One","States":{"One":{"Type":"Task","Resource":"${createArn}",LIMITS,"ResultPath":"$.order","End":true}}},"Next":"Make"},
"Make":{"Type":"Task","Resource":"${createArn}",LIMITS,"ResultPath":"$.order","Next":"Choose"},`, not: "created-again Each/One"},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			asl := bytes.Replace(soundMachine(row.first, row.states), []byte(`"ResultPath"`), []byte(row.catch+`"ResultPath"`), 1)

			// The machine begins with the Map.
			if row.first == "Each" {
				asl = bytes.Replace(asl, []byte(`"StartAt":"Create"`), []byte(`"StartAt":"Each"`), 1)
			}

			report, err := check.StateMachine(asl, trialDefinitions(t)[0], trialConfig())
			if err != nil {
				t.Fatal(err)
			}

			var got []string
			for _, f := range report.Findings {
				got = append(got, f.Code+" "+f.State)
			}

			if row.want != "" && !slices.Contains(got, row.want) || row.not != "" && slices.Contains(got, row.not) {
				t.Errorf("%v:\n%s", got, report.Text())
			}
		})
	}
}

// TestATaskThatCreatesTheOrderProvidesFacts: an event may require them.
func TestATaskThatCreatesTheOrderProvidesFacts(t *testing.T) {
	for _, provides := range []bool{true, false} {
		cfg := trialConfig()
		cfg.Requires = map[workflow.Event][]string{"go": {"stock reserved"}}
		cfg.Tasks["create"] = func(map[string]any) check.Effect {
			e := check.Effect{Creates: true}
			if provides {
				e.Provides = []string{"stock reserved"}
			}

			return e
		}

		report, err := check.StateMachine(soundMachine("Choose", ""), trialDefinitions(t)[0], cfg)
		if err != nil {
			t.Fatal(err)
		}

		missing := slices.ContainsFunc(report.Findings, func(f check.Finding) bool { return f.Code == "missing-step" })
		if missing == provides {
			t.Errorf("provides %t, missing-step %t:\n%s", provides, missing, report.Text())
		}
	}
}

// TestABranchReleasesAFact: it does not hold behind the Parallel, though another branch has ended with it.
func TestABranchReleasesAFact(t *testing.T) {
	cfg := trialConfig()
	cfg.Requires = map[workflow.Event][]string{"go": {"stock reserved"}}
	cfg.Tasks["create"] = func(map[string]any) check.Effect {
		return check.Effect{Creates: true, Provides: []string{"stock reserved"}}
	}
	cfg.Tasks["note"] = func(map[string]any) check.Effect { return check.Effect{Releases: []string{"stock reserved"}} }

	asl := soundMachine("Both", `
"Both":{"Type":"Parallel","ResultPath":null,"Branches":[
{"StartAt":"N","States":{"N":{"Type":"Task","Resource":"${noteArn}",LIMITS,"ResultPath":null,"End":true}}},
{"StartAt":"E","States":{"E":{"Type":"Pass","End":true}}}],"Next":"Choose"},`)

	report, err := check.StateMachine(asl, trialDefinitions(t)[0], cfg)
	if err != nil {
		t.Fatal(err)
	}

	if !slices.ContainsFunc(report.Findings, func(f check.Finding) bool { return f.Code == "missing-step" && f.State == "Go" }) {
		t.Error(report.Text())
	}
}

// TestAnExecutionMayEndWithoutTheOrdersPosition: it ends well with every terminal state then.
func TestAnExecutionMayEndWithoutTheOrdersPosition(t *testing.T) {
	asl := soundMachine("Choose", `"Drop":{"Type":"Pass","Parameters":{"x":1},"Next":"Done"},`)
	asl = bytes.Replace(asl, []byte(`"Default":"Done"`), []byte(`"Default":"Drop"`), 1)

	report, err := check.StateMachine(asl, trialDefinitions(t)[0], trialConfig())
	if err != nil {
		t.Fatal(err)
	}

	if report.Count(check.SeverityError) > 0 {
		t.Error(report.Text())
	}
}
