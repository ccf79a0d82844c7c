package asl

import (
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	"ratchet/embedded/internal/stepfunctions/jsonpath"
)

const arn = "arn:aws:states:us-east-1:000000000000:activity:work"

// machineOf returns a definition with the states that starts at A. WORK in it becomes the
// type and resource of a Task.
func machineOf(states string) string {
	return strings.ReplaceAll(`{"StartAt":"A","States":{`+states+`}}`, "WORK", `"Type":"Task","Resource":"`+arn+`"`)
}

func TestRefusedDefinitions(t *testing.T) {
	const end = `"E":{"Type":"Succeed"}`
	for _, row := range []struct{ says, definition, code, at string }{
		{says: "nothing", definition: ``, code: codeMissing, at: ""},
		{says: "no JSON", definition: `{"StartAt":`, code: codeJSON, at: ""},
		{says: "no start", definition: `{"States":{"A":{"Type":"Succeed"}}}`, code: codeSchema, at: "/"},
		{says: "no states", definition: `{"StartAt":"A","States":{}}`, code: codeSchema, at: "/States"},
		{
			says:       "an unknown start",
			definition: `{"StartAt":"B","States":{"A":{"Type":"Succeed"}}}`,
			code:       codeTransition,
			at:         "/StartAt",
		},
		{
			says:       "an unknown field",
			definition: `{"StartAt":"A","Foo":1,"States":{"A":{"Type":"Succeed"}}}`,
			code:       codeSchema,
			at:         "/Foo",
		},
		{
			says:       "Assign in a kind without it",
			definition: machineOf(`"A":{"Type":"Succeed","Assign":{"x":1}}`),
			code:       codeSchema,
			at:         "/States/A/Assign",
		},
		{
			says:       "Assign of a text",
			definition: machineOf(`"A":{"Type":"Pass","Assign":"x","End":true}`),
			code:       codeSchema,
			at:         "/States/A/Assign",
		},
		{
			says:       "the reserved variable",
			definition: machineOf(`"A":{"Type":"Pass","Assign":{"states":1},"End":true}`),
			code:       codeSchema,
			at:         "/States/A/Assign/states",
		},
		{
			says:       "a variable that begins with a digit",
			definition: machineOf(`"A":{"Type":"Pass","Assign":{"1x.$":"$.a"},"End":true}`),
			code:       codeSchema,
			at:         "/States/A/Assign/1x.$",
		},
		{
			says:       "a variable with a hyphen",
			definition: machineOf(`"A":{"Type":"Pass","Assign":{"a-b":1},"End":true}`),
			code:       codeSchema,
			at:         "/States/A/Assign/a-b",
		},
		{
			says:       "a variable with a long name",
			definition: machineOf(`"A":{"Type":"Pass","Assign":{"` + strings.Repeat("v", 81) + `":1},"End":true}`),
			code:       codeSchema,
			at:         "/States/A/Assign/" + strings.Repeat("v", 81),
		},
		{
			says:       "a variable that is set twice",
			definition: machineOf(`"A":{"Type":"Pass","Assign":{"x":1,"x.$":"$.a"},"End":true}`),
			code:       codeSchema,
			at:         "/States/A/Assign",
		},
		{
			says: "a variable of an outer scope in an inner one",
			definition: machineOf(`"A":{"Type":"Parallel","Branches":[{"StartAt":"B","States":{"B":{"Type":"Map","ItemProcessor":` +
				`{"StartAt":"C","States":{"C":{"Type":"Pass","Assign":{"x":1},"End":true}}},"End":true}}}],"Next":"D"},` +
				`"D":{"Type":"Pass","Assign":{"x":1},"End":true}`),
			code: codeSchema,
			at:   "/States/A/Branches[0]/States/B/ItemProcessor/States/C/Assign/x",
		},
		{
			says: "Assign in a nested rule",
			definition: machineOf(`"A":{"Type":"Choice","Choices":[{"Not":{"Variable":"$.x","IsPresent":true,"Assign":{"v":1}},"Next":"E"}]},` +
				end),
			code: codeSchema,
			at:   "/States/A/Choices[0]/Not/Assign",
		},
		{
			says:       "a ResultPath into a variable",
			definition: machineOf(`"A":{"Type":"Pass","ResultPath":"$x.a","End":true}`),
			code:       codeSchema,
			at:         "/States/A/ResultPath",
		},
		{
			says:       "another version",
			definition: `{"StartAt":"A","Version":"2.0","States":{"A":{"Type":"Succeed"}}}`,
			code:       codeSchema,
			at:         "/Version",
		},
		{says: "an unknown type", definition: machineOf(`"A":{"Type":"Nap"}`), code: codeSchema, at: "/States/A/Type"},
		{
			says:       "neither Next nor End",
			definition: machineOf(`"A":{"Type":"Pass"}`),
			code:       codeSchema,
			at:         "/States/A",
		},
		{
			says:       "both Next and End",
			definition: machineOf(`"A":{"Type":"Pass","Next":"E","End":true},` + end),
			code:       codeSchema,
			at:         "/States/A",
		},
		{
			says:       "a dangling Next",
			definition: machineOf(`"A":{"Type":"Pass","Next":"B"}`),
			code:       codeTransition,
			at:         "/States/A/Next",
		},
		{
			says:       "an unreachable state",
			definition: machineOf(`"A":{"Type":"Succeed"},"B":{"Type":"Succeed"}`),
			code:       codeTransition,
			at:         "/States/B",
		},
		{
			says:       "no end",
			definition: machineOf(`"A":{"Type":"Pass","Next":"B"},"B":{"Type":"Pass","Next":"A"}`),
			code:       codeNoEnd,
			at:         "/States",
		},
		{
			says:       "a name twice",
			definition: machineOf(`"A":{"Type":"Pass","End":true},"A":{"Type":"Succeed"}`),
			code:       codeDuplicate,
			at:         "/States/A",
		},
		{
			says:       "a name twice in branches",
			definition: machineOf(`"A":{"Type":"Parallel","End":true,"Branches":[{"StartAt":"X","States":{"X":{"Type":"Succeed"}}},{"StartAt":"X","States":{"X":{"Type":"Succeed"}}}]}`),
			code:       codeDuplicate,
			at:         "/States/A/Branches[1]/States/X",
		},
		{
			says:       "a long name",
			definition: `{"StartAt":"` + strings.Repeat("x", 81) + `","States":{"` + strings.Repeat("x", 81) + `":{"Type":"Succeed"}}}`,
			code:       codeStateName,
			at:         "",
		},
		{
			says:       "Next out of a branch",
			definition: machineOf(`"A":{"Type":"Parallel","Next":"E","Branches":[{"StartAt":"X","States":{"X":{"Type":"Pass","Next":"E"}}}]},` + end),
			code:       codeTransition,
			at:         "/States/A/Branches[0]/States/X/Next",
		},
		{
			says:       "no resource",
			definition: machineOf(`"A":{"Type":"Task","End":true}`),
			code:       codeSchema,
			at:         "/States/A",
		},
		{
			says:       "a layer of Lambda",
			definition: machineOf(`"A":{"Type":"Task","Resource":"arn:aws:lambda:us-east-1:000000000000:layer:f","End":true}`),
			code:       CodeResource,
			at:         "/States/A/Resource",
		},
		{
			says:       "an unresolved placeholder",
			definition: machineOf(`"A":{"Type":"Task","Resource":"${Work}","End":true}`),
			code:       CodeResource,
			at:         "/States/A/Resource",
		},
		{
			says:       "credentials",
			definition: machineOf(`"A":{WORK,"Credentials":{},"End":true}`),
			code:       codeSchema,
			at:         "/States/A/Credentials",
		},
		{
			says:       "a bad path",
			definition: machineOf(`"A":{WORK,"InputPath":"a","End":true}`),
			code:       codeSchema,
			at:         "/States/A/InputPath",
		},
		{
			says:       "a result path that is no reference",
			definition: machineOf(`"A":{WORK,"ResultPath":"$..a","End":true}`),
			code:       codeSchema,
			at:         "/States/A/ResultPath",
		},
		{
			says:       "a bad template",
			definition: machineOf(`"A":{WORK,"Parameters":{"a.$":"b"},"End":true}`),
			code:       codeSchema,
			at:         "/States/A/Parameters",
		},
		{
			says:       "an unknown function",
			definition: machineOf(`"A":{WORK,"ResultSelector":{"a.$":"States.Foo()"},"End":true}`),
			code:       codeSchema,
			at:         "/States/A/ResultSelector",
		},
		{
			says:       "Seconds and its Path",
			definition: machineOf(`"A":{WORK,"TimeoutSeconds":1,"TimeoutSecondsPath":"$.a","End":true}`),
			code:       codeSchema,
			at:         "/States/A",
		},
		{
			says:       "a timeout of 0",
			definition: machineOf(`"A":{WORK,"TimeoutSeconds":0,"End":true}`),
			code:       codeSchema,
			at:         "/States/A/TimeoutSeconds",
		},
		{
			says:       "a timeout in a string",
			definition: machineOf(`"A":{WORK,"TimeoutSeconds":"1","End":true}`),
			code:       codeSchema,
			at:         "/States/A/TimeoutSeconds",
		},
		{
			says:       "a heartbeat as long as the timeout",
			definition: machineOf(`"A":{WORK,"TimeoutSeconds":5,"HeartbeatSeconds":5,"End":true}`),
			code:       codeSchema,
			at:         "/States/A/HeartbeatSeconds",
		},
		{
			says:       "a wait without a time",
			definition: machineOf(`"A":{"Type":"Wait","End":true}`),
			code:       codeSchema,
			at:         "/States/A",
		},
		{
			says:       "a wait with two",
			definition: machineOf(`"A":{"Type":"Wait","Seconds":1,"Timestamp":"2026-01-01T00:00:00Z","End":true}`),
			code:       codeSchema,
			at:         "/States/A",
		},
		{
			says:       "a bad timestamp",
			definition: machineOf(`"A":{"Type":"Wait","Timestamp":"tomorrow","End":true}`),
			code:       codeSchema,
			at:         "/States/A/Timestamp",
		},
		{
			says:       "no choices",
			definition: machineOf(`"A":{"Type":"Choice","Choices":[],"Default":"E"},` + end),
			code:       codeSchema,
			at:         "/States/A/Choices",
		},
		{
			says:       "End in a choice",
			definition: machineOf(`"A":{"Type":"Choice","End":true,"Choices":[{"Variable":"$.a","IsNull":true,"Next":"E"}]},` + end),
			code:       codeSchema,
			at:         "/States/A/End",
		},
		{
			says:       "a rule without an operator",
			definition: machineOf(`"A":{"Type":"Choice","Choices":[{"Variable":"$.a","Next":"E"}]},` + end),
			code:       codeSchema,
			at:         "/States/A/Choices[0]",
		},
		{
			says:       "a rule with two operators",
			definition: machineOf(`"A":{"Type":"Choice","Choices":[{"Variable":"$.a","IsNull":true,"IsPresent":true,"Next":"E"}]},` + end),
			code:       codeSchema,
			at:         "/States/A/Choices[0]",
		},
		{
			says:       "an unknown operator",
			definition: machineOf(`"A":{"Type":"Choice","Choices":[{"Variable":"$.a","StringLike":"x","Next":"E"}]},` + end),
			code:       codeSchema,
			at:         "/States/A/Choices[0]/StringLike",
		},
		{
			says:       "a constant of another type",
			definition: machineOf(`"A":{"Type":"Choice","Choices":[{"Variable":"$.a","NumericEquals":"1","Next":"E"}]},` + end),
			code:       codeSchema,
			at:         "/States/A/Choices[0]/NumericEquals",
		},
		{
			says:       "Next in a nested rule",
			definition: machineOf(`"A":{"Type":"Choice","Choices":[{"Not":{"Variable":"$.a","IsNull":true,"Next":"E"},"Next":"E"}]},` + end),
			code:       codeSchema,
			at:         "/States/A/Choices[0]/Not/Next",
		},
		{
			says:       "a rule without Next",
			definition: machineOf(`"A":{"Type":"Choice","Default":"E","Choices":[{"Variable":"$.a","IsNull":true}]},` + end),
			code:       codeSchema,
			at:         "/States/A/Choices[0]",
		},
		{
			says:       "States.ALL with others",
			definition: machineOf(`"A":{WORK,"End":true,"Retry":[{"ErrorEquals":["States.ALL","X"]}]}`),
			code:       codeSchema,
			at:         "/States/A/Retry[0]/ErrorEquals",
		},
		{
			says:       "States.ALL not last",
			definition: machineOf(`"A":{WORK,"End":true,"Catch":[{"ErrorEquals":["States.ALL"],"Next":"E"},{"ErrorEquals":["X"],"Next":"E"}]},` + end),
			code:       codeSchema,
			at:         "/States/A/Catch[0]/ErrorEquals",
		},
		{
			says:       "no error names",
			definition: machineOf(`"A":{WORK,"End":true,"Retry":[{"ErrorEquals":[]}]}`),
			code:       codeSchema,
			at:         "/States/A/Retry[0]/ErrorEquals",
		},
		{
			says:       "a shrinking backoff",
			definition: machineOf(`"A":{WORK,"End":true,"Retry":[{"ErrorEquals":["X"],"BackoffRate":0.5}]}`),
			code:       codeSchema,
			at:         "/States/A/Retry[0]/BackoffRate",
		},
		// Source: https://docs.aws.amazon.com/step-functions/latest/dg/concepts-error-handling.html (less than 31622400)
		{
			says:       "a bound of the interval that is too long",
			definition: machineOf(`"A":{WORK,"End":true,"Retry":[{"ErrorEquals":["X"],"MaxDelaySeconds":31622400}]}`),
			code:       codeSchema,
			at:         "/States/A/Retry[0]/MaxDelaySeconds",
		},
		{
			says:       "unknown jitter",
			definition: machineOf(`"A":{WORK,"End":true,"Retry":[{"ErrorEquals":["X"],"JitterStrategy":"HALF"}]}`),
			code:       codeSchema,
			at:         "/States/A/Retry[0]/JitterStrategy",
		},
		{
			says:       "a map without a processor",
			definition: machineOf(`"A":{"Type":"Map","End":true}`),
			code:       codeSchema,
			at:         "/States/A",
		},
		{
			says:       "no branches",
			definition: machineOf(`"A":{"Type":"Parallel","End":true,"Branches":[]}`),
			code:       codeSchema,
			at:         "/States/A/Branches",
		},
		{
			says:       "Catch on a wait",
			definition: machineOf(`"A":{"Type":"Wait","Seconds":1,"End":true,"Catch":[]}`),
			code:       codeSchema,
			at:         "/States/A/Catch",
		},
		{
			says:       "Error and ErrorPath",
			definition: machineOf(`"A":{"Type":"Fail","Error":"x","ErrorPath":"$.x"}`),
			code:       codeSchema,
			at:         "/States/A",
		},
		{says: "states that are no object", definition: machineOf(`"A":[]`), code: codeSchema, at: "/States/A"},
	} {
		checkRefused(t, row.says, row.definition, row.code, row.at)
	}
}

