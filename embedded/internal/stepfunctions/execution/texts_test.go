package execution

import (
	"strings"
	"testing"
)

// TestFailuresHaveTheWordsOfTheService compares errors and causes of running states with
// the recordings of AWS.
// Source: https://github.com/localstack/localstack tests/aws/services/stepfunctions/v2,
// base/test_wait and scenarios/test_base_scenarios.
func TestFailuresHaveTheWordsOfTheService(t *testing.T) {
	const iterate = `"ItemProcessor":{"StartAt":"I","States":{"I":{"Type":"Pass","End":true}}}`

	for _, row := range []struct{ is, state, input, cause string }{
		{
			"a negative wait", `"Type":"Wait","SecondsPath":"$.n"`, `{"n":-1}`,
			"The SecondsPath parameter references a negative value: $.n == -1",
		},
		{
			"a wait with a fraction", `"Type":"Wait","SecondsPath":"$.n"`, `{"n":1.5}`,
			"The SecondsPath parameter cannot be parsed as a long value: $.n == 1.5",
		},
		{
			"a timestamp without an offset", `"Type":"Wait","TimestampPath":"$.at"`, `{"at":"2016-12-05T21:29:29"}`,
			"The TimestampPath parameter does not reference a valid ISO-8601 extended offset date-time format string: $.at == 2016-12-05T21:29:29",
		},
		{
			"a timestamp without a T", `"Type":"Wait","TimestampPath":"$.at"`, `{"at":"2016-12-05 21:29:29Z"}`,
			"The TimestampPath parameter does not reference a valid ISO-8601 extended offset date-time format string: $.at == 2016-12-05 21:29:29Z",
		},
		{
			"a timestamp after 24,856 days", `"Type":"Wait","TimestampPath":"$.at"`, `{"at":"2094-01-21T03:04:05Z"}`,
			"Wait state delay is too long.",
		},
		{
			"no input under InputPath", `"Type":"Pass","InputPath":"$.no"`, `{}`,
			"Invalid path '$.no' : No results for path: $['no']",
		},
		{
			"an OutputPath that ends early", `"Type":"Pass","OutputPath":"$.no.such.path"`, `{}`,
			"Invalid path '$.no.such.path' : Missing property in path $['no']",
		},
		{
			"no number under TimeoutSecondsPath",
			`"Type":"Task","Resource":"arn:aws:states:us-east-1:000000000000:activity:work","TimeoutSecondsPath":"$.no"`, `{}`,
			"Invalid path '$.no' : No results for path: $['no']",
		},
		{
			"no number under HeartbeatSecondsPath",
			`"Type":"Task","Resource":"arn:aws:states:us-east-1:000000000000:activity:work","HeartbeatSecondsPath":"$.no"`, `{}`,
			"Invalid path '$.no' : No results for path: $['no']",
		},
		{
			"a concurrency that is text", `"Type":"Map","ItemsPath":"$.l",` + iterate + `,"MaxConcurrencyPath":"$.n"`, `{"n":"NoNumber","l":[1]}`,
			`The MaxConcurrencyPath field refers to value "NoNumber" which is not a valid integer: $.n`,
		},
		{
			"a concurrency that is an object", `"Type":"Map","ItemsPath":"$.l",` + iterate + `,"MaxConcurrencyPath":"$.n"`, `{"n":{},"l":[1]}`,
			`The MaxConcurrencyPath field refers to value "{}" which is not a valid integer: $.n`,
		},
		{
			"no value in the context object", `"Type":"Pass","Parameters":{"v.$":"$$.Execution.Input.no"}`, `{"a":0}`,
			`The JSONPath '$$.Execution.Input.no' specified for the field 'v.$' could not be found in the input '{"a":0}'`,
		},
		{
			"no text under CausePath", `"Type":"Fail","CausePath":"$.no"`, `{"a":0}`,
			`The JSONPath '$.no' specified for the field 'CausePath' could not be found in the input '{"a":0}'`,
		},
	} {
		definition := `{"StartAt":"S","States":{"S":{` + row.state
		if !strings.Contains(row.state, `"Fail"`) {
			definition += `,"End":true`
		}

		x := newMemoryExecution(t, definition+`}}}`)
		if err := x.start(row.input); err != nil {
			t.Fatal(err)
		}

		const prefix = "An error occurred while executing the state 'S' (entered at the event id #2). "

		if s := x.state(); s.Status != Failed || s.Error != runtimeError || s.Cause != prefix+row.cause {
			t.Errorf("%s: %s %s\n%s\nwant %s", row.is, s.Status, s.Error, s.Cause, prefix+row.cause)
		}

		// Neither time nor a Map has begun.
		if len(x.events) != 3 {
			t.Errorf("%s: %s", row.is, x.history())
		}
	}
}

