package check_test

import (
	"ratchet/workflow"
	"ratchet/workflow/check"
)

// The facts that the configuration of the shop's steps follows.
const (
	reserved = "stock reserved"
	paid     = "payment taken"
)

// smallTasks are the activities of the fixtures: each of them does one thing.
func smallTasks() check.Tasks {
	does := func(e check.Effect) func(map[string]any) check.Effect {
		return func(map[string]any) check.Effect { return e }
	}

	return check.Tasks{
		"place-order":      does(check.Effect{Creates: true}),
		"reserve-stock":    does(check.Effect{Provides: []string{reserved}}),
		"commit-stock":     does(check.Effect{Releases: []string{reserved}}),
		"release-stock":    does(check.Effect{Releases: []string{reserved}}),
		"take-payment":     does(check.Effect{Provides: []string{paid}}),
		"void-payment":     does(check.Effect{Releases: []string{paid}}),
		"request-shipment": does(check.Effect{}),
		"cancel-shipment":  does(check.Effect{}),
		"apply-transition": applyEffect,
		"await-order":      awaitEffect,
	}
}

// applyEffect reads which event a task applies. An event that is not a constant comes from the input of the
// execution.
func applyEffect(parameters map[string]any) check.Effect {
	event, constant := parameters["event"].(string)
	_, given := parameters["transitionId"]
	_, computed := parameters["transitionId.$"]

	return check.Effect{Event: workflow.Event(event), AnyEvent: !constant, Fenced: given || computed}
}

// awaitEffect reads which state a task waits for that parks its own token.
func awaitEffect(parameters map[string]any) check.Effect {
	awaited, _ := parameters["awaited"].(string)
	return check.Effect{Awaits: workflow.State(awaited), Parks: true}
}
