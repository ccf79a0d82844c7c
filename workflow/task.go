package workflow

import (
	"regexp"
	"strings"
)

// Task is a Task state as the reader of its meaning sees it.
type Task struct {
	// State is the state's name, Resource its ARN or ${Placeholder}.
	State, Resource string
	// Parameters are its Parameters or Arguments as encoding/json would decode them,
	// nil when absent.
	Parameters map[string]any
}

// Effect is what a Task does to the order. The zero value does nothing.
type Effect struct {
	// Activity says that a worker polls for the task, so that only the state's own
	// clocks notice a lost one. Resources that say so themselves need no flag.
	Activity bool
	// Creates: the task creates the order, which then stands in the initial state.
	Creates bool
	// Event is the event that the task applies; AnyEvent that the data names it.
	Event    Event
	AnyEvent bool
	// Fenced: the task carries the order's transitionId and is refused when the
	// order has moved since the execution last saw it.
	Fenced bool
	// Awaits is the state for which the task waits; it is refused once the order
	// cannot reach the state any more.
	Awaits State
	// Parks: nobody beats while the task waits, so it may go without HeartbeatSeconds.
	Parks bool
	// Gives names what holds once the task has succeeded, Takes what then holds no
	// longer. See [CheckOptions.Needs].
	Gives, Takes []string
}

// order reports whether the task does something to the order.
func (e Effect) order() bool { return e.Creates || e.Event != "" || e.AnyEvent || e.Awaits != "" }

// moves reports whether the task applies an event.
func (e Effect) moves() bool { return e.Event != "" || e.AnyEvent }

// camel finds where a word begins inside a name like ApplyTransitionArn.
var camel = regexp.MustCompile(`([a-z0-9])([A-Z])`)

// stepName turns "${ApplyTransitionArn}" and ".../activity:shop-apply-transition"
// into names that end in "apply-transition".
func stepName(resource string) string {
	n := strings.TrimSuffix(strings.TrimPrefix(resource, "${"), "}")
	n = n[strings.LastIndexAny(n, ":/")+1:]
	for _, suffix := range []string{"Arn", "ARN", "_arn"} {
		n = strings.TrimSuffix(n, suffix)
	}

	return strings.ReplaceAll(strings.ToLower(camel.ReplaceAllString(n, "$1-$2")), "_", "-")
}

// orderSteps are the steps of Ratchet's own state machine (package activities/steps),
// by the end of their activity's name.
var orderSteps = map[string]func(map[string]any) Effect{
	"place-order":   func(map[string]any) Effect { return Effect{Creates: true} },
	"reserve-stock": func(map[string]any) Effect { return Effect{Gives: []string{"stock reserved"}} },
	"release-stock": func(map[string]any) Effect { return Effect{Takes: []string{"stock reserved"}} },
	"take-payment":  func(map[string]any) Effect { return Effect{Gives: []string{"payment taken"}} },
	"void-payment":  func(map[string]any) Effect { return Effect{Takes: []string{"payment taken"}} },
	"apply-transition": func(p map[string]any) Effect {
		event, constant := p["event"].(string)
		_, given := p["transitionId"]
		_, computed := p["transitionId.$"]
		return Effect{Event: Event(event), AnyEvent: !constant, Fenced: given || computed}
	},
	"await-order": func(p map[string]any) Effect {
		awaited, _ := p["awaited"].(string)
		return Effect{Awaits: State(awaited), Parks: true}
	},
	"request-shipment": func(map[string]any) Effect { return Effect{} },
	"cancel-shipment":  func(map[string]any) Effect { return Effect{} },
	"commit-stock":     func(map[string]any) Effect { return Effect{Takes: []string{"stock reserved"}} },
}

// OrderTask reads the tasks of Ratchet's own state machine, and of others that use
// the same activities: a Resource, placeholder or ARN, whose name ends in place-order
// creates the order, apply-transition applies Parameters.event, await-order waits
// for Parameters.awaited, and so on. Every other task does nothing to the order.
func OrderTask(t Task) Effect {
	n := stepName(t.Resource)
	for step, effect := range orderSteps {
		if n == step || strings.HasSuffix(n, "-"+step) {
			e := effect(t.Parameters)
			e.Activity = true
			return e
		}
	}

	return Effect{}
}

// The error names of Ratchet's activities, as activities/steps documents them.
var (
	orderRetryable = []string{"Order.Unavailable", "Order.InProgress", "Order.GatewayTimeout", "Order.Unknown",
		"Order.Deadline", "Order.WorkerShutdown", "States.Timeout", "States.HeartbeatTimeout"}
	orderTerminal = []string{"Order.InvalidInput", "Order.OutOfStock", "Order.PaymentDeclined", "Order.ShipmentCancelled",
		"Order.Closed", "Order.NotFound", "Order.Illegal", "Order.Panic", "Order.DataLimit", "Order.InvalidOutput"}
	orderOvertaken = []string{"Order.Superseded", "Order.WrongState", "Order.Conflict"}
	orderNeeds     = map[Event][]string{Pay: {"stock reserved", "payment taken"}}
	orderSettle    = []string{"stock reserved"}
)

// CheckOptions says how to read somebody's state machine. The zero value reads
// Ratchet's own.
type CheckOptions struct {
	// File names the ASL in messages. Default "state machine".
	File string
	// Task reads what a Task does to the order. Default [OrderTask].
	Task func(Task) Effect
	// Variable is where the execution keeps the order's state. The result of a task
	// that creates, moves or awaits the order holds it under the last name of the
	// path. Default "$.order.state".
	Variable string
	// Overtaken are the errors by which a task learns that somebody else moved the
	// order, Retryable those that a Retry may repeat, Terminal those that it must not.
	// Default: the names of activities/steps. A name with the prefix of one of them
	// (up to the dot) that is in no list is reported.
	Overtaken, Retryable, Terminal []string
	// Needs lists what must hold when an event is applied, by the words of
	// [Effect.Gives]. Default: pay needs "stock reserved" and "payment taken".
	Needs map[Event][]string
	// Settle lists what must no longer hold when an execution ends well, by the same
	// words. Default: "stock reserved". Needs and Settle name at most 16 words.
	Settle []string
	// Outside are the events that others may apply at any moment. Default: all.
	Outside []Event
}

// withDefaults fills what is zero.
func (o CheckOptions) withDefaults(d *Definition) CheckOptions {
	own := o.Task == nil
	if o.File == "" {
		o.File = "state machine"
	}

	if own {
		o.Task = OrderTask
	}

	if o.Variable == "" {
		o.Variable = "$.order.state"
	}

	if o.Overtaken == nil {
		o.Overtaken = orderOvertaken
	}

	if o.Retryable == nil {
		o.Retryable = orderRetryable
	}

	if o.Terminal == nil {
		o.Terminal = orderTerminal
	}

	if o.Needs == nil && own {
		o.Needs = orderNeeds
	}

	if o.Settle == nil && own {
		o.Settle = orderSettle
	}

	if o.Outside == nil {
		o.Outside = d.Events()
	}

	return o
}