// A wait of 24,855 days is allowed.
func TestTheLongestWait(t *testing.T) {
	x := newMemoryExecution(t, `{"StartAt":"S","States":{"S":{"Type":"Wait","TimestampPath":"$.at","End":true}}}`)
	if err := x.start(`{"at":"2094-01-20T03:04:05.000000Z"}`); err != nil {
		t.Fatal(err)
	}

	if s := x.state(); s.Status != Running {
		t.Errorf("%s: %s", s.Status, s.Cause)
	}
}

// A literal result above the limit ends in States.DataLimitExceeded, in a state without
// Catch and in an execution.
func TestALargeResultOfAPassState(t *testing.T) {
	x := newMemoryExecution(t, `{"StartAt":"S","States":{"S":{"Type":"Pass","Result":"`+strings.Repeat("a", MaxDocument+1)+`","End":true}}}`)
	if err := x.start(`{}`); err != nil {
		t.Fatal(err)
	}

	const cause = "The state/task 'S' returned a result with a size exceeding the maximum number of bytes service limit."

	if s := x.state(); s.Error != dataLimitError || s.Cause != cause {
		t.Errorf("%s: %s", s.Error, s.Cause)
	}
}

// TestDistributedMapsHaveTheWordsOfTheService does the same for the fields that a distributed
// Map reads once it has begun. Batches have not been recorded: their words are the engine's.
// Source: https://github.com/localstack/localstack tests/aws/services/stepfunctions/v2,
// scenarios/test_base_scenarios.
func TestDistributedMapsHaveTheWordsOfTheService(t *testing.T) {
	const (
		count, percentage = `"ToleratedFailureCountPath":"$.n"`, `"ToleratedFailurePercentagePath":"$.n"`
		items, bytes      = `"ItemBatcher":{"MaxItemsPerBatchPath":"$.n"}`, `"ItemBatcher":{"MaxInputBytesPerBatchPath":"$.n"}`
	)

	for _, row := range []struct{ field, n, cause string }{
		{count, `{}`, `The ToleratedFailureCountPath field refers to value "{}" which is not a valid integer: $.n`},
		{count, `"NoNumber"`, `The ToleratedFailureCountPath field refers to value "NoNumber" which is not a valid integer: $.n`},
		{count, `-1`, "ToleratedFailureCount cannot be negative."},
		{count, `"1"`, ""},
		{percentage, `{}`, `The ToleratedFailurePercentagePath field refers to value "{}" which is not a valid float: $.n`},
		{percentage, `"NoNumber"`, `The ToleratedFailurePercentagePath field refers to value "NoNumber" which is not a valid float: $.n`},
		{percentage, `-1.1`, "ToleratedFailurePercentage must be between 0 and 100."},
		{percentage, `100.1`, "ToleratedFailurePercentage must be between 0 and 100."},
		{percentage, `"NaN"`, "ToleratedFailurePercentage must be between 0 and 100."},
		{percentage, `100`, ""},
		{percentage, `1.1`, ""},
		{percentage, `"1"`, ""},
		{items, `"2"`, ""},
		{items, `0`, "MaxItemsPerBatch must be a positive integer."},
		{items, `1.5`, `The MaxItemsPerBatchPath field refers to value "1.5" which is not a valid integer: $.n`},
		{bytes, `-1`, "MaxInputBytesPerBatch must be a positive integer."},
		{bytes, `15000000`, ""}, // the limit of every input is smaller
	} {
		x := newMemoryExecution(t, `{"StartAt":"S","States":{"S":{"Type":"Map","Label":"l","ItemsPath":"$.l","End":true,`+row.field+`,"ItemProcessor":{
			"ProcessorConfig":{"Mode":"DISTRIBUTED","ExecutionType":"STANDARD"},"StartAt":"I","States":{"I":{"Type":"Pass","End":true}}}}}}`)
		if err := x.start(`{"l":[1],"n":` + row.n + `}`); err != nil {
			t.Fatal(err)
		}

		const (
			prefix = "An error occurred while executing the state 'S' (entered at the event id #2). "
			begun  = "1<0 ExecutionStarted\n2<0 MapStateEntered S\n3<2 MapStateStarted 1\n"
		)

		s, want := x.state(), begun+"4<3 MapRunStarted l:run-1\n"
		if row.cause != "" {
			want = begun + "4<3 ExecutionFailed States.Runtime\n"
		}

		if row.cause == "" && s.Status != Running || row.cause != "" && s.Cause != prefix+row.cause || x.history() != want {
			t.Errorf("%s %s: %s %s\n%s", row.field, row.n, s.Status, s.Cause, x.history())
		}
	}
}

