package stepfunctions

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sfn"
	"github.com/aws/aws-sdk-go-v2/service/sfn/types"

	"ratchet/embedded/internal/stepfunctions/lambda"
	"ratchet/embedded/internal/stepfunctions/rawjson"
	"ratchet/embedded/internal/wire"
)

// mapOf returns a definition with one distributed Map, Each, whose label is "each". more are
// further fields of the Map, each with a comma behind it.
func mapOf(kind, more, startAt, states string) string {
	return fmt.Sprintf(`{"StartAt":"Each","States":{"Each":{"Type":"Map","Label":"each",%s"End":true,"ItemProcessor":{
		"ProcessorConfig":{"Mode":"DISTRIBUTED","ExecutionType":%q},"StartAt":%q,"States":{%s}}}}}`, more, kind, startAt, states)
}

// faulty fails for items that are false, and otherwise passes the item on.
const faulty = `"Pick":{"Type":"Choice","Choices":[{"Variable":"$","BooleanEquals":false,"Next":"Bad"}],"Default":"Good"},
	"Bad":{"Type":"Fail","Error":"Boom","Cause":"false"},"Good":{"Type":"Succeed"}`

// bubble runs a test with a service of its own and a clock that needs no time.
func bubble(t *testing.T, test func(t *testing.T, b *bench)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) { test(t, open(t, t.TempDir())) })
}

// ended waits until an execution has ended.
func (b *bench) ended(execution string) *sfn.DescribeExecutionOutput {
	b.t.Helper()

	for range 3000 {
		synctest.Wait()

		if d := b.describe(execution); d.Status != types.ExecutionStatusRunning {
			return d
		}

		time.Sleep(time.Second)
	}

	b.t.Fatalf("%s has not ended", execution)

	return nil
}

// mapRuns returns the Map Runs of an execution, the newest first.
func (b *bench) mapRuns(execution string) (runs []*sfn.DescribeMapRunOutput) {
	b.t.Helper()

	list, err := b.ListMapRuns(b.t.Context(), &sfn.ListMapRunsInput{ExecutionArn: &execution})
	if err != nil {
		b.t.Fatal(err)
	}

	for _, item := range list.MapRuns {
		run, err := b.DescribeMapRun(b.t.Context(), &sfn.DescribeMapRunInput{MapRunArn: item.MapRunArn})
		if err != nil {
			b.t.Fatal(err)
		}

		if *item.ExecutionArn != execution || *run.ExecutionArn != execution || (item.StopDate == nil) != (run.StopDate == nil) {
			b.t.Errorf("listed %+v, described %+v", item, run)
		}

		runs = append(runs, run)
	}

	return runs
}

// children returns the children of a Map Run with a status, "" for all, the newest first.
func (b *bench) children(run *string, status types.ExecutionStatus) (all []types.ExecutionListItem) {
	b.t.Helper()

	in := &sfn.ListExecutionsInput{MapRunArn: run, StatusFilter: status, MaxResults: 2}
	for pages := sfn.NewListExecutionsPaginator(b, in); pages.HasMorePages(); {
		page, err := pages.NextPage(b.t.Context())
		if err != nil {
			b.t.Fatal(err)
		}

		all = append(all, page.Executions...)
	}

	return all
}

// history returns the events of an execution as "id<previous type".
func (b *bench) history(execution string) (events []types.HistoryEvent, text string) {
	b.t.Helper()

	h, err := b.GetExecutionHistory(b.t.Context(), &sfn.GetExecutionHistoryInput{ExecutionArn: &execution})
	if err != nil {
		b.t.Fatal(err)
	}

	for _, e := range h.Events {
		text += fmt.Sprintf(" %d<%d %s", e.Id, e.PreviousEventId, e.Type)
	}

	return h.Events, strings.TrimSpace(text)
}

// Each item of a distributed Map is an execution of its own, whose ARN has the label, with a
// history of its own; the history of the parent has the Map Run.
func TestDistributedMap(t *testing.T) { bubble(t, testDistributedMap) }

