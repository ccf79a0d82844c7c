package execution

import (
	"fmt"
	"strings"
	"testing"
)

// A failure keeps no large value: a cause has as many characters as one in the API, and the texts
// of a Fail state have the size of a document at most.
func TestLargeValuesOfFailures(t *testing.T) {
	const large = `$join($map([1..40000], function(){ 'éééééééééé' }))` // 800,000 bytes

	for _, row := range []struct{ is, state, begins string }{
		{
			is: "a Condition", begins: "FAILED States.QueryEvaluationError: An error occurred",
			state: `"Type":"Choice","Choices":[{"Condition":"{% ` + large + ` %}","Next":"B"}]`,
		},
		{
			is: "a Timestamp", begins: "FAILED States.DataLimitExceeded: The state/task 'A'",
			state: `"Type":"Wait","Timestamp":"{% ` + large + ` %}","Next":"B"`,
		},
		{
			is: "a Cause", begins: "FAILED States.DataLimitExceeded: The state/task 'A'",
			state: `"Type":"Fail","Error":"E","Cause":"{% ` + large + ` %}"`,
		},
	} {
		definition := `"A":{` + row.state + `}`
		if !strings.Contains(row.state, "Fail") {
			definition += `,"B":{"Type":"Succeed"}`
		}

		x := newMemoryExecution(t, queryDefinition(definition))
		if err := x.start(`{}`); err != nil {
			t.Fatal(err)
		}

		got := x.outcome(t)
		if !strings.HasPrefix(got, row.begins) {
			t.Errorf("%s: %.200s", row.is, got)
		}

		if n := len([]rune(x.state().Cause)); n > maxCause {
			t.Errorf("%s: a cause of %d characters", row.is, n)
		}
	}
}

// The variables of an execution have 10 MiB together, also the variables of states in JSONata.
func TestVariablesOfQueriesHaveALimit(t *testing.T) {
	const states = maxVariables/MaxDocument + 2

	var b strings.Builder
	for i := range states {
		name, next := "A", fmt.Sprintf(`"Next":"S%d"`, i+1)
		if i > 0 {
			name = fmt.Sprintf("S%d", i)
		}

		if i == states-1 {
			next = `"End":true`
		}

		fmt.Fprintf(&b, `,"%s":{"Type":"Pass","Assign":{"v%d":"{%% $states.input %%}"},%s}`, name, i, next)
	}

	x := newMemoryExecution(t, queryDefinition(b.String()[1:]))
	if err := x.start(`"` + strings.Repeat("a", MaxDocument-100) + `"`); err != nil {
		t.Fatal(err)
	}

	x.finish(t)

	if got := x.outcome(t); !strings.HasPrefix(got, "FAILED States.DataLimitExceeded: ") {
		t.Errorf("%.200s", got)
	}
}
