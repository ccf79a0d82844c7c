package stepfunctions

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sfn"
	"github.com/aws/aws-sdk-go-v2/service/sfn/types"
)

// An execution in JSONata survives a restart between its events, and its history agrees with the
// service's.
func TestQueriesOnTheWire(t *testing.T) {
	dir := t.TempDir()
	b := open(t, dir)
	activity := b.activity("w")
	machine := b.machine("m", `{"QueryLanguage":"JSONata","StartAt":"Set","States":{
		"Set":{"Type":"Pass","Assign":{"id":"{% $uuid() %}","rate":1.5},"Output":"{% $states.input.lines %}","Next":"Each"},
		"Each":{"Type":"Map","MaxConcurrency":"{% 1 %}","ItemSelector":{"sku":"{% $states.context.Map.Item.Value.sku %}","id":"{% $id %}"},
			"ItemProcessor":{"StartAt":"Work","States":{"Work":{"Type":"Task","Resource":"`+activity+`",
				"Arguments":{"sku":"{% $uppercase($states.input.sku) %}","id":"{% $states.input.id %}"},"TimeoutSeconds":"{% 60 %}",
				"Output":{"sku":"{% $states.result.sku %}","same":"{% $states.result.id = $id %}"},"End":true}}},
			"Assign":{"count":"{% $count($states.result) %}"},
			"Output":"{% {'all': $states.result, 'total': $sum($states.input.price) * $rate} %}","End":true}}}`)
	execution := b.start(machine, "e", `{"lines":[{"sku":"a","price":2},{"sku":"b","price":4}]}`)

	for range 2 {
		b.stop()
		b = open(t, dir)

		task := b.poll(activity)
		if err := b.succeed(task.TaskToken, aws.ToString(task.Input)); err != nil {
			t.Fatal(err)
		}
	}

	const want = `{"all":[{"sku":"A","same":true},{"sku":"B","same":true}],"total":9}`
	if d := b.describe(execution); aws.ToString(d.Output) != want {
		t.Errorf("output %s, cause %s", aws.ToString(d.Output), aws.ToString(d.Cause))
	}

	h, err := b.GetExecutionHistory(t.Context(), &sfn.GetExecutionHistoryInput{ExecutionArn: &execution, MaxResults: 100})
	if err != nil {
		t.Fatal(err)
	}

	for _, e := range h.Events {
		switch e.Type {
		case types.HistoryEventTypeMapStateStarted:
			if got := e.MapStateStartedEventDetails.Length; got != 2 {
				t.Errorf("%d items", got)
			}
		case types.HistoryEventTypeActivityScheduled:
			d := e.ActivityScheduledEventDetails
			if !strings.HasPrefix(aws.ToString(d.Input), `{"sku":"`) || aws.ToInt64(d.TimeoutInSeconds) != 60 {
				t.Errorf("scheduled %s with %d seconds", aws.ToString(d.Input), aws.ToInt64(d.TimeoutInSeconds))
			}
		case types.HistoryEventTypeMapStateExited:
			if got := fmt.Sprint(e.StateExitedEventDetails.AssignedVariables); got != "map[count:2]" {
				t.Errorf("assigned %s", got)
			}
		default:
		}
	}

	d, err := b.DescribeStateMachine(t.Context(), &sfn.DescribeStateMachineInput{StateMachineArn: &machine})
	if err != nil {
		t.Fatal(err)
	}

	if got := fmt.Sprint(d.VariableReferences); got != "map[Each:[id rate] Work:[id]]" {
		t.Errorf("read %s", got)
	}
}