// checkRefused fails the test unless Parse refuses a definition with a code at a place, "" for
// any place.
func checkRefused(t *testing.T, says, definition, code, at string) {
	t.Helper()

	m, found := Parse([]byte(definition))
	if m != nil {
		t.Errorf("%s is accepted", says)
		return
	}

	hit := false
	for _, d := range found {
		hit = hit || d.Code == code && !d.Warning && (at == "" || d.Location == at)
	}

	if !hit {
		t.Errorf("%s: no %s at %s in: %v", says, code, at, found.Err())
	}
}

// The repository's own definition is accepted once its placeholders are filled.
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
	const input = `{"s":"b","p":"a","star":"a*b","city":"Zürich","n":5,"big":9007199254740993,"b":true,"z":null,` +
		`"t":"2026-01-02T03:04:05Z","comma":"2026-01-02T03:04:05,5Z","hour":"2026-01-02T3:04:05Z","later":"2026-01-02T04:04:05+00:30"}`

	for _, row := range []struct {
		rule string
		want bool
	}{
		{rule: `"Variable":"$.s","StringEquals":"b"`, want: true},
		{rule: `"Variable":"$.n","StringEquals":"5"`, want: false},
		{rule: `"Variable":"$.s","StringGreaterThanPath":"$.p"`, want: true},
		{rule: `"Variable":"$.s","StringLessThanEquals":"b"`, want: true},
		{rule: `"Variable":"$.s","StringLessThan":"b"`, want: false},
		{rule: `"Variable":"$.s","StringGreaterThanEquals":"c"`, want: false},
		{rule: `"Variable":"$.n","NumericEquals":5.0`, want: true},
		{rule: `"Variable":"$.big","NumericGreaterThan":9007199254740992`, want: true},
		{rule: `"Variable":"$.n","NumericLessThanPath":"$.big"`, want: true},
		{rule: `"Variable":"$.s","NumericEquals":1`, want: false},
		{rule: `"Variable":"$.n","NumericGreaterThanEquals":5`, want: true},
		{rule: `"Variable":"$.n","NumericLessThanEquals":4`, want: false},
		{rule: `"Variable":"$.t","TimestampLessThanPath":"$.later"`, want: true},
		{rule: `"Variable":"$.t","TimestampEquals":"2026-01-02T03:04:05.000Z"`, want: true},
		{rule: `"Variable":"$.s","TimestampEquals":"2026-01-02T03:04:05Z"`, want: false},
		{rule: `"Variable":"$.b","BooleanEquals":true`, want: true},
		{rule: `"Variable":"$.b","BooleanEqualsPath":"$.b"`, want: true},
		{rule: `"Variable":"$.b","BooleanEquals":false`, want: false},
		{rule: `"Variable":"$.z","IsNull":true`, want: true},
		{rule: `"Variable":"$.s","IsNull":false`, want: true},
		{rule: `"Variable":"$.s","IsString":true`, want: true},
		{rule: `"Variable":"$.n","IsNumeric":true`, want: true},
		{rule: `"Variable":"$.b","IsBoolean":true`, want: true},
		{rule: `"Variable":"$.t","IsTimestamp":true`, want: true},
		{rule: `"Variable":"$.s","IsTimestamp":true`, want: false},
		{rule: `"Variable":"$.comma","IsTimestamp":true`, want: false},
		{rule: `"Variable":"$.hour","IsTimestamp":true`, want: false},
		{rule: `"Variable":"$.no","IsPresent":false`, want: true},
		{rule: `"Variable":"$.z","IsPresent":true`, want: true},
		{rule: `"Variable":"$.star","StringMatches":"a*"`, want: true},
		{rule: `"Variable":"$.star","StringMatches":"a\\*b"`, want: true},
		{rule: `"Variable":"$.s","StringMatches":"a\\*b"`, want: false},
		{rule: `"Variable":"$.city","StringMatches":"Zürich*"`, want: true},
		{rule: `"Variable":"$.city","StringMatches":"Z\u00fcrich"`, want: true},
		{rule: `"Variable":"$.t","StringMatches":"2026-*-02T*Z"`, want: true},
		{rule: `"Variable":"$.t","StringMatches":"2026-*-03T*Z"`, want: false},
		{
			rule: `"And":[{"Variable":"$.b","BooleanEquals":true},{"Not":{"Variable":"$.n","NumericEquals":5}}]`,
			want: false,
		},
		{rule: `"Or":[{"Variable":"$.b","BooleanEquals":false},{"Variable":"$.n","NumericEquals":5}]`, want: true},
		{rule: `"And":[{"Variable":"$.no","IsPresent":true},{"Variable":"$.no","NumericEquals":5}]`, want: false},
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
	if m == nil || len(found) != 1 || !found[0].Warning || found[0].Code != codeStatic {
		t.Fatal(m, found)
	}
}