func testDistributedMap(t *testing.T, b *bench) {
	machine := b.machine("m", mapOf("STANDARD", `"MaxConcurrency":2,"ItemSelector":{"v.$":"$$.Map.Item.Value","at.$":"$$.Map.Item.Index"},`, "In",
		`"In":{"Type":"Pass","Parameters":{"in.$":"$","id.$":"$$.Execution.Id","machine.$":"$$.StateMachine.Id","input.$":"$$.Execution.Input"},"End":true}`))
	execution := b.start(machine, "e", `["a", "b", "c"]`)
	d := b.ended(execution)

	var results []struct {
		In          struct{ V string }
		ID, Machine string
		Input       struct{ At int }
	}
	if err := json.Unmarshal([]byte(aws.ToString(d.Output)), &results); err != nil || len(results) != 3 {
		t.Fatalf("%s %s: %v", aws.ToString(d.Output), aws.ToString(d.Cause), err)
	}

	runs := b.mapRuns(execution)
	if len(runs) != 1 {
		t.Fatalf("%d Map Runs", len(runs))
	}

	run := runs[0]
	if !strings.HasPrefix(*run.MapRunArn, "arn:aws:states:us-east-1:000000000000:mapRun:m/each:") || run.Status != types.MapRunStatusSucceeded ||
		run.MaxConcurrency != 2 || run.ItemCounts.Succeeded != 3 || run.ItemCounts.Total != 3 || run.ItemCounts.ResultsWritten != 3 ||
		run.ExecutionCounts.Succeeded != 3 || run.ExecutionCounts.Total != 3 || run.ExecutionCounts.Pending != 0 ||
		run.StopDate == nil || run.ToleratedFailureCount != 0 || *run.RedriveCount != 0 {
		t.Errorf("%+v %+v %+v", run, run.ItemCounts, run.ExecutionCounts)
	}

	children := b.children(run.MapRunArn, "")
	if len(children) != 3 {
		t.Fatalf("%d children", len(children))
	}

	for i, r := range results {
		child := children[2-i]
		if r.In.V != string(rune('a'+i)) || r.Input.At != i || r.ID != *child.ExecutionArn ||
			r.Machine != "arn:aws:states:us-east-1:000000000000:stateMachine:m/each" || r.Machine != *child.StateMachineArn ||
			!strings.HasPrefix(r.ID, "arn:aws:states:us-east-1:000000000000:execution:m/each:") ||
			*child.MapRunArn != *run.MapRunArn || *child.ItemCount != 1 {
			t.Errorf("%d: %+v %+v", i, r, child)
		}
	}

	_, text := b.history(execution)
	if text != "1<0 ExecutionStarted 2<0 MapStateEntered 3<2 MapStateStarted 4<3 MapRunStarted 5<4 MapRunSucceeded "+
		"6<5 MapStateSucceeded 7<4 MapStateExited 8<7 ExecutionSucceeded" {
		t.Error(text)
	}

	events, text := b.history(*children[0].ExecutionArn)
	if text != "1<0 ExecutionStarted 2<0 PassStateEntered 3<2 PassStateExited 4<3 ExecutionSucceeded" ||
		*events[0].ExecutionStartedEventDetails.Input != `{"v":"c","at":2}` {
		t.Error(text, *events[0].ExecutionStartedEventDetails.Input)
	}

	// The children are not among the executions of the machine.
	list, err := b.ListExecutions(t.Context(), &sfn.ListExecutionsInput{StateMachineArn: &machine})
	if err != nil || len(list.Executions) != 1 || *list.Executions[0].ExecutionArn != execution {
		t.Errorf("%+v %v", list, err)
	}

	of, err := b.DescribeStateMachineForExecution(t.Context(),
		&sfn.DescribeStateMachineForExecutionInput{ExecutionArn: children[0].ExecutionArn})
	if err != nil || *of.Label != "each" || *of.MapRunArn != *run.MapRunArn || !strings.HasPrefix(*of.Definition, `{"ProcessorConfig"`) {
		t.Errorf("%+v %v", of, err)
	}

	if d := b.describe(*children[0].ExecutionArn); *d.MapRunArn != *run.MapRunArn || *d.StateMachineArn != *of.StateMachineArn {
		t.Errorf("%+v", d)
	}
}

