package server

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"

	"ratchet"
	"ratchet/activities/steps"
	"ratchet/api"
	"ratchet/workflow"
	"ratchet/workflow/check"
)

// ErrDefinition means that the file of Config.OrderDefinition cannot be read or has no valid
// definition.
var ErrDefinition = errors.New("order-definition")

// ErrStateMachine means that the state machine cannot be read, or that the state machine, the
// definition of orders and the steps do not fit each other.
var ErrStateMachine = errors.New("state-machine")

// flow is the workflow of orders: the definition, the state machine that moves the orders, and the
// steps of the activities.
type flow struct {
	definition *workflow.Definition
	// prefix is the configuration's prefix.
	prefix string
	// asl is the state machine with its placeholders. file is its name in errors.
	asl, file string
	// own says that the flow is not the shop's, so that the shop's steps and reactions do not run.
	own bool
	// changed says that the state machine is not the built-in one. If it is false, steps is empty.
	changed bool
	// steps are the program's own steps. others are the activities that other programs serve.
	steps  []Step
	others []string

	// fit returns the error of check, which runs once.
	fit func() error
	// machine returns the state machine with the report of its check, which runs once.
	machine func() (api.Machine, error)
}

// newFlow returns the flow that the configuration describes. It reads the files and checks
// nothing else.
func newFlow(c Config) (*flow, error) {
	f := &flow{prefix: c.Prefix, asl: ratchet.StateMachine, file: "statemachine.asl.json", others: c.OtherActivities}

	// Once, because every start of a part or of an execution calls fit, and the answer cannot change.
	f.fit = sync.OnceValue(func() error {
		if f.builtIn() {
			return nil // TestTheBuiltInWorkflowFits makes the check, which takes 50 ms at each start of a command
		}

		_, err := f.check()

		return err
	})

	f.machine = sync.OnceValues(func() (api.Machine, error) {
		cfg := f.checkConfig()
		report, err := check.StateMachine([]byte(f.asl), f.definition, cfg)

		return api.Machine{ASL: []byte(f.asl), Tasks: cfg.Tasks, Report: report}, err
	})

	if w := c.Parts.Workflow; w != nil {
		f.own, f.changed, f.definition, f.steps = !w.Shop, true, w.Definition, w.Steps
		f.asl, f.file = string(w.StateMachine), "the program's state machine"
	}

	var err error
	// The settings follow the program's parts. Validate refuses a configuration that sets both.
	if c.OrderDefinition != "" {
		if f.definition, err = readDefinition(c.OrderDefinition, c.AcceptVersions); err != nil {
			return nil, err
		}
	}

	if c.StateMachine != "" {
		text, err := os.ReadFile(c.StateMachine)
		if err != nil {
			return nil, fmt.Errorf("%w: %w", ErrStateMachine, err)
		}

		// With a file as its state machine, the workflow is not the shop, unless Workflow.Shop says so.
		f.own, f.changed = c.Parts.Workflow == nil || f.own, true
		f.asl, f.file = string(text), c.StateMachine
	}

	if f.definition == nil {
		if f.definition, err = workflow.OrderWith(workflow.Terms{ExpireUnpaid: c.ExpireUnpaid, ReturnWindow: c.ReturnWindow}); err != nil {
			return nil, fmt.Errorf("%w: %w", ErrDefinition, err)
		}
	}

	return f, nil
}

// builtIn says that all parts of the flow are those of this version of Ratchet.
func (f *flow) builtIn() bool {
	return !f.changed && f.definition == workflow.Order()
}

// CheckWorkflow checks that the definition of orders, the state machine and the steps of the
// configuration fit each other. Init, workers and API servers make the same check. It reads the files
// of the settings and writes nothing. The error wraps [ErrDefinition] or [ErrStateMachine]. If both
// files could be read, the report has all findings.
func (c Config) CheckWorkflow() (check.Report, error) {
	f, err := newFlow(c.WithDefaults())
	if err != nil {
		return check.Report{}, err
	}

	return f.check()
}

// check returns an error if the definition, the state machine and the steps do not fit each other.
func (f *flow) check() (check.Report, error) {
	// A file was checked when it was read, with its lines.
	if err := checkBounds(f.definition, nil); err != nil {
		return check.Report{}, fmt.Errorf("%w: %w", ErrDefinition, err)
	}

	if err := f.checkActivities(); err != nil {
		return check.Report{}, fmt.Errorf("%w: %s: %w", ErrStateMachine, f.file, err)
	}

	report, err := check.StateMachine([]byte(f.asl), f.definition, f.checkConfig())
	if err != nil {
		return report, fmt.Errorf("%w: %w", ErrStateMachine, err)
	}

	for _, finding := range report.Findings {
		if finding.Severity != check.SeverityError {
			continue
		}

		hint := "`ratchet workflow check` with the same settings lists all findings"
		if !f.changed {
			hint = "`ratchet workflow check --definition FILE` lists all findings; another definition needs its own --state-machine"
		}

		return report, fmt.Errorf("%w: the state machine does not fit the definition of orders: %s at %s: %s (%s)",
			ErrStateMachine, finding.Code, finding.State, finding.Message, hint)
	}

	if _, err := steps.Timings(f.asl); err != nil {
		return report, fmt.Errorf("%w: %s: %w", ErrStateMachine, f.file, err)
	}

	return report, nil
}

