package asl

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"ratchet/embedded/internal/stepfunctions/jsonpath"
)

const arn = "arn:aws:states:us-east-1:000000000000:activity:work"

// machineOf puts states into a machine that starts at A; WORK is a task's head.
func machineOf(states string) string {
	return strings.ReplaceAll(`{"StartAt":"A","States":{`+states+`}}`, "WORK", `"Type":"Task","Resource":"`+arn+`"`)
}

func TestRefusedDefinitions(t *testing.T) {
	const end = `"E":{"Type":"Succeed"}`
	for _, row := range []struct{ says, definition, code, at string }{
		{"nothing", ``, CodeMissing, ""},
		{"no JSON", `{"StartAt":`, CodeJSON, ""},
		{"no start", `{"States":{"A":{"Type":"Succeed"}}}`, CodeSchema, ""},
		{"no states", `{"StartAt":"A","States":{}}`, CodeSchema, "/States"},
		{"an unknown start", `{"StartAt":"B","States":{"A":{"Type":"Succeed"}}}`, CodeTransition, "/StartAt"},
		{"an unknown field", `{"StartAt":"A","Foo":1,"States":{"A":{"Type":"Succeed"}}}`, CodeSchema, "/Foo"},
		{"JSONata", `{"StartAt":"A","QueryLanguage":"JSONata","States":{"A":{"Type":"Succeed"}}}`, CodeSchema, "/QueryLanguage"},
		{"JSONata in a state", machineOf(`"A":{"Type":"Succeed","QueryLanguage":"JSONata","Output":"{% 1 %}"}`), CodeSchema, "/States/A/Output"},
		{"variables", machineOf(`"A":{"Type":"Pass","Assign":{"x":1},"End":true}`), CodeSchema, "/States/A/Assign"},
		{"another version", `{"StartAt":"A","Version":"2.0","States":{"A":{"Type":"Succeed"}}}`, CodeSchema, "/Version"},
		{"an unknown type", machineOf(`"A":{"Type":"Nap"}`), CodeSchema, "/States/A/Type"},
		{"neither Next nor End", machineOf(`"A":{"Type":"Pass"}`), CodeSchema, "/States/A"},
		{"both Next and End", machineOf(`"A":{"Type":"Pass","Next":"E","End":true},` + end), CodeSchema, "/States/A"},
		{"a dangling Next", machineOf(`"A":{"Type":"Pass","Next":"B"}`), CodeTransition, "/States/A/Next"},
		{"an unreachable state", machineOf(`"A":{"Type":"Succeed"},"B":{"Type":"Succeed"}`), CodeTransition, "/States/B"},
		{"no end", machineOf(`"A":{"Type":"Pass","Next":"B"},"B":{"Type":"Pass","Next":"A"}`), CodeNoEnd, "/States"},
		{"a name twice", machineOf(`"A":{"Type":"Pass","End":true},"A":{"Type":"Succeed"}`), CodeDuplicate, "/States/A"},
		{"a name twice in branches", machineOf(`"A":{"Type":"Parallel","End":true,"Branches":[{"StartAt":"X","States":{"X":{"Type":"Succeed"}}},{"StartAt":"X","States":{"X":{"Type":"Succeed"}}}]}`), CodeDuplicate, "/States/A/Branches[1]/States/X"},
		{"a long name", `{"StartAt":"` + strings.Repeat("x", 81) + `","States":{"` + strings.Repeat("x", 81) + `":{"Type":"Succeed"}}}`, CodeStateName, ""},
		{"Next out of a branch", machineOf(`"A":{"Type":"Parallel","Next":"E","Branches":[{"StartAt":"X","States":{"X":{"Type":"Pass","Next":"E"}}}]},` + end), CodeTransition, "/States/A/Branches[0]/States/X/Next"},
		{"no resource", machineOf(`"A":{"Type":"Task","End":true}`), CodeSchema, "/States/A"},
		{"a lambda", machineOf(`"A":{"Type":"Task","Resource":"arn:aws:lambda:us-east-1:000000000000:function:f","End":true}`), CodeResource, "/States/A/Resource"},
		{"an unresolved placeholder", machineOf(`"A":{"Type":"Task","Resource":"${Work}","End":true}`), CodeResource, "/States/A/Resource"},
		{"credentials", machineOf(`"A":{WORK,"Credentials":{},"End":true}`), CodeSchema, "/States/A/Credentials"},
		{"a bad path", machineOf(`"A":{WORK,"InputPath":"a","End":true}`), CodeSchema, "/States/A/InputPath"},
		{"a result path that is no reference", machineOf(`"A":{WORK,"ResultPath":"$..a","End":true}`), CodeSchema, "/States/A/ResultPath"},
		{"a bad template", machineOf(`"A":{WORK,"Parameters":{"a.$":"b"},"End":true}`), CodeSchema, "/States/A/Parameters"},
		{"an unknown function", machineOf(`"A":{WORK,"ResultSelector":{"a.$":"States.Foo()"},"End":true}`), CodeSchema, "/States/A/ResultSelector"},
		{"Seconds and its Path", machineOf(`"A":{WORK,"TimeoutSeconds":1,"TimeoutSecondsPath":"$.a","End":true}`), CodeSchema, "/States/A"},
		{"a time-out of 0", machineOf(`"A":{WORK,"TimeoutSeconds":0,"End":true}`), CodeSchema, "/States/A/TimeoutSeconds"},
		{"a time-out in a string", machineOf(`"A":{WORK,"TimeoutSeconds":"1","End":true}`), CodeSchema, "/States/A/TimeoutSeconds"},
		{"a heartbeat as long as the time-out", machineOf(`"A":{WORK,"TimeoutSeconds":5,"HeartbeatSeconds":5,"End":true}`), CodeSchema, "/States/A/HeartbeatSeconds"},
		{"a wait without a time", machineOf(`"A":{"Type":"Wait","End":true}`), CodeSchema, "/States/A"},
		{"a wait with two", machineOf(`"A":{"Type":"Wait","Seconds":1,"Timestamp":"2026-01-01T00:00:00Z","End":true}`), CodeSchema, "/States/A"},
		{"a bad timestamp", machineOf(`"A":{"Type":"Wait","Timestamp":"tomorrow","End":true}`), CodeSchema, "/States/A/Timestamp"},
		{"no choices", machineOf(`"A":{"Type":"Choice","Choices":[],"Default":"E"},` + end), CodeSchema, "/States/A/Choices"},
		{"End in a choice", machineOf(`"A":{"Type":"Choice","End":true,"Choices":[{"Variable":"$.a","IsNull":true,"Next":"E"}]},` + end), CodeSchema, "/States/A/End"},
		{"a rule without an operator", machineOf(`"A":{"Type":"Choice","Choices":[{"Variable":"$.a","Next":"E"}]},` + end), CodeSchema, "/States/A/Choices[0]"},
		{"a rule with two operators", machineOf(`"A":{"Type":"Choice","Choices":[{"Variable":"$.a","IsNull":true,"IsPresent":true,"Next":"E"}]},` + end), CodeSchema, "/States/A/Choices[0]"},
		{"an unknown operator", machineOf(`"A":{"Type":"Choice","Choices":[{"Variable":"$.a","StringLike":"x","Next":"E"}]},` + end), CodeSchema, "/States/A/Choices[0]/StringLike"},
		{"a constant of another type", machineOf(`"A":{"Type":"Choice","Choices":[{"Variable":"$.a","NumericEquals":"1","Next":"E"}]},` + end), CodeSchema, "/States/A/Choices[0]/NumericEquals"},
		{"Next in a nested rule", machineOf(`"A":{"Type":"Choice","Choices":[{"Not":{"Variable":"$.a","IsNull":true,"Next":"E"},"Next":"E"}]},` + end), CodeSchema, "/States/A/Choices[0]/Not/Next"},
		{"a rule without Next", machineOf(`"A":{"Type":"Choice","Default":"E","Choices":[{"Variable":"$.a","IsNull":true}]},` + end), CodeSchema, "/States/A/Choices[0]"},
		{"States.ALL with others", machineOf(`"A":{WORK,"End":true,"Retry":[{"ErrorEquals":["States.ALL","X"]}]}`), CodeSchema, "/States/A/Retry[0]/ErrorEquals"},
		{"States.ALL not last", machineOf(`"A":{WORK,"End":true,"Catch":[{"ErrorEquals":["States.ALL"],"Next":"E"},{"ErrorEquals":["X"],"Next":"E"}]},` + end), CodeSchema, "/States/A/Catch[0]/ErrorEquals"},
		{"no error names", machineOf(`"A":{WORK,"End":true,"Retry":[{"ErrorEquals":[]}]}`), CodeSchema, "/States/A/Retry[0]/ErrorEquals"},
		{"a shrinking back-off", machineOf(`"A":{WORK,"End":true,"Retry":[{"ErrorEquals":["X"],"BackoffRate":0.5}]}`), CodeSchema, "/States/A/Retry[0]/BackoffRate"},
		{"unknown jitter", machineOf(`"A":{WORK,"End":true,"Retry":[{"ErrorEquals":["X"],"JitterStrategy":"HALF"}]}`), CodeSchema, "/States/A/Retry[0]/JitterStrategy"},
		{"a distributed map", machineOf(`"A":{"Type":"Map","End":true,"ItemProcessor":{"ProcessorConfig":{"Mode":"DISTRIBUTED"},"StartAt":"X","States":{"X":{"Type":"Succeed"}}}}`), CodeSchema, "/States/A/ItemProcessor/ProcessorConfig/Mode"},
		{"an item reader", machineOf(`"A":{"Type":"Map","End":true,"ItemReader":{},"Iterator":{"StartAt":"X","States":{"X":{"Type":"Succeed"}}}}`), CodeSchema, "/States/A/ItemReader"},
		{"a map without a processor", machineOf(`"A":{"Type":"Map","End":true}`), CodeSchema, "/States/A"},
		{"no branches", machineOf(`"A":{"Type":"Parallel","End":true,"Branches":[]}`), CodeSchema, "/States/A/Branches"},
		{"Catch on a wait", machineOf(`"A":{"Type":"Wait","Seconds":1,"End":true,"Catch":[]}`), CodeSchema, "/States/A/Catch"},
		{"Error and ErrorPath", machineOf(`"A":{"Type":"Fail","Error":"x","ErrorPath":"$.x"}`), CodeSchema, "/States/A"},
		{"states that are no object", machineOf(`"A":[]`), CodeSchema, "/States/A"},
	} {
		m, found := Parse([]byte(row.definition))
		if m != nil {
			t.Errorf("%s is accepted", row.says)
			continue
		}

		hit := false
		for _, d := range found {
			hit = hit || d.Code == row.code && !d.Warning && (row.at == "" || d.Location == row.at)
		}

		if !hit {
			t.Errorf("%s: no %s at %s in: %v", row.says, row.code, row.at, found.Err())
		}
	}
}

