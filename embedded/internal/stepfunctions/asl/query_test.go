package asl

import (
	"fmt"
	"strings"
	"testing"

	"ratchet/embedded/internal/stepfunctions/jsonata"
)

// queryMachine returns a definition in JSONata that starts with the state A.
func queryMachine(states string) string {
	return `{"QueryLanguage":"JSONata","StartAt":"A","States":{` + states + `}}`
}

// Diagnostics of definitions in JSONata. The rows with a source were measured on AWS.
func TestRefusedQueries(t *testing.T) {
	const (
		issue2670 = "https://github.com/floci-io/floci/issues/2670"
		issue2745 = "https://github.com/floci-io/floci/issues/2745"
		issue2968 = "https://github.com/floci-io/floci/issues/2968"
		recorded  = "LocalStack's recordings of AWS, test_sfn_api_validation"
	)

	pass := func(output string) string {
		return queryMachine(`"A":{"Type":"Pass","End":true,"Output":` + output + `}`)
	}
	const task = `"Type":"Task","End":true,"Resource":"arn:aws:states:us-east-1:000000000000:activity:w"`

	for _, row := range []struct {
		is, source, definition string
		want                   string // code, location and message
	}{
		{
			is: "a field that JSONPath reads", source: issue2968, definition: queryMachine(`"A":{"Type":"Pass","InputPath":"$.a","End":true}`),
			want: codeSchema + " /States/A The QueryLanguage is set to 'JSONata', but field 'InputPath' is only supported for the 'JSONPath' QueryLanguage",
		},
		{
			is: "a field that only JSONata has", source: issue2968, definition: machineOf(`"A":{"Type":"Pass","Output":1,"End":true}`),
			want: codeSchema + " /States/A The QueryLanguage is set to 'JSONPath', but field 'Output' is only supported for the 'JSONata' QueryLanguage",
		},
		{
			is: "a state of JSONPath in a machine of JSONata", source: recorded,
			definition: queryMachine(`"A":{"Type":"Pass","QueryLanguage":"JSONPath","End":true}`),
			want:       codeSchema + " /States/A 'QueryLanguage' can not be 'JSONPath' if set to 'JSONata' for whole state machine",
		},
		{
			is: "no language", source: issue2968, definition: machineOf(`"A":{"Type":"Pass","QueryLanguage":"jsonata","End":true}`),
			want: codeSchema + " /States/A/QueryLanguage Value should be one of the following: [JSONPath, JSONata]",
		},
		{
			is: "a language that is no text", source: issue2968, definition: machineOf(`"A":{"Type":"Pass","QueryLanguage":1,"End":true}`),
			want: codeSchema + " /States/A/QueryLanguage Expected value of type [STRING]",
		},
		{
			is: "a language of an item processor", source: issue2968,
			definition: queryMachine(`"A":{"Type":"Map","End":true,"ItemProcessor":{"QueryLanguage":"JSONata","StartAt":"P","States":{"P":{"Type":"Pass","End":true}}}}`),
			want:       codeSchema + " /States/A/ItemProcessor Field 'QueryLanguage' is not supported",
		},
		{
			is: "states of a Map have the language of the machine", source: issue2968,
			definition: machineOf(`"A":{"Type":"Map","QueryLanguage":"JSONata","End":true,"ItemProcessor":{"StartAt":"P","States":{"P":{"Type":"Pass","Output":1,"End":true}}}}`),
			want: codeSchema + " /States/A/ItemProcessor/States/P " +
				"The QueryLanguage is set to 'JSONPath', but field 'Output' is only supported for the 'JSONata' QueryLanguage",
		},
		{is: "a bracket", source: issue2745, definition: pass(`"{% a[1,2) %}"`), want: jsonata.CodeInvalid + ` /States/A/Output Expected "]", got ","`},
		{
			is: "a quote", source: issue2745, definition: pass(`"{% \"unterminated %}"`),
			want: jsonata.CodeInvalid + " /States/A/Output String literal must be terminated by a matching quote",
		},
		{is: "an end", source: issue2745, definition: pass(`"{% 1 + %}"`), want: jsonata.CodeInvalid + " /States/A/Output Unexpected end of expression"},
		{
			is: "an operator", source: issue2745, definition: pass(`"{% {\"a\":} %}"`),
			want: jsonata.CodeInvalid + ` /States/A/Output The symbol "}" cannot be used as a unary operator`,
		},
		{is: "a binding", source: issue2745, definition: pass(`"{% $x := %}"`), want: jsonata.CodeInvalid + " /States/A/Output Unexpected end of expression"},
		{
			is: "a regular expression", source: issue2745, definition: pass(`"{% $match(\"a\", /abc %}"`),
			want: jsonata.CodeInvalid + " /States/A/Output No terminating / in regular expression",
		},
		{
			is: "a parent", source: issue2745, definition: pass(`"{% phone %.other %}"`),
			want: jsonata.CodeInvalid + ` /States/A/Output The symbol "." cannot be used as a unary operator`,
		},
		{is: "nothing", source: issue2745, definition: pass(`"{% %}"`), want: jsonata.CodeInvalid + " /States/A/Output Unexpected end of expression"},
		{
			is: "a name at the top level", source: issue2670, definition: pass(`{"v":"{% phone %}"}`),
			want: jsonata.CodeUnsupported + " /States/A/Output/v Reference to 'phone' at the top level is not supported.",
		},
		{
			is: "a name in an array", source: issue2670, definition: pass(`{"a":{"b":["{% phone %}"]}}`),
			want: jsonata.CodeUnsupported + " /States/A/Output/a/b[0] Reference to 'phone' at the top level is not supported.",
		},
		{
			is: "a name in a function", source: issue2670, definition: pass(`"{% $map($states.input.a, function($x){ b }) %}"`),
			want: jsonata.CodeUnsupported + " /States/A/Output Reference to 'b' at the top level is not supported.",
		},
		{
			is: "a key", source: issue2670, definition: pass(`"{% {aaa: 1} %}"`),
			want: jsonata.CodeUnsupported + " /States/A/Output Reference to 'aaa' at the top level is not supported.",
		},
		{is: "the input", source: issue2670, definition: pass(`"{% $ %}"`), want: jsonata.CodeUnsupported + " /States/A/Output Reference to '$' at the top level is not supported."},
		{is: "the document", source: issue2745, definition: pass(`"{% $$ %}"`), want: jsonata.CodeUnsupported + " /States/A/Output Reference to '$$' is not supported."},
		{
			is: "an error without a Catch", source: issue2745, definition: pass(`"{% $states.errorOutput.Error %}"`),
			want: jsonata.CodeUnsupported + " /States/A/Output Field '$states.errorOutput' does not exist.",
		},
		{
			is: "a result of a Pass", definition: pass(`"{% $states.result %}"`),
			want: jsonata.CodeUnsupported + " /States/A/Output Field '$states.result' does not exist.",
		},
		{
			is: "a result in Arguments", definition: queryMachine(`"A":{` + task + `,"Arguments":{"r":"{% $states.result %}"}}`),
			want: jsonata.CodeUnsupported + " /States/A/Arguments/r Field '$states.result' does not exist.",
		},
		{
			is: "a result in a Catch", definition: queryMachine(`"A":{` + task + `,"Catch":[{"ErrorEquals":["States.ALL"],"Output":"{% $states.result %}","Next":"B"}]},"B":{"Type":"Succeed"}`),
			want: jsonata.CodeUnsupported + " /States/A/Catch[0]/Output Field '$states.result' does not exist.",
		},
		{
			is: "an unknown member", definition: pass(`"{% $states.inputs %}"`),
			want: jsonata.CodeUnsupported + " /States/A/Output Field '$states.inputs' does not exist.",
		},
		{
			is: "Assign of a reserved name", definition: queryMachine(`"A":{"Type":"Pass","Assign":{"states":1},"End":true}`),
			want: codeSchema + " /States/A/Assign/states the variable name 'states' is reserved",
		},
		{
			is: "a literal that is no number", definition: queryMachine(`"A":{` + task + `,"TimeoutSeconds":"5"}`),
			want: codeSchema + " /States/A/TimeoutSeconds the value for the field 'TimeoutSeconds' must be an INTEGER from 1 to 99999999",
		},
		{
			is: "a Condition that is no boolean", definition: queryMachine(`"A":{"Type":"Choice","Choices":[{"Condition":"yes","Next":"B"}]},"B":{"Type":"Succeed"}`),
			want: codeSchema + " /States/A/Choices[0]/Condition the value for the field 'Condition' must be a BOOLEAN or a JSONata expression",
		},
		{
			is: "a rule of JSONPath", definition: queryMachine(`"A":{"Type":"Choice","Choices":[{"Variable":"$.a","IsNull":true,"Condition":true,"Next":"B"}]},"B":{"Type":"Succeed"}`),
			want: codeSchema + " /States/A/Choices[0] The QueryLanguage is set to 'JSONata', but field 'Variable' is only supported for the 'JSONPath' QueryLanguage",
		},
		{
			is: "Items of another type", definition: queryMachine(`"A":{"Type":"Map","Items":1,"End":true,"ItemProcessor":{"StartAt":"P","States":{"P":{"Type":"Pass","End":true}}}}`),
			want: codeSchema + " /States/A/Items the value for the field 'Items' must be an ARRAY or a JSONata expression",
		},
		{
			is: "a long expression", definition: pass(`"{% ` + strings.Repeat("1+", 20_000) + `1 %}"`),
			want: jsonata.CodeInvalid + " /States/A/Output an expression has at most 32768 bytes in the embedded engine",
		},
		{
			is: "a variable of outer scopes in a distributed Map",
			definition: queryMachine(`"A":{"Type":"Pass","Assign":{"x":1},"Next":"M"},"M":{"Type":"Map","End":true,"ItemProcessor":{
				"ProcessorConfig":{"Mode":"DISTRIBUTED","ExecutionType":"STANDARD"},"StartAt":"P","States":{"P":{"Type":"Pass","Output":"{% $x %}","End":true}}}}`),
			want: codeSchema + " /States/M/ItemProcessor the state 'P' reads the variable 'x', which is not assigned inside of the " +
				"distributed Map: its executions cannot read variables of outer scopes",
		},
	} {
		machine, found := Parse([]byte(row.definition))
		if machine != nil {
			t.Errorf("%s is accepted", row.is)
			continue
		}

		if got := fmt.Sprintf("%s %s %s", found[0].Code, found[0].Location, found[0].Message); got != row.want {
			t.Errorf("%s (%s):\ngot  %s\nwant %s", row.is, row.source, got, row.want)
		}
	}
}

