package check_test

import (
	"slices"
	"strings"
	"testing"

	"ratchet/workflow"
	"ratchet/workflow/check"
)

// settled are the states that bring an order of the trial's definitions to its end.
const settled = `
"Look":{"Type":"Task","Resource":"${lookArn}","TimeoutSeconds":60,"HeartbeatSeconds":20,"ResultPath":"$.order","Next":"Choose"},
"Choose":{"Type":"Choice","Choices":[{"Variable":"$.order.state","StringEquals":"A","Next":"Go"},{"Variable":"$.order.state","StringEquals":"B","Next":"Fin"}],"Default":"Done"},
"Go":{"Type":"Task","Resource":"${applyArn}","TimeoutSeconds":60,"HeartbeatSeconds":20,"Parameters":{"event":"go","transitionId.$":"States.MathAdd($.order.transitionId, 1)"},"ResultPath":"$.order","Catch":[{"ErrorEquals":["Order.Moved"],"ResultPath":"$.failure","Next":"Look"}],"Next":"Fin"},
"Fin":{"Type":"Task","Resource":"${applyArn}","TimeoutSeconds":60,"HeartbeatSeconds":20,"Parameters":{"event":"fin","transitionId.$":"States.MathAdd($.order.transitionId, 1)"},"ResultPath":"$.order","Catch":[{"ErrorEquals":["Order.Moved"],"ResultPath":"$.failure","Next":"Look"}],"Next":"Done"},
"Done":{"Type":"Succeed"}`

// short abbreviates the states of a machine.
var short = strings.NewReplacer(
	"LIMITS", `"TimeoutSeconds":60,"HeartbeatSeconds":20`,
	"MOVED", `{"ErrorEquals":["Order.Moved"],"ResultPath":"$.failure","Next":"Look"}`,
	"GO", `"Resource":"${applyArn}","Parameters":{"event":"go","transitionId.$":"States.MathAdd($.order.transitionId, 1)"}`,
	"FIN", `"Resource":"${applyArn}","Parameters":{"event":"fin","transitionId.$":"States.MathAdd($.order.transitionId, 1)"}`,
	"STATE", `"Variable":"$.order.state"`,
	"ASK", `"Resource":"${lookArn}"`,
)

func soundMachine(first, states string) []byte {
	return []byte(short.Replace(`{"StartAt":"Create","TimeoutSeconds":99999,"States":{
"Create":{"Type":"Task","Resource":"${createArn}",LIMITS,"ResultPath":"$.order","Next":"` + first + `"},` + states + settled + `}}`))
}

