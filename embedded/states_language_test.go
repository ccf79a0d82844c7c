package embedded_test

import (
	"fmt"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sfn"
	"github.com/aws/aws-sdk-go-v2/service/sfn/types"

	"ratchet/embedded/embeddedtest"
)

// TestTheStatesLanguageIsAsDocumented has what the developer guide of Step Functions says of its intrinsic functions,
// of the comparisons of a Choice, of paths and of the names of errors.
// Source: https://docs.aws.amazon.com/step-functions/latest/dg/
func TestTheStatesLanguageIsAsDocumented(t *testing.T) {
	client := sfn.NewFromConfig(embeddedtest.Open(t).AWSConfig())

	choice := func(rule string) string {
		return `{"Type":"Choice","Choices":[{` + rule + `,"Next":"Yes"}],"Default":"No"}`
	}
	pass := func(value string) string { return `{"Type":"Pass","Parameters":{"a.$":"` + value + `"},"End":true}` }
	query := func(value string) string {
		return `{"QueryLanguage":"JSONata","Type":"Pass","Output":"{% ` + value + ` %}","End":true}`
	}

	for _, row := range []struct{ name, state, input, want string }{
		// intrinsic-functions.html
		{"Format", pass(`States.Format('Hello, my name is {}.', $.name)`), `{"name":"Arnav"}`, `{"a":"Hello, my name is Arnav."}`},
		{"Format escapes", pass(`States.Format('\\'{}\\' \\{\\} \\\\', $.n)`), `{"n":1.5}`, `{"a":"'1.5' {} \\"}`},
		{"Format of null and a truth value", pass(`States.Format('{} {}', $.n, true)`), `{"n":null}`, `{"a":"null true"}`},
		{"Format lacks an argument", pass(`States.Format('{} {}', $.n)`), `{"n":1}`, "States.IntrinsicFailure"},
		{"ArrayPartition", pass(`States.ArrayPartition($.l, 4)`), `{"l":[1,2,3,4,5,6,7,8,9]}`, `{"a":[[1,2,3,4],[5,6,7,8],[9]]}`},
		{"ArrayPartition rounds", pass(`States.ArrayPartition($.l, 1.6)`), `{"l":[1,2,3]}`, `{"a":[[1,2],[3]]}`},
		{"ArrayPartition of 0", pass(`States.ArrayPartition($.l, 0)`), `{"l":[1]}`, "States.IntrinsicFailure"},
		{"ArrayContains", pass(`States.ArrayContains($.l, $.x)`), `{"l":[{"a":1,"b":2}],"x":{"b":2,"a":1}}`, `{"a":true}`},
		{"ArrayRange", pass(`States.ArrayRange(1, 9, 2)`), `{}`, `{"a":[1,3,5,7,9]}`},
		{"ArrayRange down", pass(`States.ArrayRange(9, 1, -4)`), `{}`, `{"a":[9,5,1]}`},
		{"ArrayRange of step 0", pass(`States.ArrayRange(1, 9, 0)`), `{}`, "States.IntrinsicFailure"},
		{"ArrayRange of 1000", pass(`States.ArrayLength(States.ArrayRange(1, 1000, 1))`), `{}`, `{"a":1000}`},
		{"ArrayRange of 1001", pass(`States.ArrayRange(1, 1001, 1)`), `{}`, "States.IntrinsicFailure"},
		{"ArrayGetItem", pass(`States.ArrayGetItem($.l, 5)`), `{"l":[1,2,3,4,5,6,7,8,9]}`, `{"a":6}`},
		{"ArrayGetItem beyond", pass(`States.ArrayGetItem($.l, 1)`), `{"l":[1]}`, "States.IntrinsicFailure"},
		{"ArrayUnique", pass(`States.ArrayUnique($.l)`), `{"l":[1,2,3,3,3,3,3,3,4]}`, `{"a":[1,2,3,4]}`},
		{"Base64Encode", pass(`States.Base64Encode('Data to encode')`), `{}`, `{"a":"RGF0YSB0byBlbmNvZGU="}`},
		{"Base64Decode", pass(`States.Base64Decode('RGVjb2RlZCBkYXRh')`), `{}`, `{"a":"Decoded data"}`},
		{"Base64Decode of nonsense", pass(`States.Base64Decode('%')`), `{}`, "States.IntrinsicFailure"},
		{"Hash", pass(`States.Hash('input data', 'SHA-1')`), `{}`, `{"a":"aaff4a450a104cd177d28d18d74485e8cae074b7"}`},
		{"Hash of another algorithm", pass(`States.Hash('input data', 'SHA-3')`), `{}`, "States.IntrinsicFailure"},
		{"JsonMerge", pass(`States.JsonMerge($.x, $.y, false)`), `{"x":{"a":{"a1":1,"a2":2},"b":2},"y":{"a":{"a3":1,"a4":2},"c":3}}`, `{"a":{"b":2,"a":{"a3":1,"a4":2},"c":3}}`},
		{"JsonMerge, deep", pass(`States.JsonMerge($.x, $.y, true)`), `{"x":{},"y":{}}`, "States.IntrinsicFailure"},
		{"StringToJson", pass(`States.StringToJson($.s)`), `{"s":"{\"foo\": \"bar\"}"}`, `{"a":{"foo":"bar"}}`},
		{"StringToJson of nonsense", pass(`States.StringToJson($.s)`), `{"s":"{"}`, "States.IntrinsicFailure"},
		{"JsonToString", pass(`States.JsonToString($.s)`), `{"s":{"foo":"bar","n":[1, 2]}}`, `{"a":"{\"foo\":\"bar\",\"n\":[1,2]}"}`},
		{"MathAdd", pass(`States.MathAdd($.v, $.s)`), `{"v":111,"s":-1}`, `{"a":110}`},
		{"MathAdd rounds", pass(`States.MathAdd(1.6, 1)`), `{}`, `{"a":3}`},
		{"MathRandom", pass(`States.MathRandom(5, 6)`), `{}`, `{"a":5}`},
		{"StringSplit at several delimiters", pass(`States.StringSplit($.s, '.+,=')`), `{"s":"This.is+a,test=string"}`, `{"a":["This","is","a","test","string"]}`},
		{"StringSplit, empty", pass(`States.StringSplit($.s, ',')`), `{"s":"a,,b"}`, `{"a":["a","b"]}`},
		{"nested", pass(`States.Array(States.Array(States.Array(States.Array(States.Array(States.Array(States.Array(States.Array(States.Array(States.Array())))))))))`), `{}`, `{"a":[[[[[[[[[[]]]]]]]]]]}`},

		// state-choice.html and the specification
		{"StringMatches", choice(`"Variable":"$.s","StringMatches":"log-*.txt"`), `{"s":"log-2019.txt"}`, "Yes"},
		{"StringMatches, escaped", choice(`"Variable":"$.s","StringMatches":"a\\*b"`), `{"s":"axb"}`, "No"},
		{"StringMatches, escaped and there", choice(`"Variable":"$.s","StringMatches":"a\\*b"`), `{"s":"a*b"}`, "Yes"},
		{"IsTimestamp", choice(`"Variable":"$.s","IsTimestamp":true`), `{"s":"2001-01-01T12:00:00Z"}`, "Yes"},
		{"IsTimestamp with an offset", choice(`"Variable":"$.s","IsTimestamp":true`), `{"s":"2001-01-01T12:00:00.5+01:00"}`, "Yes"},
		{"IsTimestamp of a day", choice(`"Variable":"$.s","IsTimestamp":true`), `{"s":"2001-01-01"}`, "No"},
		{"IsTimestamp in small letters", choice(`"Variable":"$.s","IsTimestamp":true`), `{"s":"2001-01-01t12:00:00z"}`, "No"},
		{"a timestamp and another offset", choice(`"Variable":"$.s","TimestampEquals":"2001-01-01T12:00:00Z"`), `{"s":"2001-01-01T13:00:00+01:00"}`, "Yes"},
		{"TimestampLessThanPath", choice(`"Variable":"$.s","TimestampLessThanPath":"$.o"`), `{"s":"2001-01-01T12:00:00Z","o":"2001-01-01T12:00:00.001Z"}`, "Yes"},
		{"another type", choice(`"Variable":"$.s","BooleanEquals":true`), `{"s":"true"}`, "No"},
		{"a number as text", choice(`"Variable":"$.s","NumericEquals":1`), `{"s":"1"}`, "No"},
		{"1.0 is 1", choice(`"Variable":"$.s","NumericEquals":1`), `{"s":1.0}`, "Yes"},
		{"IsPresent of null", choice(`"Variable":"$.s","IsPresent":true`), `{"s":null}`, "Yes"},
		{"IsPresent of nothing", choice(`"Variable":"$.s.t","IsPresent":false`), `{}`, "Yes"},
		{"IsNull of nothing", choice(`"Variable":"$.s","IsNull":true`), `{}`, "States.Runtime"},
		{"And stops early", choice(`"And":[{"Variable":"$.s","IsPresent":true},{"Variable":"$.s","NumericEquals":1}]`), `{}`, "No"},
		{"StringLessThan by code", choice(`"Variable":"$.s","StringLessThan":"a"`), `{"s":"Z"}`, "Yes"},
		{"a path to nothing on the right", choice(`"Variable":"$.s","StringEqualsPath":"$.o"`), `{"s":"a"}`, "States.Runtime"},
		{"no rule", `{"Type":"Choice","Choices":[{"Variable":"$.s","NumericEquals":1,"Next":"Yes"}]}`, `{"s":2}`, "States.NoChoiceMatched"},

		// input and output processing
		{"InputPath null", `{"Type":"Pass","InputPath":null,"End":true}`, `{"s":1}`, `{}`},
		{"OutputPath null", `{"Type":"Pass","OutputPath":null,"End":true}`, `{"s":1}`, `{}`},
		{"ResultPath null", `{"Type":"Pass","Result":1,"ResultPath":null,"End":true}`, `{"s":1}`, `{"s":1}`},
		{"ResultPath makes objects", `{"Type":"Pass","Result":1,"ResultPath":"$.a.b","End":true}`, `{"s":1}`, `{"s":1,"a":{"b":1}}`},
		{"ResultPath into a number", `{"Type":"Pass","Result":1,"ResultPath":"$.s.b","End":true}`, `{"s":1}`, "States.ResultPathMatchFailure"},
		{"a template in a list is text", `{"Type":"Pass","Parameters":{"a":["$.s"]},"End":true}`, `{"s":1}`, `{"a":["$.s"]}`},
		{"a filter gives a list", pass(`$.l[?(@.n > 1)].n`), `{"l":[{"n":1},{"n":2},{"n":3}]}`, `{"a":[2,3]}`},
		{"a filter that finds nothing", pass(`$.l[?(@.n > 5)]`), `{"l":[{"n":1}]}`, `{"a":[]}`},
		// error-handling.html has States.ParameterPathFailure for it. Recorded answers have this.
		{"a path to nothing", pass(`$.none`), `{}`, "States.Runtime"},
		{"the last element", pass(`$.l[-1:]`), `{"l":[1,2]}`, `{"a":[2]}`},
		{"FailPaths", `{"Type":"Fail","ErrorPath":"$.e","CausePath":"States.Format('because {}', $.c)"}`, `{"e":"Mine","c":1}`, "Mine"},
		{"a Wait for no number", `{"Type":"Wait","SecondsPath":"$.s","End":true}`, `{"s":"1"}`, "States.Runtime"},

		// transforming-data.html
		{"$partition", query(`$partition([1,2,3,4,5], 2)`), `{}`, `[[1,2],[3,4],[5]]`},
		{"$range", query(`$range(1, 9, 4)`), `{}`, `[1,5,9]`},
		{"$hash", query(`$hash('input data', 'SHA-1')`), `{}`, `"aaff4a450a104cd177d28d18d74485e8cae074b7"`},
		{"$parse", query(`$parse($states.input.s)`), `{"s":"{\"a\": 1}"}`, `{"a":1}`},
		{"$eval is not there", query(`$eval('1')`), `{}`, "States.QueryEvaluationError"},
		{"nothing is an error", query(`$states.input.none`), `{}`, "States.QueryEvaluationError"},
		{"a condition of no truth value", `{"QueryLanguage":"JSONata","Type":"Choice","Choices":[{"Condition":"{% 1 %}","Next":"Yes"}],"Default":"No"}`, `{}`, "States.QueryEvaluationError"},
	} {
		out, err := client.TestState(t.Context(), &sfn.TestStateInput{Definition: &row.state, Input: &row.input, RoleArn: aws.String("arn:aws:iam::000000000000:role/r")})
		if err != nil {
			t.Errorf("%s: %v", row.name, err)
			continue
		}

		got := aws.ToString(out.Output)
		switch {
		case out.Error != nil:
			got = *out.Error
		case out.NextState != nil:
			got = *out.NextState
		}

		if got != row.want {
			t.Errorf("%s: %s %s, want %s", row.name, got, aws.ToString(out.Cause), row.want)
		}
	}
}

