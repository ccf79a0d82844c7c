package stepfunctions

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sfn"
	"github.com/aws/aws-sdk-go-v2/service/sfn/types"
)

func TestRefusals(t *testing.T) {
	b := open(t, t.TempDir())
	ctx := t.Context()
	activity := b.activity("work")
	ok := task(activity, "")
	machine := b.machine("m", ok)
	role := aws.String("arn:aws:iam::000000000000:role/r")

	create := func(name, definition string, kind types.StateMachineType) error {
		_, err := b.CreateStateMachine(ctx, &sfn.CreateStateMachineInput{Name: &name, Definition: &definition, RoleArn: role, Type: kind})
		return err
	}
	start := func(arn, name, input string) error {
		_, err := b.StartExecution(ctx, &sfn.StartExecutionInput{StateMachineArn: &arn, Name: &name, Input: &input})
		return err
	}
	none := "arn:aws:states:us-east-1:000000000000:execution:m:none"
	for _, row := range []struct {
		says string
		err  error
		want string
	}{
		{says: "the same machine again", err: create("m", ok, ""), want: "<nil>"},
		{
			says: "another definition",
			err:  create("m", task(activity, `,"TimeoutSeconds":1`), ""),
			want: "StateMachineAlreadyExists",
		},
		{says: "an activity in an Express machine", err: create("x", ok, types.StateMachineTypeExpress), want: "InvalidDefinition"},
		{says: "a bad name", err: create("x y", ok, ""), want: "InvalidName"},
		{
			says: "a bad definition",
			err:  create("x", `{"StartAt":"A","States":{"A":{"Type":"Pass"}}}`, ""),
			want: "InvalidDefinition",
		},
		{
			says: "a service that the engine does not have",
			err:  create("x", task("arn:aws:states:::sns:publish", ""), ""),
			want: "InvalidDefinition",
		},
		{
			says: "a malformed expression in JSONata",
			err:  create("x", `{"QueryLanguage":"JSONata","StartAt":"A","States":{"A":{"Type":"Succeed","Output":"{% 1 + %}"}}}`, ""),
			want: "InvalidDefinition",
		},
		{says: "input that is not JSON", err: start(machine, "a", `{`), want: "InvalidExecutionInput"},
		{
			says: "input over the limit",
			err:  start(machine, "a", `"`+strings.Repeat("x", 256<<10)+`"`),
			want: "ValidationException",
		},
		{says: "no such machine", err: start(machine+"x", "a", `{}`), want: "StateMachineDoesNotExist"},
		{says: "a machine's version", err: start(machine+":1", "a", `{}`), want: "StateMachineDoesNotExist"},
		{says: "not an ARN", err: start("m", "a", `{}`), want: "InvalidArn"},
		{says: "a token that is none", err: b.succeed(aws.String("abc"), `1`), want: "InvalidToken"},
		{says: "a token of nothing", err: b.succeed(aws.String(taskToken{}.String()), `1`), want: "TaskDoesNotExist"},
		{
			says: "no such execution",
			err: func() error {
				_, err := b.DescribeExecution(ctx, &sfn.DescribeExecutionInput{ExecutionArn: &none})
				return err
			}(),
			want: "ExecutionDoesNotExist",
		},
		{
			says: "no such activity",
			err: func() error {
				_, err := b.GetActivityTask(ctx, &sfn.GetActivityTaskInput{ActivityArn: aws.String(activity + "x")})
				return err
			}(),
			want: "ActivityDoesNotExist",
		},
		{
			says: "the Map Runs of no execution",
			err: func() error {
				_, err := b.ListMapRuns(ctx, &sfn.ListMapRunsInput{ExecutionArn: &none})
				return err
			}(),
			want: "ExecutionDoesNotExist",
		},
	} {
		if got := code(row.err); got != row.want {
			t.Errorf("%s: %s, want %s (%v)", row.says, got, row.want, row.err)
		}
	}
	b.start(machine, "ok", `{}`)

	if err := b.succeed(b.poll(activity).TaskToken, `{`); code(err) != "InvalidOutput" {
		t.Error(err)
	}
}

