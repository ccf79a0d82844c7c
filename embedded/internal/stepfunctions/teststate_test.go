package stepfunctions

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sfn"
	"github.com/aws/aws-sdk-go-v2/service/sfn/types"
	"github.com/aws/smithy-go"

	"ratchet/embedded/internal/wire"
)

// tested renders the answer of TestState, without what is absent.
func tested(out *sfn.TestStateOutput) string {
	var text strings.Builder
	text.WriteString(string(out.Status))

	show := func(name string, value *string) {
		if value != nil {
			fmt.Fprintf(&text, " %s=%s", name, *value)
		}
	}
	show("output", out.Output)
	show("next", out.NextState)
	show("error", out.Error)
	show("cause", out.Cause)

	if d := out.InspectionData; d != nil {
		show("input", d.Input)
		show("afterInputPath", d.AfterInputPath)
		show("afterParameters", d.AfterParameters)
		show("result", d.Result)
		show("afterResultSelector", d.AfterResultSelector)
		show("afterResultPath", d.AfterResultPath)
		show("variables", d.Variables)
	}

	return text.String()
}

// TestTestState has the states and answers that were recorded on AWS.
// Source: https://github.com/localstack/localstack tests/aws/services/stepfunctions/v2/test_state
func TestTestState(t *testing.T) {
	b := open(t, t.TempDir())
	const call = `"Type":"Task","Resource":"arn:aws:states:::sqs:sendMessage","Parameters":{"QueueUrl.$":"$.q","MessageBody":"m"}`

	for _, row := range []struct {
		is, state, input string
		level            types.InspectionLevel
		variables        string
		mock             *types.MockInput
		want             string
	}{
		{
			is: "a Pass", state: `{"Type":"Pass","Next":"B"}`, input: `{"Value":"HelloWorld"}`,
			want: `SUCCEEDED output={"Value":"HelloWorld"} next=B`,
		},
		{
			is: "a Pass with its fields", level: types.InspectionLevelDebug,
			state: `{"Type":"Pass","InputPath":"$.a","Parameters":{"p.$":"$.b"},"ResultPath":"$.r","OutputPath":"$.r","End":true}`,
			input: `{"a":{"b":1}}`,
			want: `SUCCEEDED output={"p":1} input={"a":{"b":1}} afterInputPath={"b":1} afterParameters={"p":1} ` +
				`afterResultSelector={"p":1} afterResultPath={"a":{"b":1},"r":{"p":1}}`,
		},
		{
			is: "a literal result", level: types.InspectionLevelTrace, state: `{"Type":"Pass","Result":{"r":1},"End":true}`, input: `{}`,
			want: `SUCCEEDED output={"r":1} input={} result={"r":1} afterResultSelector={"r":1} afterResultPath={"r":1}`,
		},
		{
			is: "a Fail", level: types.InspectionLevelDebug, state: `{"Type":"Fail","Error":"E","Cause":"because"}`, input: `{}`,
			want: `FAILED error=E cause=because input={} afterInputPath={}`,
		},
		{
			is: "a Succeed", level: types.InspectionLevelDebug, state: `{"Type":"Succeed"}`, input: `{"a":1}`,
			want: `SUCCEEDED output={"a":1} input={"a":1} afterInputPath={"a":1}`,
		},
		{
			is: "a Choice", state: `{"Type":"Choice","Choices":[{"Variable":"$.v","NumericGreaterThan":20,"Next":"Twenties"}],"Default":"Other"}`,
			input: `{"v":22}`, want: `SUCCEEDED output={"v":22} next=Twenties`,
		},
		{
			is: "a Wait of a day", state: `{"Type":"Wait","Seconds":86400,"Next":"B"}`, input: `{"a":1}`,
			want: `SUCCEEDED output={"a":1} next=B`,
		},
		{
			is: "a state that leads to itself", state: `{"Type":"Pass","Result":1,"Next":"StateName"}`, input: `{}`,
			want: `SUCCEEDED output=1 next=StateName`,
		},
		{
			is: "variables", level: types.InspectionLevelDebug, variables: `{"x":2,"y":3}`,
			state: `{"Type":"Pass","Parameters":{"v.$":"States.MathAdd($x, $y)"},"Assign":{"x.$":"$.v"},"End":true}`, input: `{}`,
			want: `SUCCEEDED output={"v":5} input={} afterInputPath={} afterParameters={"v":5} afterResultSelector={"v":5} ` +
				`afterResultPath={"v":5} variables={"y":3,"x":5}`,
		},
		{
			is: "a result", level: types.InspectionLevelDebug, state: `{` + call + `,"ResultSelector":{"id.$":"$.MessageId"},"Next":"B"}`, input: `{"q":"u"}`,
			mock: &types.MockInput{Result: aws.String(`{"MessageId":"7"}`)},
			want: `SUCCEEDED output={"id":"7"} next=B input={"q":"u"} afterInputPath={"q":"u"} ` +
				`afterParameters={"QueueUrl":"u","MessageBody":"m"} result={"MessageId":"7"} afterResultSelector={"id":"7"} afterResultPath={"id":"7"}`,
		},
		{
			is: "an error that is retried", state: `{` + call + `,"Retry":[{"ErrorEquals":["E"]}],"Catch":[{"ErrorEquals":["E"],"Next":"C"}],"End":true}`,
			input: `{"q":"u"}`, mock: &types.MockInput{ErrorOutput: &types.MockErrorOutput{Error: aws.String("E"), Cause: aws.String("c")}},
			want: `RETRIABLE error=E cause=c`,
		},
		{
			is: "an error that is caught", state: `{` + call + `,"Catch":[{"ErrorEquals":["E"],"ResultPath":"$.e","Next":"C"}],"End":true}`,
			input: `{"q":"u"}`, mock: &types.MockInput{ErrorOutput: &types.MockErrorOutput{Error: aws.String("E"), Cause: aws.String("c")}},
			want: `CAUGHT_ERROR output={"q":"u","e":{"Error":"E","Cause":"c"}} next=C error=E cause=c`,
		},
		{
			is: "an error that nothing handles", state: `{` + call + `,"End":true}`, input: `{"q":"u"}`,
			mock: &types.MockInput{ErrorOutput: &types.MockErrorOutput{Error: aws.String("E")}},
			want: `FAILED error=E`,
		},
		{
			is: "an activity", state: `{"Type":"Task","Resource":"arn:aws:states:us-east-1:000000000000:activity:a","End":true}`, input: `{}`,
			mock: &types.MockInput{Result: aws.String(`{"done": true}`)}, want: `SUCCEEDED output={"done":true}`,
		},
		{
			is: "a task that waits for its token", input: `{"q":"u"}`,
			state: `{` + strings.Replace(call, "sendMessage", "sendMessage.waitForTaskToken", 1) + `,"End":true}`,
			mock:  &types.MockInput{Result: aws.String(`5`)}, want: `SUCCEEDED output=5`,
		},
		{
			is: "a path that matches nothing", state: `{"Type":"Pass","InputPath":"$.no","End":true}`, input: `{}`,
			want: `FAILED error=States.Runtime cause=An error occurred while executing the state 'StateName' (entered at the event id #2). ` +
				`Invalid path '$.no' : No results for path: $['no']`,
		},
	} {
		in := &sfn.TestStateInput{Definition: &row.state, Input: &row.input, InspectionLevel: row.level, Mock: row.mock}
		if row.variables != "" {
			in.Variables = &row.variables
		}

		out, err := b.TestState(t.Context(), in)
		if err != nil {
			t.Errorf("%s: %v", row.is, err)
			continue
		}

		if got := tested(out); got != row.want {
			t.Errorf("%s:\n%s\nwant:\n%s", row.is, got, row.want)
		}
	}
}