// A Map without items ends at once.
func TestDistributedMapOfNothing(t *testing.T) { bubble(t, testDistributedMapOfNothing) }

func testDistributedMapOfNothing(t *testing.T, b *bench) {
	machine := b.machine("m", mapOf("STANDARD", "", "Pick", faulty))

	for _, input := range []string{`[]`, `{}`} {
		if d := b.ended(b.start(machine, "", input)); aws.ToString(d.Output) != "[]" {
			t.Errorf("%s: %s %s", input, aws.ToString(d.Output), aws.ToString(d.Cause))
		}
	}

	if d := b.ended(b.start(machine, "", `1`)); aws.ToString(d.Error) != "States.Runtime" {
		t.Errorf("%s %s", d.Status, aws.ToString(d.Cause))
	}
}

// More failed items than a Map tolerates fail it. A failed child that is tolerated is described
// in the result.
func TestToleratedFailures(t *testing.T) { bubble(t, testToleratedFailures) }

func testToleratedFailures(t *testing.T, b *bench) {
	for _, row := range []struct {
		name, more, input string
		fails             bool
		items             int
	}{
		{name: "none", more: "", input: `[true,false,true,true]`, fails: true},
		{name: "count", more: `"ToleratedFailureCount":1,`, input: `[true,false,true,true]`, items: 4},
		{name: "count-exceeded", more: `"ToleratedFailureCount":1,`, input: `[true,false,false,true]`, fails: true},
		{name: "percentage", more: `"ToleratedFailurePercentage":50,`, input: `[true,false,false,true]`, items: 4},
		{name: "percentage-exceeded", more: `"ToleratedFailurePercentage":49.9,`, input: `[true,false,false,true]`, fails: true},
		{name: "both", more: `"ToleratedFailurePercentage":90,"ToleratedFailureCount":1,`, input: `[true,false,false,true]`, fails: true},
		{name: "all", more: `"ToleratedFailurePercentage":100,`, input: `[false,false]`, items: 2},
	} {
		execution := b.start(b.machine(row.name, mapOf("STANDARD", row.more, "Pick", faulty)), "e", row.input)
		d := b.ended(execution)
		run := b.mapRuns(execution)[0]

		if row.fails {
			if aws.ToString(d.Error) != "States.ExceedToleratedFailureThreshold" || run.Status != types.MapRunStatusFailed ||
				aws.ToString(d.Cause) != "The specified tolerated failure threshold was exceeded" || run.ItemCounts.Failed == 0 {
				t.Errorf("%s: %s %s %+v", row.name, d.Status, aws.ToString(d.Cause), run)
			}

			continue
		}

		var results []json.RawMessage
		if err := json.Unmarshal([]byte(aws.ToString(d.Output)), &results); err != nil || len(results) != row.items {
			t.Fatalf("%s: %s %s %v", row.name, aws.ToString(d.Output), aws.ToString(d.Cause), err)
		}

		failed := 0
		for i, child := range b.children(run.MapRunArn, "") {
			if child.Status != types.ExecutionStatusFailed {
				continue
			}

			failed++

			var d map[string]any
			if err := json.Unmarshal(results[len(results)-1-i], &d); err != nil || d["ExecutionArn"] != *child.ExecutionArn ||
				d["Status"] != "FAILED" || d["Error"] != "Boom" || d["Cause"] != "false" || d["Input"] != "false" || d["StopDate"] == "" {
				t.Errorf("%s: %s %v", row.name, results[len(results)-1-i], err)
			}
		}

		if want := strings.Count(row.input, "false"); failed != want || run.ItemCounts.Failed != int64(want) {
			t.Errorf("%s: %d failed, counted %+v", row.name, failed, run.ItemCounts)
		}
	}
}

// Batches are counted as executions and as items.
func TestItemBatcher(t *testing.T) { bubble(t, testItemBatcher) }

