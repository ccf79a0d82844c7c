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
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			asl := bytes.Replace(soundMachine(row.first, row.states), []byte(`"ResultPath"`), []byte(row.catch+`"ResultPath"`), 1)

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
