package api

import (
	"context"
	"encoding/json"
	"maps"
	"net/http"
	"slices"

	"github.com/danielgtaylor/huma/v2"

	"ratchet/api/auth"
	"ratchet/workflow"
	"ratchet/workflow/check"
)

// Machine is the state machine that moves the orders, as the server runs it.
type Machine struct {
	// ASL is its text in Amazon States Language.
	ASL []byte
	// Tasks say what its tasks do with an order.
	Tasks check.Tasks
	// Report is the result of its check against the definition of orders.
	Report check.Report
}

func (s *service) workflowRoutes(h huma.API) {
	register(s, h, route{
		id:      "get-workflow",
		method:  http.MethodGet,
		path:    "/v1/workflow",
		tag:     "workflow",
		scope:   auth.Read,
		status:  http.StatusOK,
		summary: "Read the definition of orders, the state machine that moves them, and the result of its check",
		description: "They are the same for all tenants, and as `ratchet workflow show` and `ratchet workflow check` print them with the settings of the server. " +
			"Nothing is read: the answer changes with the server's settings only. " +
			"Layouts are made once, beside the first request for them, which may be answered without.",
	}, s.getWorkflow)
}

// workflowShown is a definition with the state machine that moves its orders.
type workflowShown struct {
	Name        string            `json:"name"`
	Version     int               `json:"version"`
	Place       string            `json:"place" doc:"The event that places an order."`
	Initial     string            `json:"initial" doc:"The state of a placed order."`
	Content     []string          `json:"content" doc:"The parts that an order of the definition has."`
	States      []definedState    `json:"states"`
	Transitions []definedMove     `json:"transitions"`
	Machine     *definedMachine   `json:"machine,omitempty" doc:"Absent if the server was built without it."`
	Check       *definitionReport `json:"check,omitempty" doc:"Absent with the state machine."`
	Layout      *graphLayout      `json:"layout,omitempty" doc:"A picture of the states and transitions. Only with layout=true."`
}

type definedState struct {
	State    string `json:"state"`
	Terminal bool   `json:"terminal" doc:"Whether no event leaves it."`
	Doc      string `json:"doc,omitempty"`
}

// definedMove leads from each of the states in from to one state.
type definedMove struct {
	Event string   `json:"event"`
	From  []string `json:"from"`
	To    string   `json:"to"`
	If    []string `json:"if" doc:"The guards, which must all hold."`
	// Time makes the move, too.
	After   *definedAfter `json:"after,omitempty" doc:"When time makes the move. Absent if only requests do."`
	Restart bool          `json:"restart,omitempty" doc:"Whether the event, which keeps the state, starts the timers of the state again."`
}

type definedAfter struct {
	Text      string `json:"text" doc:"As in a definition's diagram, such as 14d or metadata.trialEndsAt - 3d."`
	Seconds   int64  `json:"seconds" doc:"How long after the order has entered the state, or after the time in the attribute. Negative: before it."`
	Attribute string `json:"attribute,omitempty" doc:"The path of the attribute that holds a time."`
}

type definedMachine struct {
	StartAt string         `json:"startAt"`
	States  []machineState `json:"states" doc:"By name; nested ones as Outer/Inner."`
	Layout  *graphLayout   `json:"layout,omitempty" doc:"A picture of these states. Only with layout=true."`
}

// machineState is a state of the state machine.
type machineState struct {
	Name    string   `json:"name"`
	Type    string   `json:"type"`
	Next    []string `json:"next" doc:"The states that may follow, also after an error."`
	Creates bool     `json:"creates,omitempty" doc:"Whether it places the order."`
	Events  []string `json:"events" doc:"The events that it applies, also when it is refused."`
	Awaits  string   `json:"awaits,omitempty" doc:"The order's state that it waits for."`
	Orders  []string `json:"orders" doc:"The order's states in which an execution can enter it. Empty: before the order exists, or never."`
}

type definitionReport struct {
	Errors   int              `json:"errors"`
	Warnings int              `json:"warnings"`
	Findings []checkedFinding `json:"findings"`
}

type checkedFinding struct {
	Severity string      `json:"severity" enum:"error,warning,info"`
	Code     string      `json:"code" doc:"Stable, such as illegal-event."`
	State    string      `json:"state,omitempty" doc:"The state of the state machine."`
	Line     int         `json:"line,omitempty" doc:"The line of the state machine's text."`
	What     string      `json:"what"`
	Path     []pathState `json:"path" doc:"The shortest way of an execution that shows it. Empty if it is not about a way."`
}

// pathState is a state on the way of a finding.
type pathState struct {
	State  string `json:"state"`
	Order  string `json:"order,omitempty" doc:"Where the execution believes the order to be."`
	Actual string `json:"actual,omitempty" doc:"Where the order is, if another caller has moved it."`
	How    string `json:"how,omitempty" doc:"How the execution came here."`
}

type workflowInput struct {
	Layout bool `query:"layout" doc:"Say also where the parts of a picture are. It makes the answer several times as large. Default: false."`
}

type workflowOutput struct{ Body workflowShown }

func (s *service) getWorkflow(_ context.Context, _ caller, in *workflowInput) (*workflowOutput, error) {
	kept, err := s.workflow()
	if err != nil {
		return nil, err
	}

	shown := kept.shown
	if !in.Layout {
		return &workflowOutput{shown}, nil
	}
	shown.Layout = kept.layout.layout()

	if shown.Machine != nil {
		machine := *shown.Machine
		machine.Layout = kept.machine.layout()
		shown.Machine = &machine
	}

	return &workflowOutput{shown}, nil
}