// A batch has at least one item, which may be larger than the limit of batches, and at most as
// many as an input has room for.
func TestBatchesOfLargeItems(t *testing.T) {
	each := func(batcher, input string) *memoryExecution {
		x := newMemoryExecution(t, `{"StartAt":"S","States":{"S":{"Type":"Map","Label":"l","End":true,"ItemBatcher":`+batcher+`,"ItemProcessor":{
			"ProcessorConfig":{"Mode":"DISTRIBUTED","ExecutionType":"STANDARD"},"StartAt":"I","States":{"I":{"Type":"Pass","End":true}}}}}}`)
		if err := x.start(input); err != nil {
			t.Fatal(err)
		}

		return x
	}

	x := each(`{"MaxInputBytesPerBatch":20}`, `["a","`+strings.Repeat("b", 30)+`","c","d"]`)
	if inputs, _, err := x.inputs(x.runs[0], MapCursor{}); err != nil || len(inputs) != 3 || inputs[2] != `{"Items":["c","d"]}` {
		t.Error(inputs, err)
	}

	long := `"` + strings.Repeat("x", 100<<10) + `"`

	x = each(`{"MaxItemsPerBatch":100}`, "["+long+","+long+"]")
	if inputs, _, err := x.inputs(x.runs[0], MapCursor{}); err != nil || len(inputs) != 1 {
		t.Error(len(inputs), err)
	}

	// Two are as long as an input may be, and the batch makes them longer.
	half := `"` + strings.Repeat("x", MaxDocument/2-4) + `"`

	x = each(`{"MaxItemsPerBatch":100}`, "["+half+","+half+"]")
	if inputs, _, err := x.inputs(x.runs[0], MapCursor{}); err != nil || len(inputs) != 2 {
		t.Error(len(inputs), err)
	}

	// One alone has the limit of every input.
	for _, over := range []int{0, 1} {
		x = each(`{"MaxItemsPerBatch":1}`, `["`+strings.Repeat("x", MaxDocument-len(`{"Items":[""]}`)+over)+`"]`)

		inputs, failed, err := x.inputs(x.runs[0], MapCursor{})
		if err != nil || len(inputs) != 1-over || over == 1 && (failed == nil || failed.Name != dataLimitError) {
			t.Error(len(inputs), failed, err)
		}
	}
}
