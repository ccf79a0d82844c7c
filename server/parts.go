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

// Parts are the program's own implementations. If a part is nil, the settings decide. It is an error to
// set both a part and the setting for the same thing.
type Parts struct {
	// Bank takes and returns the money, in place of the setting bank.
	Bank payments.Processor
	// Carrier moves the parcels, in place of the setting carrier. If it is a [shipping.Asker], a report
	// is believed only if the carrier confirms it.
	Carrier shipping.Carrier
	// Destinations are more kinds of destinations for notifications. The key is the scheme, which is the
	// text before the colon. Endpoints and the setting notify can use them.
	Destinations map[string]destination.Scheme
	// Workflow is the program's workflow of orders, in place of the built-in shop.
	Workflow *Workflow
	// Handlers returns more handlers of the orders' stream, beside the built-in ones. Their names must
	// differ from the built-in names. Handlers is called once, when all other parts of the backend exist.
	// It must not call the parts or AWS.
	Handlers func(*Backend) []streams.Handler
	// Permissions are what Bank, Carrier, Destinations and Handlers call on AWS beside what Ratchet itself calls, in the
	// form of [Step.Permissions]. Nil: the templates of `ratchet deploy` have a place for them. Empty: they call nothing.
	Permissions []string
}

// Workflow is a program's own workflow: a definition, the state machine that drives its orders, and the
// steps of the activities. The steps and reactions of the shop (stock, payment, shipping, refunds) then
// run only if Shop is set. The journal, notifications, waits and lists always run.
//
// The state machine can use the general steps place, apply and look (activities/steps), and
// waits as package tasktoken describes them. It keeps the order's position at $.order, or, with Shop,
// at $.run.order.
type Workflow struct {
	// Shop says that the workflow is the shop, changed or extended by the program: the state machine can
	// use accept, pay, compensate, look and apply, and the reactions of the shop run.
	Shop bool
	// Definition says which transitions an order may make. The name of the state machine is the prefix
	// and the definition's name. Nil: the definition of the setting order-definition, else the shop's.
	Definition *workflow.Definition
	// StateMachine is the state machine in ASL (JSON). The placeholder ${TakePhotoArn} stands for the
	// ARN of the activity take-photo, and ${TaskTokensTable} for the name of the table of parked tasks.
	// Nil: the state machine of the setting state-machine.
	StateMachine []byte
	// Steps are the program's own steps. The state machine must use each of them.
	Steps []Step
}

// Step is one kind of task of a program's own workflow.
type Step struct {
	// Name is the activity's name, without the prefix: 1 to 32 of a-z 0-9 -, beginning with a
	// letter, as in take-photo.
	Name string
	// Handle returns the handler of the tasks. It is called once, by [Backend.Run].
	Handle func(*Backend) activities.HandlerFunc
	// Effect says how the task moves its order, given the task's Parameters, so that the state machine
	// can be checked against the definition. Nil: the task does not move its order. A step that only
	// returns data for a later task of the step apply needs no Effect.
	Effect func(parameters map[string]any) check.Effect
	// Permissions are what the handler calls on AWS beside what Ratchet itself calls, for the templates of
	// `ratchet deploy`: an action and a resource, like "s3:GetObject arn:aws:s3:::photos/*". A table or
	// queue with the program's prefix is "dynamodb:GetItem table/photos" or "sqs:SendMessage queue/prints". Nil:
	// the templates have a place for them. Empty: the handler calls nothing.
	Permissions []string
}

// permissionRule is the form of [Step.Permissions].
var permissionRule = regexp.MustCompile(`^[a-z0-9-]+:[A-Za-z0-9*]+ (\*|arn:[^\s"]+|(table|queue|activity|stateMachine|role)/[A-Za-z0-9_./*-]+)$`)

// isDestination reports whether the text of the setting notify names a destination of Parts.
func (p Parts) isDestination(text string) bool {
	kind, rest, _ := strings.Cut(text, ":")
	_, own := p.Destinations[kind]

	return own && rest != ""
}

var stepNameRule = regexp.MustCompile(`^[a-z][a-z0-9]*(-[a-z0-9]+)*$`)

// maxStepName is the most characters of a step's name. With a prefix of 40 characters, the activity's
// name stays below the limit of 80 of Step Functions.
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

	for _, permission := range p.Permissions {
		require(permissionRule.MatchString(permission), "permissions %q: must be an action and a resource, like s3:GetObject arn:aws:s3:::photos/*", permission)
	}

	if p.Workflow == nil {
		return errors.Join(faults...)
	}

	// Refused here, because newFlow would use the setting and silently ignore the program's own.
	require(p.Workflow.Definition == nil || c.OrderDefinition == "", twice, "order-definition")
	require(p.Workflow.StateMachine == nil || c.StateMachine == "", twice, "state-machine")

	names := map[string]bool{}
	for i, step := range p.Workflow.Steps {
		require(isStepName(step.Name),
			"steps[%d].name %q: 1 to %d of a-z 0-9 with single dashes between them, beginning with a letter", i, step.Name, maxStepName)
		require(!isBuiltInStep(step.Name, p.Workflow.Shop), "steps[%d].name %q: is a step that Ratchet has", i, step.Name)
		require(!names[step.Name], "steps[%d].name %q: is there twice", i, step.Name)
		require(step.Handle != nil, "steps[%d] (%s): Handle must be set", i, step.Name)

		for _, permission := range step.Permissions {
			require(permissionRule.MatchString(permission),
				"steps[%d] (%s): permissions %q: must be an action and a resource, like s3:GetObject arn:aws:s3:::photos/*", i, step.Name, permission)
		}

		names[step.Name] = true
	}

	return errors.Join(faults...)
}