// TestState with states in JSONata. The causes were answered by TestState on AWS.
// Source: https://github.com/floci-io/floci/issues/2737
func TestTestStateQueries(t *testing.T) {
	b := open(t, t.TempDir())
	const call = `"Type":"Task","QueryLanguage":"JSONata","Resource":"arn:aws:states:::sqs:sendMessage","Arguments":{"QueueUrl":"{% $states.input.q %}","MessageBody":"{% $m %}"}`

	for _, row := range []struct {
		is, state, input, variables string
		mock                        *types.MockInput
		want                        string
	}{
		{
			is: "a Pass", state: `{"Type":"Pass","QueryLanguage":"JSONata","Output":"{% $states.input.n + $x %}","Assign":{"x":"{% $x + 1 %}"},"Next":"B"}`,
			input: `{"n":1}`, variables: `{"x":2}`,
			want: `SUCCEEDED output=3 next=B input={"n":1} variables={"x":3}`,
		},
		{
			is: "an error", state: `{"Type":"Pass","QueryLanguage":"JSONata","Output":{"r":"{% $eval(\"1+1\") %}"},"End":true}`, input: `{}`,
			want: `FAILED error=States.QueryEvaluationError cause=The JSONata expression '$eval("1+1")' specified for the field 'Output/r' ` +
				`threw an error during evaluation. T1006: Attempted to invoke a non-function input={}`,
		},
		{
			is: "a result", state: `{` + call + `,"Output":"{% $states.result.MessageId %}","Next":"B"}`, input: `{"q":"u"}`, variables: `{"m":"text"}`,
			mock: &types.MockInput{Result: aws.String(`{"MessageId":"7"}`)},
			want: `SUCCEEDED output="7" next=B input={"q":"u"} result={"MessageId":"7"} variables={"m":"text"} afterArguments={"QueueUrl":"u","MessageBody":"text"}`,
		},
		{
			is: "a caught error", state: `{` + call + `,"Catch":[{"ErrorEquals":["E"],"Output":"{% $states.errorOutput.Cause %}","Next":"C"}],"End":true}`,
			input: `{"q":"u"}`, variables: `{"m":"text"}`,
			mock: &types.MockInput{ErrorOutput: &types.MockErrorOutput{Error: aws.String("E"), Cause: aws.String("c")}},
			want: `CAUGHT_ERROR output="c" next=C error=E cause=c input={"q":"u"} variables={"m":"text"} afterArguments={"QueueUrl":"u","MessageBody":"text"}`,
		},
	} {
		in := &sfn.TestStateInput{Definition: &row.state, Input: &row.input, InspectionLevel: types.InspectionLevelDebug, Mock: row.mock}
		if row.variables != "" {
			in.Variables = &row.variables
		}

		out, err := b.TestState(t.Context(), in)
		if err != nil {
			t.Errorf("%s: %v", row.is, err)
			continue
		}

		got := tested(out)
		if out.InspectionData.AfterArguments != nil {
			got += " afterArguments=" + *out.InspectionData.AfterArguments
		}

		if got != row.want {
			t.Errorf("%s:\n%s\nwant:\n%s", row.is, got, row.want)
		}
	}
}

// The example in docs/guides/engine/jsonata.md works as the page describes.
func TestTheExampleOfJSONata(t *testing.T) {
	page, err := os.ReadFile("../../../docs/guides/engine/jsonata.md")
	if err != nil {
		t.Fatal(err)
	}

	_, rest, _ := strings.Cut(string(page), "# JSONata")
	_, rest, _ = strings.Cut(rest, "```json\n")
	definition, _, _ := strings.Cut(rest, "```")

	b := open(t, t.TempDir())
	machine := b.machine("m", definition)

	for input, want := range map[string]string{
		`{"id":"o-1","lines":[{"price":30,"quantity":2},{"price":50,"quantity":1}]}`: `"o-1 is large"`,
		`{"id":"o-2","lines":[{"price":30,"quantity":2}]}`:                           `{"total":60}`,
	} {
		execution := b.start(machine, "", input)
		if d := b.describe(execution); aws.ToString(d.Output) != want {
			t.Errorf("%s: %s %s", input, aws.ToString(d.Output), aws.ToString(d.Cause))
		}
	}
}
