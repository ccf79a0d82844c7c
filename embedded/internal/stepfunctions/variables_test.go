package stepfunctions

import (
	"fmt"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sfn"
)

// Variables are in the history as JSON texts, in the description of the machine by the
// states that read them, and survive a restart.
func TestVariablesOnTheWire(t *testing.T) {
	dir := t.TempDir()
	b := open(t, dir)
	activity := b.activity("w")
	machine := b.machine("m", `{"StartAt":"A","States":{"A":{"Type":"Pass","Assign":{"text":"t","list":[1,2]},"Next":"B"},
		"B":{"Type":"Task","Resource":"`+activity+`","Next":"C"},
		"C":{"Type":"Pass","Parameters":{"v.$":"States.Format('{}{}', $text, $list[1])"},"End":true}}}`)
	execution := b.start(machine, "e", `{}`)

	b.stop()
	b = open(t, dir)

	if err := b.succeed(b.poll(activity).TaskToken, `{}`); err != nil {
		t.Fatal(err)
	}

	if d := b.describe(execution); aws.ToString(d.Output) != `{"v":"t2"}` {
		t.Errorf("output %s, cause %s", aws.ToString(d.Output), aws.ToString(d.Cause))
	}

	h, err := b.GetExecutionHistory(t.Context(), &sfn.GetExecutionHistoryInput{ExecutionArn: &execution})
	if err != nil {
		t.Fatal(err)
	}

	details := h.Events[2].StateExitedEventDetails
	if got := fmt.Sprint(details.AssignedVariables); got != `map[list:[1,2] text:"t"]` || details.AssignedVariablesDetails.Truncated {
		t.Errorf("assigned %s", got)
	}

	d, err := b.DescribeStateMachine(t.Context(), &sfn.DescribeStateMachineInput{StateMachineArn: &machine})
	if err != nil {
		t.Fatal(err)
	}

	if got := fmt.Sprint(d.VariableReferences); got != "map[C:[list text]]" {
		t.Errorf("read %s", got)
	}
}
