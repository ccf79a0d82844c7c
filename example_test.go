package ratchet_test

import (
	"encoding/json"
	"fmt"

	"ratchet"
)

// The state machine that drives an order is part of the program.
func Example() {
	var machine struct{ StartAt string }
	if err := json.Unmarshal([]byte(ratchet.StateMachine), &machine); err != nil {
		panic(err)
	}

	fmt.Println("an execution begins with", machine.StartAt)
	// Output: an execution begins with Accept
}
