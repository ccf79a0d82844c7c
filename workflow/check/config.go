package check

import (
	"errors"
	"fmt"
	"slices"

	"ratchet/workflow"
)

// maxFacts is how many different facts a Config may name: the explorer keeps them in
// the bits of a uint16.
const maxFacts = 16

// Config says how to read a state machine: what its tasks do to orders, and which error
// names they raise. With the zero value no task does anything to an order, and only the
// language of the state machine is checked.
type Config struct {
	// File is the state machine's name in the report and in errors. Default "state
	// machine".
	File string
	// Tasks maps each task to its effect on the order.
	Tasks Tasks
	// Variable is the path where the execution keeps the state of the order. The result
	// of a task that creates, moves, awaits or reads the order holds the state under the
	// last name of the path. Default "$.order.state".
	Variable string
	// Overtaken are the errors of a task whose order was moved by another caller. Retryable are errors
	// that a Retry may repeat, Terminal errors that it must not. A name with the prefix of one of them (up
	// to the dot) that is in no list is a finding.
	Overtaken, Retryable, Terminal []string
	// Requires lists the facts that must hold when an event is applied, see
	// [Effect.Provides].
	Requires map[workflow.Event][]string
	// Released lists the facts that must not hold when an execution ends well.
	// Requires and Released name at most 16 different facts.
	Released []string
	// ReleasedIn lists the states of the order in which a fact of Released does not hold any
	// more, because something beside the execution has released it.
	ReleasedIn map[string][]workflow.State
}

// withDefaults returns the config with its defaults filled in. The error lists every fault of the config.
func (c Config) withDefaults() (Config, error) {
	if c.File == "" {
		c.File = "state machine"
	}

	if c.Variable == "" {
		c.Variable = "$.order.state"
	}

	var faults []error
	fault := func(format string, args ...any) {
		faults = append(faults, fmt.Errorf("check config: "+format, args...))
	}

	if at := readReference(c.Variable); !at.simple || at.root != "$" || len(at.steps) == 0 {
		fault("Variable %q: must be a path like $.order.state", c.Variable)
	}

	for name, effect := range c.Tasks {
		if name == "" || effect == nil {
			fault("Tasks: %q: must have a name and a function", name)
		}
	}

	if n := len(c.facts()); n > maxFacts {
		fault("Requires and Released: %d different facts; at most %d are supported", n, maxFacts)
	}

	if err := errors.Join(faults...); err != nil {
		return Config{}, err
	}

	return c, nil
}

// facts lists every fact of Requires and Released once, sorted.
func (c Config) facts() []string {
	all := slices.Clone(c.Released)
	for _, facts := range c.Requires {
		all = append(all, facts...)
	}

	slices.Sort(all)

	return slices.Compact(all)
}