// An Express machine names a wait that it cannot have, also for a service that the engine does not have.
// Source: https://github.com/localstack/localstack
// tests/aws/services/stepfunctions/v2/test_sfn_api_express.py, test_illegal_callbacks.
func TestExpressMachinesDoNotWait(t *testing.T) {
	for _, row := range []struct{ resource, want string }{
		{"arn:aws:states:::sns:publish.waitForTaskToken", "Express state machine does not support '.waitForTaskToken' service integration "},
		{"arn:aws:states:::states:startExecution.sync", "Express state machine does not support '.sync' service integration"},
		{"arn:aws:states:us-east-1:000000000000:activity:work", "Express state machine does not support Activity ARN"},
		{"arn:aws:states:::sns:publish", fmt.Sprintf(ForeignResource, "arn:aws:states:::sns:publish")},
		{"arn:aws:lambda:us-east-1:000000000000:function:f:$LATEST", ""},
	} {
		_, found := ParseExpress([]byte(machineOf(`"A":{"Type":"Task","Resource":"` + row.resource + `","End":true}`)))
		if row.want == "" && len(found) == 0 {
			continue
		}

		if len(found) != 1 || found[0].Message != row.want || found[0].Location != "/States/A/Resource" {
			t.Errorf("%s: %+v", row.resource, found)
		}
	}
}