func TestTestStateRefuses(t *testing.T) {
	b := open(t, t.TempDir())
	const call = `{"Type":"Task","Resource":"arn:aws:states:::sqs:sendMessage","End":true}`
	mock := &types.MockInput{Result: aws.String(`{}`)}

	for _, row := range []struct {
		is   string
		in   sfn.TestStateInput
		want string
	}{
		{"a call without a role", sfn.TestStateInput{Definition: aws.String(call)}, "ValidationException: RoleArn must be specified when testing a Task state"},
		{
			"a Parallel", sfn.TestStateInput{Definition: aws.String(`{"Type":"Parallel","Branches":[{"StartAt":"A","States":{"A":{"Type":"Succeed"}}}],"End":true}`)},
			"InvalidDefinition: TestState API does not support Map or Parallel states. Supported state types include: [Task, Wait, Pass, Succeed, Fail, Choice]",
		},
		{
			"an activity", sfn.TestStateInput{
				Definition: aws.String(`{"Type":"Task","Resource":"arn:aws:states:us-east-1:000000000000:activity:a","End":true}`), RoleArn: aws.String("r"),
			}, "InvalidDefinition: TestState API does not support activities.",
		},
		{"a mock of a Pass", sfn.TestStateInput{Definition: aws.String(`{"Type":"Pass","End":true}`), Mock: mock}, "ValidationException: State type 'Pass' is not supported when a mock is specified"},
		{"secrets of a mock", sfn.TestStateInput{Definition: aws.String(call), Mock: mock, RevealSecrets: true}, "ValidationException: TestState does not support RevealSecrets when a mock is specified."},
		{
			"a mock of two kinds", sfn.TestStateInput{Definition: aws.String(call), Mock: &types.MockInput{Result: aws.String(`{}`), ErrorOutput: &types.MockErrorOutput{}}},
			"ValidationException: A test mock should have only one of the following fields: [result, errorOutput].",
		},
		{"an unknown type", sfn.TestStateInput{Definition: aws.String(`{"Type":"Nap"}`)}, "InvalidDefinition: Invalid State Machine Definition: 'SCHEMA_VALIDATION_FAILED"},
		{"an input that is no JSON", sfn.TestStateInput{Definition: aws.String(`{"Type":"Succeed"}`), Input: aws.String("x y")}, "InvalidExecutionInput"},
	} {
		_, err := b.TestState(t.Context(), &row.in)

		var api smithy.APIError
		if !errors.As(err, &api) || !strings.Contains(api.ErrorCode()+": "+api.ErrorMessage(), row.want) {
			t.Errorf("%s: %v, want %s", row.is, err, row.want)
		}
	}
}

// SDKs send TestState to the host "sync-" + host. The engine answers it whatever the host
// is called, on a socket, too.
func TestTestStateOverASocket(t *testing.T) {
	b := open(t, t.TempDir())
	server := httptest.NewServer(wire.NewHandler(slog.Default(), b.svc.Wire()))
	defer server.Close()

	host := ""
	transport := &http.Transport{DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
		host = address
		return (&net.Dialer{}).DialContext(ctx, network, strings.TrimPrefix(server.URL, "http://"))
	}}
	defer transport.CloseIdleConnections()

	options := b.Options()
	options.BaseEndpoint = &server.URL
	options.HTTPClient = &http.Client{Transport: transport}

	out, err := sfn.New(options).TestState(t.Context(), &sfn.TestStateInput{Definition: aws.String(`{"Type":"Pass","Result":1,"End":true}`)})
	if err != nil || tested(out) != "SUCCEEDED output=1" {
		t.Fatal(out, err)
	}

	if !strings.HasPrefix(host, "sync-127.0.0.1:") {
		t.Errorf("the SDK asks %s", host)
	}
}
