package diagram_test

import (
	"fmt"

	"ratchet/workflow"
	"ratchet/workflow/diagram"
)

func ExampleRender() {
	ticket, err := workflow.New(workflow.Spec{
		Name:    "ticket",
		Version: 1,
		Place:   "open",
		Initial: "OPEN",
		States:  []workflow.StateSpec{{State: "OPEN", Doc: "waits for an answer"}, {State: "CLOSED", Terminal: true, Doc: "answered"}},
		Transitions: []workflow.Transition{
			{Event: "close", From: []workflow.State{"OPEN"}, To: "CLOSED"},
		},
	})
	if err != nil {
		panic(err)
	}

	text, err := diagram.Render(ticket, "mermaid", nil)
	if err != nil {
		panic(err)
	}

	fmt.Print(text)
	// Output:
	// stateDiagram-v2
	//     [*] --> OPEN : open
	//     OPEN --> CLOSED : close
	//     CLOSED --> [*]
}