// Definitions in JSONata that the service accepts.
func TestAcceptedQueries(t *testing.T) {
	const task = `"Type":"Task","Resource":"arn:aws:states:us-east-1:000000000000:activity:w"`

	for _, definition := range []string{
		queryMachine(`"A":{"Type":"Pass","Output":"{% $states.input.items[value > 3].{\"v\": value} %}","End":true}`),
		queryMachine(`"A":{"Type":"Pass","Output":"{% $states.input.items^(price){name: $sum(price)} %}","End":true}`),
		queryMachine(`"A":{"Type":"Pass","Output":"{% ($x := $states.input.x; $x + $y) %}","End":true}`),
		queryMachine(`"A":{"Type":"Choice","Choices":[{"Condition":true,"Output":1,"Assign":{"a":"{% $states.input %}"},"Next":"B"}],"Default":"B","Output":2},"B":{"Type":"Succeed"}`),
		queryMachine(`"A":{"Type":"Wait","Timestamp":"{% $states.input.at %}","Next":"B"},"B":{"Type":"Wait","Seconds":"{% 1 %}","End":true}`),
		queryMachine(`"A":{"Type":"Fail","Error":"{% $states.input.e %}","Cause":"text"}`),
		queryMachine(`"A":{` + task + `,"Arguments":"{% $states.input %}","TimeoutSeconds":"{% $t %}","HeartbeatSeconds":"{% 5 %}","Output":"{% $states.result %}","End":true,
			"Catch":[{"ErrorEquals":["States.ALL"],"Output":"{% $states.errorOutput %}","Assign":{"e":"{% $states.errorOutput.Error %}"},"Next":"B"}]},"B":{"Type":"Succeed"}`),
		queryMachine(`"A":{"Type":"Map","Items":[1,"{% $number('2') %}"],"MaxConcurrency":"{% 2 %}","ItemSelector":{"v":"{% $states.context.Map.Item.Value %}"},"End":true,
			"ItemProcessor":{"StartAt":"P","States":{"P":{"Type":"Pass","End":true}}}}`),
		queryMachine(`"A":{"Type":"Map","Items":{"k":1},"ToleratedFailureCount":"{% 1 %}","ToleratedFailurePercentage":"{% 50 %}","End":true,
			"ItemBatcher":{"MaxItemsPerBatch":"{% 2 %}","BatchInput":{"at":"{% $now() %}"}},
			"ItemProcessor":{"ProcessorConfig":{"Mode":"DISTRIBUTED","ExecutionType":"EXPRESS"},"StartAt":"P","States":{"P":{"Type":"Pass","Output":"{% $sum([1]) %}","End":true}}}}`),
		machineOf(`"A":{"Type":"Pass","QueryLanguage":"JSONata","Output":"{% 1 %}","Next":"B"},"B":{"Type":"Pass","Parameters":{"a.$":"$"},"End":true}`),
	} {
		if machine, found := Parse([]byte(definition)); machine == nil {
			t.Errorf("%s\n%v", definition, found.Err())
		}
	}
}