// The Catch of a Parallel assigns a variable that its branches assign, too.
// Source: https://github.com/localstack/localstack
// tests/aws/services/stepfunctions/v2/states_variables/test_error_output.py,
// test_parallel_catch_error[PARALLEL_CATCH_ERROR_VARIABLE_SAMPLING].
func TestACatchAssignsAVariableOfInnerFlows(t *testing.T) {
	const branches = `"Branches":[{"StartAt":"B","States":{"B":{"Type":"Pass","Assign":{"x":1},"End":true}}}]`

	for _, row := range []struct {
		states   string
		accepted bool
	}{
		{`"A":{"Type":"Parallel",` + branches + `,"Catch":[{"ErrorEquals":["States.ALL"],"Assign":{"x":2},"Next":"C"}],"End":true},"C":{"Type":"Succeed"}`, true},
		{`"A":{"Type":"Parallel",` + branches + `,"Assign":{"x":2},"End":true}`, false},
		{`"A":{"Type":"Parallel",` + branches + `,"Catch":[{"ErrorEquals":["States.ALL"],"Assign":{"x":2},"Next":"C"}],"End":true},` +
			`"C":{"Type":"Pass","Assign":{"x":3},"End":true}`, false},
	} {
		if _, found := Parse([]byte(machineOf(row.states))); (found.Err() == nil) != row.accepted {
			t.Errorf("%s: %v", row.states, found.Err())
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, states := range []string{
		`"A":{WORK,"Next":"E","Retry":[{"ErrorEquals":["X"]}],"Catch":[{"ErrorEquals":["States.ALL"],"Next":"E"}]},"E":{"Type":"Succeed"}`,
		`"A":{"Type":"Choice","Choices":[{"And":[{"Variable":"$.a","StringMatches":"*"}],"Next":"E"}]},"E":{"Type":"Fail","ErrorPath":"$.x"}`,
		`"A":{"Type":"Map","End":true,"ItemsPath":"$.a","Iterator":{"StartAt":"X","States":{"X":{"Type":"Wait","SecondsPath":"$.s","End":true}}}}`,
		`"A":{"Type":"Parallel","End":true,"Branches":[{"StartAt":"X","States":{"X":{"Type":"Pass","Parameters":{"a.$":"States.UUID()"},"End":true}}}]}`,
		`"A":{"Type":"Map","End":true,"ItemBatcher":{"MaxItemsPerBatch":2},"ItemProcessor":{"ProcessorConfig":{"Mode":"DISTRIBUTED","ExecutionType":"EXPRESS"},` +
			`"StartAt":"X","States":{"X":{"Type":"Pass","End":true}}}}`,
		`"A":{"Type":"Task","Resource":"arn:aws:states:::dynamodb:putItem","Parameters":{"TableName":"t","Item":{"id.$":"$.a"}},"ResultPath":null,"Assign":{"v.$":"$.a"},"End":true}`,
		`"A":{"Type":"Task","QueryLanguage":"JSONata","Resource":"arn:aws:states:::sqs:sendMessage.waitForTaskToken","Arguments":{"QueueUrl":"q","MessageBody":"{% $states.context.Task.Token %}"},"Output":"{% $v %}","End":true}`,
	} {
		f.Add(machineOf(states))
	}

	f.Fuzz(func(t *testing.T, definition string) {
		m, found := Parse([]byte(definition))
		if (m == nil) != (found.Err() != nil) {
			t.Fatal(m, found)
		}

		// An Express machine has less than a Standard one, and nothing more.
		if express, found := ParseExpress([]byte(definition)); express != nil && m == nil {
			t.Fatal("only an Express machine takes it", found)
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

// TestADuplicateNameIsOneFinding: the transitions of a flow reach its own state, also if another flow has the name.
func TestADuplicateNameIsOneFinding(t *testing.T) {
	inner := `{"StartAt":"X","States":{"X":{"Type":"Pass","Next":"A"},"A":{"Type":"Succeed"}}}`

	for says, states := range map[string]string{
		"the name of the Map itself": `"A":{"Type":"Map","End":true,"ItemProcessor":` + inner + `}`,
		"a name of another branch":   `"P":{"Type":"Parallel","End":true,"Branches":[{"StartAt":"A","States":{"A":{"Type":"Succeed"}}},` + inner + `]}`,
	} {
		start, _, _ := strings.Cut(strings.TrimPrefix(states, `"`), `"`)

		_, found := Parse([]byte(`{"StartAt":"` + start + `","States":{` + states + `}}`))
		if len(found) != 1 || found[0].Code != codeDuplicate || !strings.HasSuffix(found[0].Location, "/States/A") {
			t.Errorf("%s: %+v", says, found)
		}
	}
}
