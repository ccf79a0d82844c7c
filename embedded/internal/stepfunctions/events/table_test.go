package events

import (
	"strings"
	"testing"

	"ratchet/embedded/internal/stepfunctions/asl"
	"ratchet/embedded/internal/stepfunctions/execution"
)

// withoutDetails are the types that have no member of their own in the API model, or none that the service sends.
// Source: https://docs.aws.amazon.com/step-functions/latest/apireference/API_HistoryEvent.html
var withoutDetails = map[execution.EventType]bool{
	execution.MapStateSucceeded: true, execution.MapStateFailed: true, execution.MapStateAborted: true,
	execution.ParallelStateStarted: true, execution.ParallelStateSucceeded: true, execution.ParallelStateFailed: true, execution.ParallelStateAborted: true,
	execution.TaskStateAborted: true, execution.WaitStateAborted: true, execution.LambdaFunctionStarted: true,
	execution.MapRunSucceeded: true, execution.MapRunAborted: true,
}

// TestEveryTypeOfEventIsShown: each type has a row, whose member has the name of the type, or is known to have none.
func TestEveryTypeOfEventIsShown(t *testing.T) {
	machine, faults := asl.Parse([]byte(`{"StartAt":"A","States":{"A":{"Type":"Task","Resource":"arn:aws:states:::dynamodb:getItem","Parameters":{"TableName":"t","Key":{}},"End":true}}}`))
	if machine == nil {
		t.Fatal(faults)
	}
	v := View{Program: machine, Data: true}

	for typ := execution.ExecutionStarted; typ <= execution.LambdaFunctionTimedOut; typ++ {
		event, bytes, err := v.Show(&execution.Event{ID: 2, Type: typ, Doc: &execution.Doc{JSON: []byte("7")}, Error: "E", Cause: "c"})
		if err != nil {
			t.Fatal(err)
		}

		// The type of an event of a state begins with the state's kind, its member does not.
		name := event["type"].(string)
		if typ == execution.StateEntered || typ == execution.StateExited {
			name = strings.TrimPrefix(name, "Task")
		}
		member := strings.ToLower(name[:1]) + name[1:] + "EventDetails"

		details, has := event[member].(map[string]any)
		if has == withoutDetails[typ] {
			t.Errorf("%s: details %v in %v", event["type"], has, event)
			continue
		}

		if !has {
			continue
		}

		if details["error"] != "E" || details["cause"] != "c" {
			t.Errorf("%s: %v", event["type"], details)
		}

		document := rows[typ].document
		if (document == "") != (bytes == 0) || document != "" && details[document] != "7" {
			t.Errorf("%s: document %q in %v, of %d bytes", event["type"], document, details, bytes)
		}
	}
}
