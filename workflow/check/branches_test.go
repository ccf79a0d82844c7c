package check_test

import (
	"slices"
	"testing"

	"ratchet/workflow/check"
)

// TestTheBranchesAgreeOnTheFirstEvent: if one of them has moved the order with the id that follows the view around
// the Parallel, no other event was the first after that view. So no task behind it repeats such an event.
func TestTheBranchesAgreeOnTheFirstEvent(t *testing.T) {
	asl := soundMachine("Both", `
"Both":{"Type":"Parallel","ResultPath":null,"Branches":[
{"StartAt":"L","States":{"L":{"Type":"Task",ASK,LIMITS,"ResultPath":"$.order","End":true}}},
{"StartAt":"S","States":{"S":{"Type":"Task","Resource":"${applyArn}","Parameters":{"event":"stop","transitionId.$":"States.MathAdd($.order.transitionId, 1)"},LIMITS,"ResultPath":"$.order","End":true}}}],"Next":"Choose"},`)

	for i, d := range trialDefinitions(t) {
		report, err := check.StateMachine(asl, d, trialConfig())
		if err != nil {
			t.Fatal(err)
		}

		if slices.ContainsFunc(report.Findings, func(f check.Finding) bool { return f.Code == "stale-order-data" && f.State == "Fin" }) {
			t.Errorf("definition %d: %s", i, report.Text())
		}
	}
}