func TestMachineLife(t *testing.T) {
	b := open(t, t.TempDir())
	ctx := t.Context()
	activity := b.activity("work")
	machine := b.machine("m", task(activity, ""))
	old := b.start(machine, "old", `{}`)
	changed := task(activity, `,"Comment":"changed"`)

	up, err := b.UpdateStateMachine(ctx, &sfn.UpdateStateMachineInput{StateMachineArn: &machine, Definition: &changed})
	if err != nil {
		t.Fatal(err)
	}

	d, err := b.DescribeStateMachine(ctx, &sfn.DescribeStateMachineInput{StateMachineArn: &machine})
	if err != nil || *d.Definition != changed || *d.RevisionId != *up.RevisionId || d.Status != types.StateMachineStatusActive {
		t.Fatal(d, err)
	}

	pinned, err := b.DescribeStateMachineForExecution(ctx, &sfn.DescribeStateMachineForExecutionInput{ExecutionArn: &old})
	if err != nil || *pinned.Definition == changed {
		t.Fatal("a running execution is not pinned to its definition", err)
	}

	for _, status := range []types.ExecutionStatus{"", types.ExecutionStatusRunning, types.ExecutionStatusAborted} {
		l, err := b.ListExecutions(ctx, &sfn.ListExecutionsInput{StateMachineArn: &machine, StatusFilter: status})
		want := 1
		if status == types.ExecutionStatusAborted {
			want = 0
		}

		if err != nil || len(l.Executions) != want {
			t.Errorf("list %q: %v, %v", status, l, err)
		}
	}

	if _, err := b.DeleteStateMachine(ctx, &sfn.DeleteStateMachineInput{StateMachineArn: &machine}); err != nil {
		t.Fatal(err)
	}

	if _, err := b.DescribeExecution(ctx, &sfn.DescribeExecutionInput{ExecutionArn: &old}); code(err) != "ExecutionDoesNotExist" {
		t.Error(err)
	}
	b.machine("m", changed)

	if again := b.start(machine, "old", `{}`); again != old {
		t.Error(again)
	}

	list, err := b.ListStateMachines(ctx, &sfn.ListStateMachinesInput{})
	if err != nil || len(list.StateMachines) != 1 {
		t.Error(list, err)
	}

	if got := b.poll(activity); *got.Input != `{}` {
		t.Error("a poll got the deleted machine's task")
	}

	if n := b.svc.queues.Of(activity).Len(); n != 0 {
		t.Errorf("%d tasks are left in the queue", n)
	}
}

func TestListPages(t *testing.T) {
	b := open(t, t.TempDir())
	activity := b.activity("work")
	machine := b.machine("m", task(activity, ""))
	for i := range 7 {
		b.start(machine, fmt.Sprint("e", i), `{}`)

		if i%2 == 0 {
			if err := b.succeed(b.poll(activity).TaskToken, `1`); err != nil {
				t.Fatal(err)
			}
		} else {
			b.poll(activity)
		}
	}

	for status, want := range map[types.ExecutionStatus]string{
		"":                             "e6 e5 e4 e3 e2 e1 e0",
		types.ExecutionStatusSucceeded: "e6 e4 e2 e0",
		types.ExecutionStatusRunning:   "e5 e3 e1",
	} {
		p := sfn.NewListExecutionsPaginator(b, &sfn.ListExecutionsInput{
			StateMachineArn: &machine,
			MaxResults:      2,
			StatusFilter:    status,
		})

		var names []string
		for p.HasMorePages() {
			page, err := p.NextPage(t.Context())
			if err != nil {
				t.Fatal(err)
			}

			for _, e := range page.Executions {
				names = append(names, *e.Name)
			}
		}

		if got := strings.Join(names, " "); got != want {
			t.Errorf("%q: %s, want %s", status, got, want)
		}
	}
}

