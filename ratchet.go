package ratchet

import _ "embed" // for the state machine below

// StateMachine is statemachine.asl.json: Amazon States Language with ${Name}
// placeholders where the activities' ARNs go.
//
//go:embed statemachine.asl.json
var StateMachine string