// TestOrderDefinition: the repository's own definition is accepted once its
// placeholders are filled.
func TestOrderDefinition(t *testing.T) {
	text, err := os.ReadFile("../../../../statemachine.asl.json")
	if err != nil {
		t.Fatal(err)
	}

	filled := regexp.MustCompile(`\$\{\w+\}`).ReplaceAll(text, []byte(arn))
	if m, found := Parse(filled); m == nil {
		t.Fatal(found.Err())
	}
}

func TestChoiceOperators(t *testing.T) {
	const input = `{"s":"b","n":5,"big":9007199254740993,"t":"2026-01-02T03:04:05Z","later":"2026-01-02T04:04:05+00:30","b":true,"z":null,"p":"a","star":"a*b"}`
	for _, row := range []struct {
		rule string
		want bool
	}{
		{`"Variable":"$.s","StringEquals":"b"`, true}, {`"Variable":"$.n","StringEquals":"5"`, false},
		{`"Variable":"$.s","StringGreaterThanPath":"$.p"`, true}, {`"Variable":"$.s","StringLessThanEquals":"b"`, true},
		{`"Variable":"$.s","StringLessThan":"b"`, false}, {`"Variable":"$.s","StringGreaterThanEquals":"c"`, false},
		{`"Variable":"$.n","NumericEquals":5.0`, true}, {`"Variable":"$.big","NumericGreaterThan":9007199254740992`, true},
		{`"Variable":"$.n","NumericLessThanPath":"$.big"`, true}, {`"Variable":"$.s","NumericEquals":1`, false},
		{`"Variable":"$.n","NumericGreaterThanEquals":5`, true}, {`"Variable":"$.n","NumericLessThanEquals":4`, false},
		{`"Variable":"$.t","TimestampLessThanPath":"$.later"`, true}, {`"Variable":"$.t","TimestampEquals":"2026-01-02T03:04:05.000Z"`, true},
		{`"Variable":"$.s","TimestampEquals":"2026-01-02T03:04:05Z"`, false},
		{`"Variable":"$.b","BooleanEquals":true`, true}, {`"Variable":"$.b","BooleanEqualsPath":"$.b"`, true}, {`"Variable":"$.b","BooleanEquals":false`, false},
		{`"Variable":"$.z","IsNull":true`, true}, {`"Variable":"$.s","IsNull":false`, true}, {`"Variable":"$.s","IsString":true`, true},
		{`"Variable":"$.n","IsNumeric":true`, true}, {`"Variable":"$.b","IsBoolean":true`, true}, {`"Variable":"$.t","IsTimestamp":true`, true},
		{`"Variable":"$.s","IsTimestamp":true`, false}, {`"Variable":"$.no","IsPresent":false`, true}, {`"Variable":"$.z","IsPresent":true`, true},
		{`"Variable":"$.star","StringMatches":"a*"`, true}, {`"Variable":"$.star","StringMatches":"a\\*b"`, true}, {`"Variable":"$.s","StringMatches":"a\\*b"`, false},
		{`"Variable":"$.t","StringMatches":"2026-*-02T*Z"`, true}, {`"Variable":"$.t","StringMatches":"2026-*-03T*Z"`, false},
		{`"And":[{"Variable":"$.b","BooleanEquals":true},{"Not":{"Variable":"$.n","NumericEquals":5}}]`, false},
		{`"Or":[{"Variable":"$.b","BooleanEquals":false},{"Variable":"$.n","NumericEquals":5}]`, true},
		{`"And":[{"Variable":"$.no","IsPresent":true},{"Variable":"$.no","NumericEquals":5}]`, false},
	} {
		m, found := Parse([]byte(machineOf(`"A":{"Type":"Choice","Choices":[{` + row.rule + `,"Next":"E"}]},"E":{"Type":"Succeed"}`)))
		if m == nil {
			t.Errorf("%s: %v", row.rule, found.Err())
			continue
		}

		got, err := m.States[0].Choices[0].Condition.Holds(&jsonpath.Scope{Input: []byte(input)})
		if err != nil || got != row.want {
			t.Errorf("%s: %v, %v", row.rule, got, err)
		}
	}
}

