package execution

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// finish runs a started execution to its end: each task succeeds with its input, or fails with
// the error that its input names.
func (x *memoryExecution) finish(t testing.TB) {
	t.Helper()

	for steps := 0; x.state().Status == Running; steps++ {
		if steps > 1000 {
			t.Fatalf("it does not end\n%s", x.history())
		}

		if len(x.queue) == 0 {
			if err := x.sleep(time.Second); err != nil {
				t.Fatal(err)
			}

			continue
		}

		name := x.machine.States[x.state().thread(x.queue[0].Thread).state].Name

		id, input, err := x.take(name)
		if err != nil {
			t.Fatal(err)
		}

		err = x.step(func(e *Env, s *State) (*Turn, error) {
			if failure, ok := strings.CutPrefix(input, `{"fail":"`); ok {
				return e.Fail(s, id, x.tokens[id], strings.TrimSuffix(failure, `"}`), "because")
			}

			return e.Succeed(s, id, x.tokens[id], []byte(input))
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}

// outcome tells how an execution has ended.
func (x *memoryExecution) outcome(t testing.TB) string {
	t.Helper()

	s := x.state()
	if s.Status != Succeeded {
		return fmt.Sprintf("%s %s: %s", s.Status, s.Error, s.Cause)
	}

	output, err := x.Document(s.Output)
	if err != nil {
		t.Fatal(err)
	}

	return string(output)
}

// queryDefinition returns a machine in JSONata whose tasks run an activity, as WORK says.
func queryDefinition(states string) string {
	const work = `"Type":"Task","Resource":"arn:aws:states:us-east-1:000000000000:activity:work"`

	return `{"QueryLanguage":"JSONata","StartAt":"A","States":{` + strings.ReplaceAll(states, "WORK", work) + `}}`
}

// Executions in JSONata, run whole and cut at every event. The rows with a source were recorded
// on AWS.
func TestQueries(t *testing.T) {
	const (
		localstack = "LocalStack's recordings of AWS: "
		issue2737  = "https://github.com/floci-io/floci/issues/2737"
		pull2676   = "https://github.com/floci-io/floci/pull/2676"
		pull2689   = "https://github.com/floci-io/floci/pull/2689"
		failedIn   = "FAILED States.QueryEvaluationError: An error occurred while executing the state 'A' (entered at the event id #2). "
	)

	pass := func(output string) string {
		return queryDefinition(`"A":{"Type":"Pass","End":true,"Output":` + output + `}`)
	}
	items := func(items string) string {
		return queryDefinition(`"A":{"Type":"Map","Items":` + items + `,"MaxConcurrency":1,"End":true,
			"ItemProcessor":{"StartAt":"P","States":{"P":{"Type":"Pass","End":true}}}}`)
	}

	for _, row := range []struct{ is, source, definition, input, want string }{
		{is: "no Output is the input", source: localstack + "test_base_query_language", definition: queryDefinition(`"A":{"Type":"Pass","End":true}`), input: `{"x":1}`, want: `{"x":1}`},
		{is: "null", source: localstack + "test_output", definition: pass(`null`), want: `null`},
		{is: "a number", source: localstack + "test_output", definition: pass(`0.1`), want: `0.1`},
		{is: "a text", source: localstack + "test_output", definition: pass(`"string literal"`), want: `"string literal"`},
		{is: "a text with spaces around an expression", source: localstack + "test_arguments", definition: pass(`" {% $states.input %} "`), want: `" {% $states.input %} "`},
		{
			is: "an array", source: localstack + "test_output", input: `{"input_value":"stringliteral"}`,
			definition: pass(`[null,0,0.1,true,"string",[],"$nosuchvar","$.no.such.path","{% $states.input %}",{"key":true}]`),
			want:       `[null,0,0.1,true,"string",[],"$nosuchvar","$.no.such.path",{"input_value":"stringliteral"},{"key":true}]`,
		},
		{
			is: "an undefined Output", source: localstack + "test_assign_reference_variables", definition: pass(`"{% $doesNotExist %}"`),
			want: failedIn + "The JSONata expression '$doesNotExist' specified for the field 'Output' returned nothing (undefined).",
		},
		{
			is: "an undefined member", source: localstack + "test_assign_reference_variables", definition: pass(`{"result":"{% $doesNotExist %}"}`),
			want: failedIn + "The JSONata expression '$doesNotExist' specified for the field 'Output/result' returned nothing (undefined).",
		},
		{
			is: "an undefined element", source: pull2689, definition: pass(`{"values":["{% $doesNotExist %}"]}`),
			want: failedIn + "The JSONata expression '$doesNotExist' specified for the field 'Output/values[0]' returned nothing (undefined).",
		},
		{
			is: "an undefined variable", source: localstack + "test_assign_reference_variables",
			definition: queryDefinition(`"A":{"Type":"Pass","Assign":{"result":"{% $doesNotExist %}"},"End":true}`),
			want:       failedIn + "The JSONata expression '$doesNotExist' specified for the field 'Assign/result' returned nothing (undefined).",
		},
		{
			is: "undefined Arguments", source: localstack + "test_assign_reference_variables", definition: queryDefinition(`"A":{WORK,"Arguments":"{% $doesNotExist %}","End":true}`),
			want: failedIn + "The JSONata expression '$doesNotExist' specified for the field 'Arguments' returned nothing (undefined).",
		},
		{
			is: "an undefined Condition", source: pull2689, definition: queryDefinition(`"A":{"Type":"Choice","Choices":[{"Condition":false,"Next":"B"},{"Condition":"{% $x %}","Next":"B"}]},"B":{"Type":"Succeed"}`),
			want: failedIn + "The JSONata expression '$x' specified for the field 'Choices[1]/Condition' returned nothing (undefined).",
		},
		{
			is: "a rule's Output", source: pull2689, definition: queryDefinition(`"A":{"Type":"Choice","Choices":[{"Condition":true,"Output":{"v":"{% $x %}"},"Next":"B"}]},"B":{"Type":"Succeed"}`),
			want: failedIn + "The JSONata expression '$x' specified for the field 'Choices[0]/Output/v' returned nothing (undefined).",
		},
		{
			is: "a function that is none", source: localstack + "test_math_operations_jsonata", input: `{"FunctionInput":{"fst":1}}`,
			definition: pass(`{"FunctionResult":"{% $randomSeeded($states.input.FunctionInput.fst) %}"}`),
			want: failedIn + "The JSONata expression '$randomSeeded($states.input.FunctionInput.fst)' specified for the field 'Output/FunctionResult' " +
				"threw an error during evaluation. T1006: Attempted to invoke a non-function",
		},
		{
			is: "$eval", source: issue2737, definition: pass(`{"r":"{% $eval(\"1+1\") %}"}`),
			want: failedIn + `The JSONata expression '$eval("1+1")' specified for the field 'Output/r' threw an error during evaluation. T1006: Attempted to invoke a non-function`,
		},
		{
			is: "a large sequence", source: issue2737, definition: pass(`{"r":"{% $sum([1..900000]) %}"}`),
			want: failedIn + "The JSONata expression '$sum([1..900000])' specified for the field 'Output/r' threw an error during evaluation: " +
				"Expression evaluation memory limit exceeded: Check for excessive memory usage",
		},
		{is: "no finite number", source: "https://github.com/floci-io/floci/pull/2783", definition: pass(`["{% 1/0 %}","{% [1/0] %}"]`), want: `["Infinity",["Infinity"]]`},
		{is: "$parse", source: localstack + "test_json_manipulation_jsonata", definition: pass(`["{% $parse('-0') %}","{% $parse('1.1') %}","{% $parse('{\"Arg1\": 1, \"Arg2\": []}') %}"]`), want: `[0,1.1,{"Arg1":1,"Arg2":[]}]`},
		{is: "$partition", source: localstack + "test_array_jsonata", definition: pass(`["{% $partition([0,1,2],2) %}","{% $partition([0],5) %}"]`), want: `[[[0,1],[2]],[[0]]]`},
		{is: "$range", source: localstack + "test_array_jsonata", definition: pass(`["{% $range(0,10,3) %}","{% $range(1,9,9) %}"]`), want: `[[0,3,6,9],1]`},
		{is: "$range of fractions", source: pull2676, definition: pass(`"{% $range(-1.7,2,1) %}"`), want: `[-1,0,1,2]`},
		{is: "$hash", source: "https://github.com/floci-io/floci/issues/2662", definition: pass(`"{% $hash(\"input\",\"SHA-1\") %}"`), want: `"140f86aae51ab9e1cda9b4254fe98a74eb54c1a1"`},
		{is: "$random of a seed", source: "https://github.com/floci-io/floci/issues/2662", definition: pass(`"{% $random(42) %}"`), want: `0.7275636800328681`},
		{is: "$merge", source: localstack + "test_base_evaluate_expressions", definition: pass(`"{% $merge([$states.input.part1, $states.input.part2]) %}"`), input: `{"part1":{"hello":"world"},"part2":{"foo":"bar"}}`, want: `{"hello":"world","foo":"bar"}`},
		{is: "a regular expression", source: localstack + "test_base_evaluate_expressions", definition: pass(`"{% $contains(\"hello$world\", /^hello\\$/) %}"`), want: `true`},
		{is: "Items", source: localstack + "test_base_evaluate_expressions", definition: items(`[1,"{% $number('2') %}",3]`), want: `[1,2,3]`},
		{is: "Items of mixed types", source: localstack + "test_map_state_items_eval_jsonata", definition: items(`"{% [1,'two',3] %}"`), want: `[1,"two",3]`},
		{is: "no Items", source: localstack + "test_map_state_items_eval_jsonata", definition: items(`"{% [] %}"`), want: `[]`},
		{
			is: "Items that are a text", source: localstack + "test_map_state_items_eval_jsonata_fail", definition: items(`"{% 'string' %}"`),
			want: failedIn + `The JSONata expression ''string'' specified for the field 'Items' returned an unexpected result type. Expected 'array', but was 'string' for value: "string"`,
		},
		{
			is: "Items that are null", source: localstack + "test_map_state_items_eval_jsonata_fail", definition: items(`"{% null %}"`),
			want: failedIn + `The JSONata expression 'null' specified for the field 'Items' returned an unexpected result type. Expected 'array', but was 'null' for value: null`,
		},
		{
			is: "Items that are an object", source: localstack + "test_map_state_items_eval_jsonata_fail", definition: items(`"{% {'foo': 'bar'} %}"`),
			want: failedIn + `The JSONata expression '{'foo': 'bar'}' specified for the field 'Items' returned an unexpected result type. Expected 'array', but was 'object' for value: {"foo":"bar"}`,
		},
		{
			is: "Items that are a function", source: localstack + "test_map_state_items_eval_jsonata_fail", definition: items(`"{% $fn := function($x){$x} %}"`),
			want: failedIn + `The JSONata expression '$fn := function($x){$x}' specified for the field 'Items' returned an unsupported result type.`,
		},
		{
			is: "an ItemSelector", source: localstack + "test_map_state_item_selector", definition: queryDefinition(`"A":{"Type":"Pass","Assign":{"ItemsVar":["Item1","Item2"]},"Next":"M"},
				"M":{"Type":"Map","MaxConcurrency":1,"Items":"{% $ItemsVar %}","ItemSelector":{"map_item_value":"{% $states.context.Map.Item.Value %}","var_sample":"{% $ItemsVar %}","string_literal":"string literal"},
				"ItemProcessor":{"StartAt":"P","States":{"P":{"Type":"Pass","End":true}}},"End":true}`),
			want: `[{"map_item_value":"Item1","var_sample":["Item1","Item2"],"string_literal":"string literal"},{"map_item_value":"Item2","var_sample":["Item1","Item2"],"string_literal":"string literal"}]`,
		},
		{is: "Seconds", source: localstack + "test_wait_seconds_jsonata", definition: queryDefinition(`"A":{"Type":"Wait","Seconds":"{% $states.input.waitSeconds %}","End":true}`), input: `{"waitSeconds":0}`, want: `{"waitSeconds":0}`},
		{
			is: "a Timestamp without T", source: localstack + "test_wait_timestamp_jsonata", definition: queryDefinition(`"A":{"Type":"Wait","Timestamp":"{% $states.input.at %}","End":true}`), input: `{"at":"2016-12-05 21:29:29Z"}`,
			want: failedIn + "The Timestamp field cannot be parsed as an ISO-8601 extended offset date-time format string: 2016-12-05 21:29:29Z",
		},
		{is: "Error", source: localstack + "test_fail_error_jsonata", definition: queryDefinition(`"A":{"Type":"Fail","Error":"{% $states.input.error %}"}`), input: `{"error":"Exception"}`, want: `FAILED Exception: `},
		{is: "Cause", source: localstack + "test_fail_cause_jsonata", definition: queryDefinition(`"A":{"Type":"Fail","Cause":"{% $states.input.cause %}"}`), input: `{"cause":"This failed."}`, want: `FAILED : This failed.`},
		{
			is: "the Output of a rule and of the Default", source: localstack + "test_output_in_choice", input: `{"condition":false}`,
			definition: queryDefinition(`"A":{"Type":"Choice","Choices":[{"Condition":"{% $states.input.condition %}","Output":"Condition Output block","Next":"B"}],"Default":"B","Output":"Default Output block"},"B":{"Type":"Pass","End":true}`),
			want:       `"Default Output block"`,
		},
		{
			is: "variables across languages", source: localstack + "test_mixed_query_language",
			definition: `{"StartAt":"P","States":{"P":{"Type":"Pass","Assign":{"theAnswer":42},"Next":"Q"},
				"Q":{"Type":"Pass","QueryLanguage":"JSONata","Assign":{"oldAnswer":"{% $theAnswer %}","theAnswer":18},"Next":"R"},
				"R":{"Type":"Pass","QueryLanguage":"JSONata","Output":["{% $oldAnswer %}","{% $theAnswer %}"],"End":true}}}`,
			want: `[42,18]`,
		},
		{
			is: "an error that a Catch reads", source: localstack + "test_error_output", input: `{"inputData":"dummy"}`,
			definition: queryDefinition(`"A":{WORK,"Arguments":{"fail":"Exception"},"End":true,"Catch":[{"ErrorEquals":["States.ALL"],
				"Output":{"stateInput":"{% $states.input %}","stateError":"{% $states.errorOutput %}"},"Next":"B"}]},"B":{"Type":"Succeed"}`),
			want: `{"stateInput":{"inputData":"dummy"},"stateError":{"Error":"Exception","Cause":"because"}}`,
		},
		{
			is: "a query that a Catch handles", definition: queryDefinition(`"A":{WORK,"Arguments":"{% $x %}","End":true,"Catch":[{"ErrorEquals":["States.QueryEvaluationError"],"Output":"caught","Next":"B"}]},"B":{"Type":"Succeed"}`),
			want: `"caught"`,
		},
		{
			is: "a query that States.ALL handles after the task", definition: queryDefinition(`"A":{WORK,"Output":"{% $x %}","End":true,"Catch":[{"ErrorEquals":["States.ALL"],"Output":"{% $states.errorOutput.Error %}","Next":"B"}]},"B":{"Type":"Succeed"}`),
			want: `"States.QueryEvaluationError"`,
		},
		{
			is: "a query in a Catch that fails", definition: queryDefinition(`"A":{WORK,"Arguments":{"fail":"E"},"End":true,"Catch":[{"ErrorEquals":["States.ALL"],"Output":"{% $x %}","Next":"B"}]},"B":{"Type":"Succeed"}`),
			want: failedIn + "The JSONata expression '$x' specified for the field 'Catch[0]/Output' returned nothing (undefined).",
		},
		{
			is: "a result that Output and Assign see", definition: queryDefinition(`"A":{WORK,"Arguments":{"n":2},"Assign":{"n":"{% $states.result.n %}"},"Output":"{% [$states.input, $states.result.n, $exists($n)] %}","Next":"B"},
				"B":{"Type":"Pass","Output":["{% $states.input %}","{% $n %}"],"End":true}`), input: `{"i":1}`,
			want: `[[{"i":1},2,false],2]`,
		},
		{
			is: "TimeoutSeconds that is no integer", definition: queryDefinition(`"A":{WORK,"TimeoutSeconds":"{% 1.5 %}","End":true}`),
			want: failedIn + "The TimeoutSeconds field cannot be parsed as an integer: 1.5",
		},
		{
			is: "a Condition that is no boolean", definition: queryDefinition(`"A":{"Type":"Choice","Choices":[{"Condition":"{% 1 %}","Next":"B"}]},"B":{"Type":"Succeed"}`),
			want: failedIn + "The JSONata expression '1' specified for the field 'Choices[0]/Condition' returned an unexpected result type. Expected 'boolean', but was 'number' for value: 1",
		},
		{
			is: "a Parallel, whose Arguments are evaluated once", definition: queryDefinition(`"A":{"Type":"Parallel","Arguments":{"id":"{% $uuid() %}","n":"{% $states.input.n %}"},
				"Branches":[{"StartAt":"L","States":{"L":{WORK,"Arguments":"{% $states.input %}","End":true}}},{"StartAt":"R","States":{"R":{"Type":"Wait","Seconds":1,"End":true}}}],
				"Output":"{% [$states.result[0].id = $states.result[1].id, $states.result.n] %}","End":true}`), input: `{"n":3}`,
			want: `[true,3,3]`,
		},
		{
			is: "a Map, whose Items are evaluated once", definition: queryDefinition(`"A":{"Type":"Map","Items":"{% $map([1,1], function(){ $uuid() }) %}","MaxConcurrency":"{% 1 %}",
				"ItemSelector":{"id":"{% $states.context.Map.Item.Value %}"},
				"ItemProcessor":{"StartAt":"P","States":{"P":{WORK,"Arguments":"{% $states.input %}","Output":"{% $states.result.id = $states.context.Map.Item.Value %}","End":true}}},"End":true}`),
			want: `[true,true]`,
		},
	} {
		for _, cut := range []int{0, 1} {
			x := newMemoryExecution(t, row.definition)
			x.cut = cut

			input := row.input
			if input == "" {
				input = "{}"
			}

			if err := x.start(input); err != nil {
				t.Fatal(err)
			}

			x.finish(t)

			if got := x.outcome(t); got != row.want {
				t.Errorf("%s (%s), cut %d:\ngot  %s\nwant %s\n%s", row.is, row.source, cut, got, row.want, x.history())
			}
		}
	}
}