// checkConfig says which effects the tasks of the state machine have.
func (f *flow) checkConfig() check.Config {
	cfg, general := steps.CheckConfig(), steps.GeneralCheckConfig()
	if f.own {
		cfg = general
	} else if f.changed {
		cfg.Tasks[applyStep] = general.Tasks[applyStep]
	}
	cfg.File = f.file

	none := func(map[string]any) check.Effect { return check.Effect{} }
	for _, name := range f.others {
		cfg.Tasks[name] = none
	}

	for _, step := range f.steps {
		cfg.Tasks[step.Name] = step.Effect
		if step.Effect == nil {
			cfg.Tasks[step.Name] = none
		}
	}

	return cfg
}

// placeholderPattern matches the placeholders that Ratchet substitutes in a state machine.
var placeholderPattern = regexp.MustCompile(`\$\{([^}"]*)\}`)

// machineNameRule allows fewer characters than Step Functions, so that the name needs no quotes in
// shells, URLs and templates.
var machineNameRule = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z0-9_-]{1,80}$`) })

// tokensTable is the placeholder for the table of parked tasks.
const tokensTable = "TaskTokensTable"

// placeholders returns the placeholders of the state machine, sorted.
func (f *flow) placeholders() []string {
	found := map[string]bool{}
	for _, match := range placeholderPattern.FindAllStringSubmatch(f.asl, -1) {
		found[match[1]] = true
	}

	return slices.Sorted(maps.Keys(found))
}

// checkActivities fails if the state machine uses an activity that is not served, or if a step is not
// used. An activity is served by a built-in step, by a step of this program, or by another program that
// the setting other-activities names. Built-in steps may be unused.
func (f *flow) checkActivities() error {
	if !f.changed {
		return nil // a test compares the built-in state machine with the steps
	}

	if strings.TrimSpace(f.asl) == "" {
		return errors.New("a workflow of your own needs a state machine: set state-machine")
	}

	// Many tools write ASL as YAML, so this mistake has its own message.
	if !strings.HasPrefix(strings.TrimSpace(f.asl), "{") {
		return errors.New("must be JSON: Step Functions takes nothing else")
	}

	known := map[string]string{} // the activity of each placeholder
	for _, a := range f.activities() {
		known[a.Placeholder] = a.Name
	}

	var faults []error
	if name := f.prefix + f.machineName(); !machineNameRule().MatchString(name) {
		faults = append(faults, fmt.Errorf("the name of the state machine is the prefix and the definition's name, %q: at most 80 of A-Z a-z 0-9 _ -", name))
	}

	used := f.placeholders()
	for _, placeholder := range used {
		if _, serves := known[placeholder]; !serves && placeholder != tokensTable {
			faults = append(faults, fmt.Errorf("state %s uses ${%s}: no step of this program serves it (it has %s); if another program does, name its activity in other-activities",
				strings.Join(f.statesWith(placeholder), ", "), placeholder, strings.Join(slices.Sorted(maps.Keys(known)), ", ")))
		}
	}

	// A state machine need not use all of Ratchet's own steps.
	builtIn := map[string]bool{}
	for _, a := range builtInActivities(!f.own) {
		builtIn[a.Placeholder] = true
	}

	for _, placeholder := range slices.Sorted(maps.Keys(known)) {
		if !builtIn[placeholder] && !slices.Contains(used, placeholder) {
			faults = append(faults, fmt.Errorf("no state uses ${%s} of the activity %s", placeholder, known[placeholder]))
		}
	}

	return errors.Join(faults...)
}

// activities returns the activities that a state machine of this flow can use.
func (f *flow) activities() []steps.Activity {
	if !f.changed {
		return steps.Activities()
	}

	all := builtInActivities(!f.own)
	for _, step := range f.steps {
		all = append(all, steps.NewActivity(step.Name))
	}

	for _, name := range f.others {
		all = append(all, steps.NewActivity(name))
	}

	return all
}

// applyStep is the general step that the shop can also use.
const applyStep = "apply"

// builtInActivities returns the activities of the general steps or, for a shop with its own state
// machine, the activities of the shop's steps and of apply.
func builtInActivities(shop bool) (all []steps.Activity) {
	if shop {
		all = steps.Activities()
	}

	for _, step := range (&steps.General{}).All() { // All only binds the handlers
		if !shop || step.Name == applyStep {
			all = append(all, step.Activity)
		}
	}

	return all
}

func isBuiltInStep(name string, shop bool) bool {
	return slices.ContainsFunc(builtInActivities(shop), func(a steps.Activity) bool { return a.Name == name })
}

// statesWith returns the names of the states that use a placeholder, sorted. It returns none if the
// state machine is not JSON; another check reports that.
func (f *flow) statesWith(placeholder string) (names []string) {
	var walk func(value any)
	walk = func(value any) {
		switch v := value.(type) {
		case []any:
			for _, element := range v {
				walk(element)
			}
		case map[string]any:
			states, _ := v["States"].(map[string]any)
			for name, state := range states {
				if s, is := state.(map[string]any); is && mentions(s, "${"+placeholder+"}") {
					names = append(names, name)
				}
			}

			// States may contain further states: branches of Parallel and the processor of Map.
			for _, member := range v {
				walk(member)
			}
		}
	}

	var machine any
	if json.Unmarshal([]byte(f.asl), &machine) == nil {
		walk(machine)
	}
	slices.Sort(names)

	return names
}

// mentions reports whether a state has the text outside of the states that it contains.
func mentions(state map[string]any, text string) bool {
	for name, member := range state {
		if name == "Branches" || name == "Iterator" || name == "ItemProcessor" {
			continue
		}

		// A placeholder may be a part of a text deep inside the parameters.
		if encoded, err := json.Marshal(member); err == nil && strings.Contains(string(encoded), text) {
			return true
		}
	}

	return false
}

// machineName is the state machine's name without the prefix. It is the definition's name, which is
// "order" for the shop.
func (f *flow) machineName() string { return f.definition.Name() }
