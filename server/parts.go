package server

import (
	"errors"
	"fmt"
	"regexp"
	"strings"

	"ratchet/activities"
	"ratchet/notify/destination"
	"ratchet/payments"
	"ratchet/shipping"
	"ratchet/streams"
	"ratchet/workflow"
	"ratchet/workflow/check"
)

// Parts are the program's own implementations. If a part is nil, the settings
// decide. A part and the setting for the same thing exclude each other.
type Parts struct {
	// Bank takes and returns the money, in place of the sandbox (the setting bank).
	Bank payments.Processor
	// Carrier moves the parcels (the setting carrier). If it is a [shipping.Asker], a report is
	// believed only if it confirms it.
	Carrier shipping.Carrier
	// Destinations are more kinds of destinations for notifications, by the scheme that stands
	// before the colon. Endpoints and the setting notify can use them.
	Destinations map[string]destination.Scheme
	// Workflow is the way of orders, in place of the built-in shop.
	Workflow *Workflow
	// Handlers returns more handlers of the orders' stream, beside the built-in ones. Their names
	// must be new. It is called once, when all other parts of the backend exist; it must not call
	// out.
	Handlers func(*Backend) []streams.Handler
}

// Workflow is a program's own workflow: a definition, the state machine that drives its orders, and
// the steps of the activities. With one, the steps and reactions of the shop (stock, payment,
// shipping, refunds) do not run, unless Shop is set; the journal, notifications, waits and lists do.
//
// The state machine can use the general steps place, apply and look (activities/steps), and
// waits as package tasktoken describes them. It keeps the order's position at $.order; a
// shop's keeps it at $.run.order.
type Workflow struct {
	// Shop says that it is the shop with steps of the program's own: the state machine can use
	// accept, pay, compensate, look and apply, and the reactions of the shop run.
	Shop bool
	// Definition says which transitions an order may make. The state machine has its name, behind the prefix.
	// Nil: the definition of the setting order-definition, and without that setting the shop's.
	Definition *workflow.Definition
	// StateMachine is the state machine in ASL (JSON). The placeholder ${TakePhotoArn} stands for the
	// ARN of the activity take-photo, ${TaskTokensTable} for the table of the waits. Nil: the state machine
	// of the setting state-machine.
	StateMachine []byte
	// Steps are the program's own. Each must be used by the state machine.
	Steps []Step
}

// Step is one kind of task of a workflow of your own.
type Step struct {
	// Name is the activity's name, without the prefix: 1 to 32 of a-z 0-9 -, beginning with a
	// letter, as in take-photo.
	Name string
	// Handle returns the handler of the tasks. It is called once, by [Backend.Run].
	Handle func(*Backend) activities.HandlerFunc
	// Effect says how the task moves its order, given its Parameters, so that the state machine
	// can be checked against the definition. Nil: not at all. A step that only returns data, which
	// the general step apply then acts on, needs none.
	Effect func(parameters map[string]any) check.Effect
}

// isDestination reports whether the text of the setting notify names a destination of Parts.
func (p Parts) isDestination(text string) bool {
	kind, rest, _ := strings.Cut(text, ":")
	_, own := p.Destinations[kind]

	return own && rest != ""
}

var stepNameRule = regexp.MustCompile(`^[a-z][a-z0-9]*(-[a-z0-9]+)*$`)

// maxStepName keeps the activity's name, with a prefix of 40, below the 80 of Step Functions.
const maxStepName = 32

func isStepName(name string) bool { return stepNameRule.MatchString(name) && len(name) <= maxStepName }

// validate reports every part that breaks a rule, or stands beside a setting for the same thing.
func (p Parts) validate(c Config) error {
	var faults []error
	require := func(ok bool, format string, args ...any) {
		if !ok {
			faults = append(faults, fmt.Errorf(format, args...))
		}
	}

	const twice = "%s: this program brings its own, so the setting must be empty"
	require(p.Bank == nil || c.Bank == "", twice, "bank")
	require(p.Carrier == nil || c.Carrier == "", twice, "carrier")

	if err := destination.CheckSchemes(p.Destinations); err != nil {
		faults = append(faults, err)
	}

	if p.Workflow == nil {
		return errors.Join(faults...)
	}

	// A setting would silently take the place of the program's own.
	require(p.Workflow.Definition == nil || c.OrderDefinition == "", twice, "order-definition")
	require(p.Workflow.StateMachine == nil || c.StateMachine == "", twice, "state-machine")

	names := map[string]bool{}
	for i, step := range p.Workflow.Steps {
		require(isStepName(step.Name),
			"steps[%d].name %q: 1 to %d of a-z 0-9 with single dashes between them, beginning with a letter", i, step.Name, maxStepName)
		require(!isBuiltInStep(step.Name, p.Workflow.Shop), "steps[%d].name %q: is a step that Ratchet has", i, step.Name)
		require(!names[step.Name], "steps[%d].name %q: is there twice", i, step.Name)
		require(step.Handle != nil, "steps[%d] (%s): Handle must be set", i, step.Name)

		names[step.Name] = true
	}

	return errors.Join(faults...)
}