func TestWarnings(t *testing.T) {
	m, found := Parse([]byte(machineOf(`"A":{"Type":"Pass","Result":{"a.$":"$.b"},"End":true}`)))
	if m == nil || len(found) != 1 || !found[0].Warning || found[0].Code != CodeStatic {
		t.Fatal(m, found)
	}
}

func FuzzParse(f *testing.F) {
	f.Add(machineOf(`"A":{WORK,"Next":"E","Retry":[{"ErrorEquals":["X"]}],"Catch":[{"ErrorEquals":["States.ALL"],"Next":"E"}]},"E":{"Type":"Succeed"}`))
	f.Add(machineOf(`"A":{"Type":"Choice","Choices":[{"And":[{"Variable":"$.a","StringMatches":"*"}],"Next":"E"}]},"E":{"Type":"Fail","ErrorPath":"$.x"}`))
	f.Add(machineOf(`"A":{"Type":"Map","End":true,"ItemsPath":"$.a","Iterator":{"StartAt":"X","States":{"X":{"Type":"Wait","SecondsPath":"$.s","End":true}}}}`))
	f.Add(machineOf(`"A":{"Type":"Parallel","End":true,"Branches":[{"StartAt":"X","States":{"X":{"Type":"Pass","Parameters":{"a.$":"States.UUID()"},"End":true}}}]}`))
	f.Fuzz(func(t *testing.T, definition string) {
		m, found := Parse([]byte(definition))
		if (m == nil) != (found.Err() != nil) {
			t.Fatal(m, found)
		}

		if m == nil {
			return
		}

		for i, s := range m.States {
			if s.Ordinal != i {
				t.Fatalf("state %s is at %d, not %d", s.Name, i, s.Ordinal)
			}
		}
	})
}