func TestValidateDefinition(t *testing.T) {
	b := open(t, t.TempDir())
	out, err := b.ValidateStateMachineDefinition(t.Context(), &sfn.ValidateStateMachineDefinitionInput{
		Definition: aws.String(`{"StartAt":"A","States":{"A":{"Type":"Pass","Next":"B"},"C":{"Type":"Succeed","Foo":1}}}`),
	})
	if err != nil || out.Result != types.ValidateStateMachineDefinitionResultCodeFail || len(out.Diagnostics) < 3 {
		t.Fatal(out, err)
	}

	found, _ := json.Marshal(out.Diagnostics)
	for _, want := range []string{"MISSING_TRANSITION_TARGET", "SCHEMA_VALIDATION_FAILED", "/States/A/Next", "not reachable"} {
		if !strings.Contains(string(found), want) {
			t.Errorf("%s is not in %s", want, found)
		}
	}
}

// An answer has warnings only if the request asks for them, and as many diagnostics as it asks for.
// Source: https://docs.aws.amazon.com/step-functions/latest/apireference/API_ValidateStateMachineDefinition.html
func TestValidateBySeverity(t *testing.T) {
	b := open(t, t.TempDir())

	const definition = `{"StartAt":"A","States":{"A":{"Type":"Pass","Result":{"a.$":"$.b","b.$":"$.c"},"End":true}}}`
	for _, row := range []struct {
		severity  types.ValidateStateMachineDefinitionSeverity
		results   int32
		found     int
		truncated bool
		code      string
	}{
		{},
		{severity: types.ValidateStateMachineDefinitionSeverityError},
		{severity: types.ValidateStateMachineDefinitionSeverityWarning, found: 2},
		{severity: types.ValidateStateMachineDefinitionSeverityWarning, results: 100, found: 2},
		{severity: types.ValidateStateMachineDefinitionSeverityWarning, results: 1, found: 1, truncated: true},
		{severity: "INFO", code: "ValidationException"},
		{results: 101, code: "ValidationException"},
		{results: -1, code: "ValidationException"},
	} {
		out, err := b.ValidateStateMachineDefinition(t.Context(), &sfn.ValidateStateMachineDefinitionInput{
			Definition: aws.String(definition), Severity: row.severity, MaxResults: row.results,
		})
		if row.code != "" || err != nil {
			if code(err) != row.code {
				t.Errorf("%+v: %v", row, err)
			}

			continue
		}

		if len(out.Diagnostics) != row.found || aws.ToBool(out.Truncated) != row.truncated || out.Result != "OK" {
			t.Errorf("%+v: %+v", row, out)
		}
	}
}

// A description without data has no definition.
// Source: https://docs.aws.amazon.com/step-functions/latest/apireference/API_DescribeStateMachine.html
func TestDescribeMetadataOnly(t *testing.T) {
	b := open(t, t.TempDir())
	arn := b.machine("m", `{"StartAt":"A","States":{"A":{"Type":"Succeed"}}}`)

	out, err := b.DescribeStateMachine(t.Context(), &sfn.DescribeStateMachineInput{StateMachineArn: &arn, IncludedData: types.IncludedDataMetadataOnly})
	if err != nil || *out.Definition != "{}" || *out.Name != "m" {
		t.Errorf("%+v, %v", out, err)
	}

	_, err = b.DescribeStateMachine(t.Context(), &sfn.DescribeStateMachineInput{StateMachineArn: &arn, IncludedData: "SOME"})
	if code(err) != "ValidationException" {
		t.Error(err)
	}

	execution := b.start(arn, "n", `{}`)

	_, err = b.DescribeExecution(t.Context(), &sfn.DescribeExecutionInput{ExecutionArn: &execution, IncludedData: "SOME"})
	if code(err) != "ValidationException" {
		t.Error(err)
	}
}