// keptWorkflow is what is answered about the definition. layout and machine are those of the definition and of its state machine.
type keptWorkflow struct {
	shown           workflowShown
	layout, machine *layoutMaker
}

// keepWorkflow makes the answer. Its layouts are made when a request asks for them.
func (s *service) keepWorkflow() (kept keptWorkflow, err error) {
	if kept.shown, err = s.showWorkflow(); err != nil {
		return kept, err
	}
	kept.layout = layOut(kept.shown.graph())

	if kept.shown.Machine != nil {
		kept.machine = layOut(kept.shown.Machine.graph())
	}

	return kept, nil
}

// showWorkflow makes the answer, which is the same for all callers.
func (s *service) showWorkflow() (workflowShown, error) {
	d := s.definition()
	spec := d.Spec()

	out := workflowShown{
		Name: d.Name(), Version: d.Version(), Place: string(d.Place()), Initial: string(d.Initial()),
		Content: []string{}, States: []definedState{}, Transitions: []definedMove{},
	}

	for _, part := range workflow.Parts() {
		if d.Has(part) {
			out.Content = append(out.Content, string(part))
		}
	}

	for _, state := range d.States() {
		out.States = append(out.States, definedState{string(state.State), state.Terminal, state.Doc})
	}

	for _, t := range spec.Transitions {
		move := definedMove{Event: string(t.Event), From: append([]string{}, toStrings(t.From)...), To: string(t.To), If: []string{}, Restart: t.Restart}
		for _, guard := range t.Guards {
			move.If = append(move.If, guard.String())
		}

		if a := t.After; a != nil {
			move.After = &definedAfter{a.String(), int64(a.Delay.Seconds()), a.Attribute}
		}
		out.Transitions = append(out.Transitions, move)
	}

	if s.cfg.Machine == nil {
		return out, nil
	}

	machine, err := s.cfg.Machine()
	if err != nil {
		return workflowShown{}, err
	}

	if out.Machine, err = machine.shown(); err != nil {
		return workflowShown{}, err
	}
	out.Check = showCheck(machine.Report)

	return out, nil
}

func showCheck(r check.Report) *definitionReport {
	out := &definitionReport{Errors: r.Count(check.SeverityError), Warnings: r.Count(check.SeverityWarning), Findings: []checkedFinding{}}

	for _, f := range r.Findings {
		shown := checkedFinding{Severity: string(f.Severity), Code: f.Code, State: f.State, Line: f.Line, What: f.Message, Path: []pathState{}}
		for _, p := range f.Path {
			shown.Path = append(shown.Path, pathState{p.State, string(p.Order), string(p.Actual), p.How})
		}
		out.Findings = append(out.Findings, shown)
	}

	return out
}

// aslStates are the states of a state machine, as far as they are shown.
type aslStates struct {
	StartAt string
	States  map[string]struct {
		Type, Resource, Next, Default string
		Parameters, Arguments         map[string]any
		Choices, Catch                []struct{ Next string }
		Branches                      []aslStates
		ItemProcessor, Iterator       *aslStates
	}
}

// shown returns the states of the state machine, with what their tasks do.
func (m Machine) shown() (*definedMachine, error) {
	var asl aslStates
	if err := json.Unmarshal(m.ASL, &asl); err != nil {
		return nil, err
	}

	return &definedMachine{StartAt: asl.StartAt, States: m.statesOf(asl, "")}, nil
}

func (m Machine) statesOf(asl aslStates, within string) []machineState {
	all := []machineState{} // not nil: a list is never null in JSON

	for _, name := range slices.Sorted(maps.Keys(asl.States)) {
		state := asl.States[name]
		shown := machineState{Name: within + name, Type: state.Type, Next: []string{}, Events: []string{}, Orders: []string{}}

		next := append([]string{state.Next, state.Default}, nextOf(state.Choices)...)
		for _, n := range append(next, nextOf(state.Catch)...) {
			if n != "" && !slices.Contains(shown.Next, within+n) {
				shown.Next = append(shown.Next, within+n)
			}
		}

		parameters := state.Parameters
		if parameters == nil {
			parameters = state.Arguments
		}

		if state.Type == "Task" {
			shown.apply(m.Tasks.Effect(state.Resource, parameters))
		}

		for _, order := range m.Report.Possible[shown.Name] {
			if order != "" {
				shown.Orders = append(shown.Orders, string(order))
			}
		}
		all = append(all, shown)

		for _, branch := range append(state.Branches, insideOf(state.ItemProcessor, state.Iterator)...) {
			all = append(all, m.statesOf(branch, shown.Name+"/")...)
		}
	}

	return all
}

// apply adds what the task does with the order.
func (s *machineState) apply(e check.Effect) {
	s.Creates, s.Awaits = e.Creates, string(e.Awaits)

	events := slices.Collect(maps.Values(e.Refused))
	if e.Event != "" {
		events = append(events, e.Event)
	}
	slices.Sort(events)

	for _, event := range slices.Compact(events) {
		s.Events = append(s.Events, string(event))
	}
}

func nextOf(rules []struct{ Next string }) (names []string) {
	for _, rule := range rules {
		names = append(names, rule.Next)
	}

	return names
}

func insideOf(processors ...*aslStates) (inside []aslStates) {
	for _, p := range processors {
		if p != nil {
			inside = append(inside, *p)
		}
	}

	return inside
}
