package linearizability

import (
	"sync"

	"ratchet/workflow"
)

// The definition under test lets orders move back and forth, so that histories are long. It
// has a transition that keeps the state (applying it twice would not show in the state),
// events with two targets, and one terminal state.
const (
	placed  workflow.State = "PLACED"
	open    workflow.State = "OPEN"
	sent    workflow.State = "SENT"
	held    workflow.State = "HELD"
	heldOut workflow.State = "HELD_OUT"
	stopped workflow.State = "STOPPED"

	place   workflow.Event = "place"
	opens   workflow.Event = "open"
	send    workflow.Event = "send"
	touch   workflow.Event = "touch"
	hold    workflow.Event = "hold"
	release workflow.Event = "release"
	stop    workflow.Event = "stop"
	unheard workflow.Event = "unheard_of"
)

// definition is the workflow of the orders under test.
var definition = sync.OnceValue(func() *workflow.Definition {
	d, err := workflow.New(workflow.Spec{
		Name: "to-and-fro", Version: 1, Place: place, Initial: placed,
		States: []workflow.StateSpec{
			{State: placed, Doc: "placed"}, {State: open, Doc: "being worked on"}, {State: sent, Doc: "out of the house"},
			{State: held, Doc: "stopped while open"}, {State: heldOut, Doc: "stopped while out"}, {State: stopped, Terminal: true, Doc: "the end"},
		},
		Transitions: []workflow.Transition{
			{Event: opens, From: []workflow.State{placed, sent}, To: open},
			{Event: send, From: []workflow.State{open}, To: sent},
			{Event: touch, From: []workflow.State{open}, To: open},
			{Event: hold, From: []workflow.State{open}, To: held},
			{Event: hold, From: []workflow.State{sent}, To: heldOut},
			{Event: release, From: []workflow.State{held}, To: open},
			{Event: release, From: []workflow.State{heldOut}, To: sent},
			{Event: stop, From: []workflow.State{open, held, heldOut}, To: stopped},
		},
	})
	if err != nil {
		panic(err) // the spec is constant
	}

	return d
})

// usual are the events that clients draw from. They draw stop seldom, because it ends the
// order.
var usual = []workflow.Event{opens, send, touch, touch, hold, release}
