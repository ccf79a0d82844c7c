package main

import (
	_ "embed"
	"encoding/json"
	"fmt"

	"ratchet"
)

// screening holds the states that this program adds.
//
//go:embed screening.asl.json
var screening []byte

// stateMachine returns the state machine of the shop with the states of screening between Accept and
// Pay. A new version of Ratchet brings its new state machine, and keeps these states.
func stateMachine() ([]byte, error) {
	var machine map[string]any
	if err := json.Unmarshal([]byte(ratchet.StateMachine), &machine); err != nil {
		return nil, fmt.Errorf("the state machine of the shop: %w", err)
	}

	var added map[string]any
	if err := json.Unmarshal(screening, &added); err != nil {
		return nil, fmt.Errorf("screening.asl.json: %w", err)
	}

	states := machine["States"].(map[string]any)
	accept, pay := states["Accept"].(map[string]any), states["Pay"].(map[string]any)

	// The example depends on one arrow of the shop's state machine. If a new version moves it, this
	// must fail and not skip the screening.
	if accept["Next"] != "Pay" {
		return nil, fmt.Errorf("the state machine of the shop goes from Accept to %v, and no more to Pay", accept["Next"])
	}
	accept["Next"] = "Screen"

	for name, state := range added {
		// The tasks are retried with the shop's policy.
		if s := state.(map[string]any); s["Type"] == "Task" {
			s["Retry"] = pay["Retry"]
		}
		states[name] = state
	}

	return json.MarshalIndent(machine, "", "  ")
}
