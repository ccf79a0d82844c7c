package file_test

import (
	"fmt"

	"ratchet/workflow/file"
)

// An error names the file and the line.
func ExampleParse() {
	text := `name: ticket
version: 1
place: open
initial: OPEN
states:
  - {state: OPEN}
  - {state: CLOSED, terminal: true}
transitions:
  - {event: close, from: [OPEN], to: CLOSED}
`

	ticket, err := file.Parse("ticket.yaml", []byte(text))
	if err != nil {
		panic(err)
	}

	fmt.Println(ticket.Next("OPEN", "close"))

	_, err = file.Parse("ticket.yaml", []byte(text+"  - {event: reopen, from: [CLOSSED], to: OPEN}\n"))
	fmt.Println(err)
	// Output:
	// CLOSED true
	// ticket.yaml:10: workflow "ticket" version 1: event reopen starts from "CLOSSED", which is not among the states
}