func testItemBatcher(t *testing.T, b *bench) {
	machine := b.machine("m", mapOf("STANDARD", `"ItemsPath":"$.items","ItemBatcher":{"MaxItemsPerBatch":2,"BatchInput":{"of.$":"$.of"}},`,
		"In", `"In":{"Type":"Pass","End":true}`))
	execution := b.start(machine, "e", `{"of":"x","items":[1,2,3]}`)

	want := `[{"BatchInput":{"of":"x"},"Items":[1,2]},{"BatchInput":{"of":"x"},"Items":[3]}]`
	if d := b.ended(execution); aws.ToString(d.Output) != want {
		t.Fatal(aws.ToString(d.Output), aws.ToString(d.Cause))
	}

	run := b.mapRuns(execution)[0]
	if run.ItemCounts.Succeeded != 3 || run.ItemCounts.Total != 3 || run.ExecutionCounts.Succeeded != 2 || run.ExecutionCounts.Total != 2 {
		t.Errorf("%+v %+v", run.ItemCounts, run.ExecutionCounts)
	}

	children := b.children(run.MapRunArn, "")
	if *children[0].ItemCount != 1 || *children[1].ItemCount != 2 {
		t.Errorf("%d and %d items", *children[0].ItemCount, *children[1].ItemCount)
	}
}

// A result over the limit fails the Map Run, and a redrive starts another one.
func TestDistributedMapDataLimit(t *testing.T) { bubble(t, testDistributedMapDataLimit) }

func testDistributedMapDataLimit(t *testing.T, b *bench) {
	machine := b.machine("m", mapOf("STANDARD", `"ItemsPath":"$.items",`, "In", `"In":{"Type":"Pass","End":true}`))
	long := b.machine("long", mapOf("STANDARD",
		`"ItemsPath":"$.items","ItemSelector":{"v.$":"$$.Map.Item.Value","all.$":"$.text"},`, "In", `"In":{"Type":"Pass","End":true}`))
	text := strings.Repeat("x", 100<<10)

	if d := b.ended(b.start(machine, "e", `{"items":[1,2,3],"text":"`+text+`"}`)); d.Status != types.ExecutionStatusSucceeded {
		t.Fatal(aws.ToString(d.Cause))
	}

	execution := b.start(long, "e", `{"items":[1,2,3],"text":"`+text+`"}`)
	if d := b.ended(execution); aws.ToString(d.Error) != "States.DataLimitExceeded" {
		t.Fatal(d.Status, aws.ToString(d.Cause))
	}

	events, kinds := b.history(execution)
	if !strings.HasSuffix(kinds, "4<3 MapRunStarted 5<4 MapRunFailed 6<5 MapStateFailed 7<6 ExecutionFailed") ||
		*events[4].MapRunFailedEventDetails.Error != "States.DataLimitExceeded" {
		t.Error(kinds)
	}

	if _, err := b.RedriveExecution(t.Context(), &sfn.RedriveExecutionInput{ExecutionArn: &execution}); err != nil {
		t.Fatal(err)
	}

	b.ended(execution)

	if runs := b.mapRuns(execution); len(runs) != 2 || runs[0].Status != types.MapRunStatusFailed || *runs[0].RedriveCount != 0 {
		t.Errorf("%d Map Runs", len(runs))
	}
}

// An input that cannot be made fails the Map Run, and the children before it are stopped.
func TestItemSelectorFails(t *testing.T) { bubble(t, testItemSelectorFails) }

func testItemSelectorFails(t *testing.T, b *bench) {
	machine := b.machine("m", mapOf("STANDARD", `"ItemSelector":{"v.$":"$$.Map.Item.Value.v"},`, "In",
		`"In":{"Type":"Wait","Seconds":1000,"End":true}`))
	execution := b.start(machine, "e", `[{"v":1},{}]`)

	if d := b.ended(execution); aws.ToString(d.Error) != "States.Runtime" || !strings.Contains(*d.Cause, "'Each'") {
		t.Fatal(d.Status, aws.ToString(d.Cause))
	}

	run := b.mapRuns(execution)[0]
	if run.Status != types.MapRunStatusFailed || run.ExecutionCounts.Aborted != 1 || run.ExecutionCounts.Pending != 1 {
		t.Errorf("%+v %+v", run, run.ExecutionCounts)
	}
}