// TestErrorsAreCaughtAsDocumented has what the developer guide says of error names, Retry and Catch.
// Source: https://docs.aws.amazon.com/step-functions/latest/dg/concepts-error-handling.html
func TestErrorsAreCaughtAsDocumented(t *testing.T) {
	client := sfn.NewFromConfig(embeddedtest.Open(t).AWSConfig())

	const task = `{"Type":"Task","Resource":"arn:aws:states:::sqs:sendMessage","Parameters":{"QueueUrl":"q","MessageBody":"m"},"End":true`
	catch := func(rules string) string { return task + `,"Catch":[` + rules + `]}` }
	retry := func(rule string) string { return task + `,"Retry":[{"ErrorEquals":["E"],` + rule + `}]}` }

	for _, row := range []struct {
		name, state, fails string
		retries            int32
		want               string
	}{
		{"a name of the task's own", catch(`{"ErrorEquals":["E"],"Next":"Mine"},{"ErrorEquals":["States.ALL"],"Next":"All"}`), "E", 0, "Mine"},
		{"the first rule that fits", catch(`{"ErrorEquals":["States.TaskFailed"],"Next":"Task"},{"ErrorEquals":["E"],"Next":"Mine"}`), "E", 0, "Task"},
		{"TaskFailed is no Timeout", catch(`{"ErrorEquals":["States.TaskFailed"],"Next":"Task"},{"ErrorEquals":["States.ALL"],"Next":"All"}`), "States.Timeout", 0, "All"},
		{"TaskFailed is Permissions", catch(`{"ErrorEquals":["States.TaskFailed"],"Next":"Task"}`), "States.Permissions", 0, "Task"},
		// The guide excepts this error. It was recorded that the answer of a call is no exception.
		{"ALL is DataLimitExceeded of a call", catch(`{"ErrorEquals":["States.ALL"],"Next":"All"}`), "States.DataLimitExceeded", 0, "All"},
		{"ALL is no Runtime", catch(`{"ErrorEquals":["States.ALL"],"Next":"All"}`), "States.Runtime", 0, "States.Runtime"},
		{"no rule fits", catch(`{"ErrorEquals":["F"],"Next":"All"}`), "E", 0, "E"},
		{"the first retry", retry(`"IntervalSeconds":3,"BackoffRate":2`), "E", 0, "3"},
		{"the second", retry(`"IntervalSeconds":3,"BackoffRate":2`), "E", 1, "6"},
		{"the last of three", retry(`"IntervalSeconds":3,"BackoffRate":2`), "E", 2, "12"},
		{"no fourth", retry(`"IntervalSeconds":3,"BackoffRate":2`), "E", 3, "E"},
		{"a longest pause", retry(`"IntervalSeconds":3,"BackoffRate":2,"MaxDelaySeconds":5`), "E", 2, "5"},
		{"the defaults", retry(`"MaxAttempts":1`), "E", 0, "1"},
		{"no attempt", retry(`"MaxAttempts":0`), "E", 0, "E"},
	} {
		out, err := client.TestState(t.Context(), &sfn.TestStateInput{
			Definition: &row.state, Input: aws.String("{}"), RoleArn: aws.String("arn:aws:iam::000000000000:role/r"), InspectionLevel: types.InspectionLevelDebug,
			Mock:               &types.MockInput{ErrorOutput: &types.MockErrorOutput{Error: &row.fails, Cause: aws.String("c")}},
			StateConfiguration: &types.TestStateConfiguration{RetrierRetryCount: aws.Int32(row.retries)},
		})
		if err != nil {
			t.Errorf("%s: %v", row.name, err)
			continue
		}

		got := aws.ToString(out.Error)
		switch {
		case out.NextState != nil:
			got = *out.NextState
		case out.Status == types.TestExecutionStatusRetriable:
			got = fmt.Sprint(aws.ToInt32(out.InspectionData.ErrorDetails.RetryBackoffIntervalSeconds))
		}

		if got != row.want {
			t.Errorf("%s: %s %s, want %s", row.name, got, out.Status, row.want)
		}
	}
}