// TestWhatTheDataSaysOfTheOrder: each value that can be the order's view carries what is known of it, through
// everything that a state machine can do with it.
func TestWhatTheDataSaysOfTheOrder(t *testing.T) {
	rows := []struct {
		name, first, states string
		definition          int
		// want are the errors, as "code state".
		want []string
	}{
		{name: "nothing is wrong", first: "Choose"},
		{name: "a Parallel with a ResultPath keeps the data from before it", first: "Both", states: `
"Both":{"Type":"Parallel","ResultPath":"$.r","Branches":[{"StartAt":"G","States":{"G":{"Type":"Task",GO,LIMITS,"ResultPath":"$.order","Catch":[{"ErrorEquals":["Order.Moved"],"Next":"E"}],"Next":"E"},"E":{"Type":"Pass","End":true}}}],"Next":"After"},
"After":{"Type":"Choice","Choices":[{STATE,"StringEquals":"B","Next":"Choose"},{STATE,"StringEquals":"C","Next":"Done"},{STATE,"StringEquals":"D","Next":"Done"}]},`,
			want: []string{"no-choice-matched After"}},
		{name: "its result has the views of its branches", first: "Both", states: `
"Both":{"Type":"Parallel","ResultSelector":{"state.$":"$[1].order.state","transitionId.$":"$[1].order.transitionId"},"ResultPath":"$.order","Branches":[
{"StartAt":"N","States":{"N":{"Type":"Pass","End":true}}},
{"StartAt":"L","States":{"L":{"Type":"Task",ASK,LIMITS,"ResultPath":"$.order","End":true}}}],"Next":"Choose"},`},
		{name: "the branch of which it takes the view has left it out", first: "Both", states: `
"Both":{"Type":"Parallel","ResultSelector":{"order.$":"$[1].order"},"Branches":[
{"StartAt":"N","States":{"N":{"Type":"Pass","End":true}}},
{"StartAt":"L","States":{"L":{"Type":"Pass","Parameters":{"x":1},"End":true}}}],"Next":"Choose"},`,
			want: []string{"missing-data Both"}},
		{name: "a view of before in a loop is refused for ever", first: "Both", states: `
"Both":{"Type":"Parallel","ResultPath":"$.r","Branches":[{"StartAt":"G","States":{"G":{"Type":"Task",GO,LIMITS,"ResultPath":"$.order","Catch":[{"ErrorEquals":["Order.Moved"],"Next":"E"}],"Next":"E"},"E":{"Type":"Pass","End":true}}}],"Next":"F"},
"F":{"Type":"Task",FIN,LIMITS,"ResultPath":"$.order","Catch":[{"ErrorEquals":["Order.Moved"],"ResultPath":null,"Next":"R"}],"Next":"Choose"},
"R":{"Type":"Wait","Seconds":0,"Next":"F"},`,
			want: []string{"busy-loop R"}},
		{name: "a Pass writes an earlier copy over the view", first: "Save", states: `
"Save":{"Type":"Pass","InputPath":"$.order","ResultPath":"$.saved","Next":"G"},
"G":{"Type":"Task",GO,LIMITS,"ResultPath":"$.order","Catch":[MOVED],"Next":"Back"},
"Back":{"Type":"Pass","InputPath":"$.saved","ResultPath":"$.order","Next":"After"},
"After":{"Type":"Choice","Choices":[{STATE,"StringEquals":"B","Next":"Choose"}]},`,
			want: []string{"no-choice-matched After"}},
		{name: "a Pass writes a constant over the view", first: "Mark", states: `
"Mark":{"Type":"Pass","Result":{"state":"A","transitionId":2},"ResultPath":"$.order","Next":"After"},
"After":{"Type":"Choice","Choices":[{STATE,"StringEquals":"B","Next":"Choose"}]},`,
			want: []string{"no-choice-matched After"}},
		{name: "a guard refuses in the state where the event is listed", first: "F", definition: 1, states: `
"F":{"Type":"Task",FIN,LIMITS,"ResultPath":"$.order","Catch":[{"ErrorEquals":["Order.Moved"],"ResultPath":null,"Next":"Where"}],"Next":"Done"},
"Where":{"Type":"Task",ASK,LIMITS,"ResultPath":"$.order","Next":"After"},
"After":{"Type":"Choice","Choices":[{STATE,"StringEquals":"A","Next":"Choose"},{STATE,"StringEquals":"C","Next":"Done"},{STATE,"StringEquals":"D","Next":"Done"}]},`,
			want: []string{"no-choice-matched After"}},
		{name: "guards that are opposites refuse nothing", first: "G", definition: 2, states: `
"G":{"Type":"Task",GO,LIMITS,"ResultPath":"$.order","Catch":[{"ErrorEquals":["Order.Moved"],"ResultPath":null,"Next":"Where"}],"Next":"Choose"},
"Where":{"Type":"Task",ASK,LIMITS,"ResultPath":"$.order","Next":"Choose"},`},
		{name: "the items of a Map without ItemSelector do not have the order", first: "Each", states: `
"Each":{"Type":"Map","ItemsPath":"$.items","ResultPath":null,"ItemProcessor":{"StartAt":"W","States":{"W":{"Type":"Choice","Choices":[{STATE,"StringEquals":"A","Next":"N"}],"Default":"N"},"N":{"Type":"Succeed"}}},"Next":"Choose"},`,
			want: []string{"lost-position Each/W"}},
		{name: "items that are positions are not followed", first: "Both", states: `
"Both":{"Type":"Parallel","ResultPath":"$.r","Branches":[{"StartAt":"L","States":{"L":{"Type":"Task",ASK,LIMITS,"End":true}}}],"Next":"Each"},
"Each":{"Type":"Map","ItemsPath":"$.r","ResultPath":null,"ItemProcessor":{"StartAt":"W","States":{"W":{"Type":"Choice","Choices":[{"Variable":"$.state","StringEquals":"A","Next":"N"}],"Default":"N"},"N":{"Type":"Succeed"}}},"Next":"Choose"},`,
			want: []string{"lost-position Each/W"}},
		{name: "with it they have", first: "Each", states: `
"Each":{"Type":"Map","ItemsPath":"$.items","ItemSelector":{"order.$":"$.order"},"ResultPath":null,"ItemProcessor":{"StartAt":"W","States":{"W":{"Type":"Choice","Choices":[{STATE,"StringEquals":"A","Next":"N"}]},"N":{"Type":"Succeed"}}},"Next":"Choose"},`},
		{name: "the Parameters of a Parallel replace the order", first: "Both", states: `
"Both":{"Type":"Parallel","Parameters":{"x":1},"ResultPath":null,"Branches":[{"StartAt":"W","States":{"W":{"Type":"Choice","Choices":[{STATE,"StringEquals":"A","Next":"N"}],"Default":"N"},"N":{"Type":"Succeed"}}}],"Next":"Choose"},`,
			want: []string{"lost-position Both/W"}},
		{name: "a task without ResultPath replaces the order", first: "N", states: `
"N":{"Type":"Task","Resource":"${noteArn}",LIMITS,"Next":"After"},
"After":{"Type":"Choice","Choices":[{STATE,"StringEquals":"A","Next":"Choose"}],"Default":"Done"},`,
			want: []string{"lost-position After"}},
		{name: "a Catch without ResultPath replaces the order", first: "G", states: `
"G":{"Type":"Task",GO,LIMITS,"ResultPath":"$.order","Catch":[{"ErrorEquals":["Order.Moved"],"Next":"After"}],"Next":"Choose"},
"After":{"Type":"Choice","Choices":[{STATE,"StringEquals":"A","Next":"Choose"}],"Default":"Done"},`,
			want: []string{"lost-position After"}},
		{name: "the cause of a refusal is the position", first: "G", states: `
"G":{"Type":"Task",GO,LIMITS,"ResultPath":"$.order","Catch":[{"ErrorEquals":["Order.Moved"],"ResultPath":"$.failure","Next":"Told"}],"Next":"Choose"},
"Told":{"Type":"Pass","Parameters":{"order.$":"States.StringToJson($.failure.Cause)"},"Next":"After"},
"After":{"Type":"Choice","Choices":[{STATE,"StringEquals":"A","Next":"Choose"},{STATE,"StringEquals":"B","Next":"Choose"},{STATE,"StringEquals":"C","Next":"Done"},{STATE,"StringEquals":"D","Next":"Done"}]},`},
		{name: "a variable keeps the view from before", first: "Keep", states: `
"Keep":{"Type":"Pass","Assign":{"kept.$":"$.order"},"Next":"G"},
"G":{"Type":"Task",GO,LIMITS,"ResultPath":"$.order","Catch":[MOVED],"Next":"After"},
"After":{"Type":"Choice","Choices":[{"Variable":"$kept.state","StringEquals":"B","Next":"Choose"}]},`,
			want: []string{"no-choice-matched After"}},
		{name: "a branch fails with a name of its own, which a Catch takes", first: "Both", states: `
"Both":{"Type":"Parallel","ResultPath":null,"Branches":[{"StartAt":"Out","States":{"Out":{"Type":"Fail","Error":"Mine"}}}],"Catch":[{"ErrorEquals":["Mine"],"ResultPath":"$.failure","Next":"Choose"}],"Next":"Done"},`},
		{name: "the Catch of that name leads to a task that is refused", first: "Both", states: `
"Both":{"Type":"Parallel","ResultPath":null,"Branches":[{"StartAt":"Out","States":{"Out":{"Type":"Fail","Error":"Mine"}}}],"Catch":[{"ErrorEquals":["Mine"],"ResultPath":"$.failure","Next":"F"}],"Next":"Done"},
"F":{"Type":"Task",FIN,LIMITS,"ResultPath":"$.order","Next":"Choose"},`,
			want: []string{"illegal-event F", "overtaken-not-caught F"}},
		{name: "a distributed Map tolerates the failure of its items", first: "Each", states: `
"Each":{"Type":"Map","ItemsPath":"$.items","ItemSelector":{"order.$":"$.order"},"ToleratedFailurePercentage":100,"ResultPath":null,"ItemProcessor":{"ProcessorConfig":{"Mode":"DISTRIBUTED","ExecutionType":"STANDARD"},"StartAt":"G","States":{"G":{"Type":"Task",GO,LIMITS,"End":true}}},"Next":"Look"},`},
		{name: "one that tolerates some fails with more of them", first: "Each", states: `
"Each":{"Type":"Map","ItemsPath":"$.items","ItemSelector":{"order.$":"$.order"},"ToleratedFailurePercentage":50,"ResultPath":null,"ItemProcessor":{"ProcessorConfig":{"Mode":"DISTRIBUTED","ExecutionType":"STANDARD"},"StartAt":"G","States":{"G":{"Type":"Task",GO,LIMITS,"End":true}}},"Next":"Look"},`,
			want: []string{"overtaken-not-caught Each/G"}},
		{name: "one that does not fails with a name of its own", first: "Each", states: `
"Each":{"Type":"Map","ItemsPath":"$.items","ItemSelector":{"order.$":"$.order"},"ResultPath":null,"ItemProcessor":{"ProcessorConfig":{"Mode":"DISTRIBUTED","ExecutionType":"STANDARD"},"StartAt":"G","States":{"G":{"Type":"Task",GO,LIMITS,"End":true}}},"Catch":[MOVED],"Next":"Look"},`,
			want: []string{"overtaken-not-caught Each/G"}},
		{name: "a repeat of the same event and id is answered as before", first: "G", definition: 1, states: `
"G":{"Type":"Task",GO,LIMITS,"ResultPath":"$.got","Catch":[{"ErrorEquals":["Order.Busy"],"ResultPath":"$.failure","Next":"Again"},MOVED],"Next":"Look"},
"Again":{"Type":"Task",GO,LIMITS,"ResultPath":"$.order","Catch":[MOVED],"Next":"Look"},`},
		{name: "all tasks that carry the id of one view are answered alike", first: "G", definition: 1, states: `
"G":{"Type":"Task",GO,LIMITS,"ResultPath":null,"Catch":[MOVED],"Next":"Again"},
"Again":{"Type":"Task",GO,LIMITS,"ResultPath":"$.order","Next":"Choose"},`},
		{name: "also when the first of them was refused", first: "G", definition: 1, states: `
"G":{"Type":"Task",GO,LIMITS,"ResultPath":"$.order","Catch":[{"ErrorEquals":["Order.Moved"],"ResultPath":null,"Next":"Again"}],"Next":"Choose"},
"Again":{"Type":"Task",GO,LIMITS,"ResultPath":null,"Catch":[MOVED],"Next":"Choose"},`,
			want: []string{"stale-order-data Again"}},
		{name: "another caller may have made the request with its id", first: "U", definition: 1, states: `
"U":{"Type":"Task","Resource":"${applyArn}","Parameters":{"event":"go"},LIMITS,"ResultPath":null,"Catch":[{"ErrorEquals":["Order.Moved"],"ResultPath":null,"Next":"Same"}],"Next":"Look"},
"Same":{"Type":"Task",GO,LIMITS,"ResultPath":"$.order","Catch":[MOVED],"Next":"After"},
"After":{"Type":"Choice","Choices":[{STATE,"StringEquals":"A","Next":"Choose"}]},`,
			want: []string{"no-choice-matched After"}},
		{name: "an event whose id was assigned is not repeated under it", first: "U", definition: 1, states: `
"U":{"Type":"Task","Resource":"${applyArn}","Parameters":{"event":"go"},LIMITS,"ResultPath":null,"Catch":[MOVED],"Next":"Same"},
"Same":{"Type":"Task",GO,LIMITS,"ResultPath":"$.order","Catch":[{"ErrorEquals":["Order.Moved"],"ResultPath":"$.failure","Next":"Look"}],"Next":"Choose"},`,
			want: []string{"stale-order-data Same"}},
		{name: "one without an id is refused, because it was applied", first: "G", definition: 1, states: `
"G":{"Type":"Task","Resource":"${applyArn}","Parameters":{"event":"go"},LIMITS,"ResultPath":null,"Retry":[{"ErrorEquals":["Order.Busy"]}],"Catch":[{"ErrorEquals":["Order.Moved"],"ResultPath":null,"Next":"Where"}],"Next":"Look"},
"Where":{"Type":"Task",ASK,LIMITS,"ResultPath":"$.order","Next":"After"},
"After":{"Type":"Choice","Choices":[{STATE,"StringEquals":"C","Next":"Done"},{STATE,"StringEquals":"D","Next":"Done"}]},`,
			want: []string{"no-choice-matched After"}},
		{name: "a member beside the position leaves it as it was", first: "N", definition: 1, states: `
"N":{"Type":"Task","Resource":"${noteArn}",LIMITS,"ResultPath":"$.order.note","Next":"G"},
"G":{"Type":"Task",GO,LIMITS,"ResultPath":null,"Catch":[MOVED],"Next":"Late"},
"Late":{"Type":"Task",FIN,LIMITS,"ResultPath":"$.order","Catch":[MOVED],"Next":"Choose"},`,
			want: []string{"stale-order-data Late"}},
		{name: "a task with two ids may carry the wrong one", first: "Keep", states: `
"Keep":{"Type":"Pass","Assign":{"kept.$":"$.order"},"Next":"G"},
"G":{"Type":"Task",GO,LIMITS,"ResultPath":"$.order","Catch":[MOVED],"Next":"Two"},
"Two":{"Type":"Task","Resource":"${applyArn}","Parameters":{"event":"fin","transitionId.$":"States.MathAdd($.order.transitionId, 1)","other.$":"States.MathAdd($kept.transitionId, 1)"},LIMITS,"ResultPath":"$.order","Catch":[MOVED],"Next":"Choose"},`,
			want: []string{"lost-position Two"}},
		{name: "an order that exists stays where it is if the task fails that creates it", first: "G", definition: 1, states: `
"G":{"Type":"Task",GO,LIMITS,"ResultPath":"$.order","Catch":[MOVED],"Next":"Again"},
"Again":{"Type":"Task","Resource":"${createArn}",LIMITS,"ResultPath":"$.order","Catch":[{"ErrorEquals":["Order.Busy"],"ResultPath":"$.failure","Next":"Where"}],"Next":"Choose"},
"Where":{"Type":"Task",ASK,LIMITS,"ResultPath":"$.order","Next":"After"},
"After":{"Type":"Choice","Choices":[{STATE,"StringEquals":"B","Next":"Choose"},{STATE,"StringEquals":"C","Next":"Done"},{STATE,"StringEquals":"D","Next":"Done"}]},`},
	}
	definitions := trialDefinitions(t)
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			d := definitions[row.definition]
			if row.definition == 1 && !strings.Contains(row.states, `"F":`) {
				d = withoutGuards(t, d)
			}

			report, err := check.StateMachine(soundMachine(row.first, row.states), d, trialConfig())
			if err != nil {
				t.Fatal(err)
			}

			var got []string
			for _, f := range report.Findings {
				if f.Severity == check.SeverityError && f.Code != "terminal-state-not-accepted" {
					got = append(got, f.Code+" "+f.State)
				}
			}

			for _, want := range row.want {
				if !slices.Contains(got, want) {
					t.Errorf("no %s:\n%s", want, report.Text())
				}
			}

			if len(row.want) == 0 && len(got) > 0 {
				t.Errorf("%v:\n%s", got, report.Text())
			}
		})
	}
}

// withoutGuards returns the definition without its guards.
func withoutGuards(t testing.TB, d *workflow.Definition) *workflow.Definition {
	spec := d.Spec()
	for i := range spec.Transitions {
		spec.Transitions[i].Guards = nil
	}

	plain, err := workflow.New(spec)
	if err != nil {
		t.Fatal(err)
	}

	return plain
}