// A Map in a child has Map Runs of its own.
func TestNestedDistributedMaps(t *testing.T) { bubble(t, testNestedDistributedMaps) }

func testNestedDistributedMaps(t *testing.T, b *bench) {
	machine := b.machine("m", mapOf("STANDARD", "", "Inner", `"Inner":{"Type":"Map","Label":"inner","End":true,"ItemProcessor":{
		"ProcessorConfig":{"Mode":"DISTRIBUTED","ExecutionType":"EXPRESS"},"StartAt":"In","States":{"In":{"Type":"Pass","End":true}}}}`))
	execution := b.start(machine, "e", `[[1,2],[],[3]]`)

	if d := b.ended(execution); aws.ToString(d.Output) != `[[1,2],[],[3]]` {
		t.Fatal(aws.ToString(d.Output), aws.ToString(d.Cause))
	}

	outer := b.children(b.mapRuns(execution)[0].MapRunArn, "")
	inner := b.mapRuns(*outer[2].ExecutionArn)
	if len(inner) != 1 || inner[0].ExecutionCounts.Succeeded != 2 || !strings.Contains(*inner[0].MapRunArn, ":mapRun:m/inner:") {
		t.Errorf("%+v", inner)
	}

	// The inner executions are Express ones.
	child := b.children(inner[0].MapRunArn, "")[0]
	if !strings.HasPrefix(*child.ExecutionArn, "arn:aws:states:us-east-1:000000000000:express:m/inner:") {
		t.Error(*child.ExecutionArn)
	}

	if d := b.describe(*child.ExecutionArn); *d.Output != "2" {
		t.Error(*d.Output)
	}

	_, err := b.GetExecutionHistory(t.Context(), &sfn.GetExecutionHistoryInput{ExecutionArn: child.ExecutionArn})
	if code(err) != "StateMachineTypeNotSupported" {
		t.Error(err)
	}

	if _, err := b.StopExecution(t.Context(), &sfn.StopExecutionInput{ExecutionArn: child.ExecutionArn}); code(err) != "StateMachineTypeNotSupported" {
		t.Error(err)
	}
}

// Children call services: a function that fails fails the item.
func TestChildrenCallServices(t *testing.T) { bubble(t, testChildrenCallServices) }

func testChildrenCallServices(t *testing.T, b *bench) {
	b.svc.calls.Services = map[string]wire.Service{"lambda": lambda.Service(map[string]lambda.Function{
		"double": func(_ context.Context, payload []byte) ([]byte, error) {
			n, ok := rawjson.Int(payload)
			if !ok {
				return nil, errors.New("no number")
			}

			return strconv.AppendInt(nil, 2*n, 10), nil
		},
	})}

	for _, kind := range []string{"STANDARD", "EXPRESS"} {
		machine := b.machine("m"+kind, mapOf(kind, `"ToleratedFailurePercentage":40,`, "Call",
			`"Call":{"Type":"Task","Resource":"arn:aws:states:::lambda:invoke","Parameters":{"FunctionName":"double","Payload.$":"$"},"OutputPath":"$.Payload","End":true}`))

		var results []any
		d := b.ended(b.start(machine, "e", `[1,"x",3]`))
		if err := json.Unmarshal([]byte(aws.ToString(d.Output)), &results); err != nil || results[0] != 2.0 || results[2] != 6.0 {
			t.Fatalf("%s: %s %s", kind, aws.ToString(d.Output), aws.ToString(d.Cause))
		}

		if failed := results[1].(map[string]any); failed["Error"] != "errorString" || failed["RedriveStatus"] != "REDRIVABLE_BY_MAP_RUN" {
			t.Errorf("%s: %v", kind, failed)
		}
	}
}
