package steps

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"ratchet/activities/tasktoken"
	"ratchet/workflow"
)

// Path says how an execution walks the happy path of a definition, see [HappyPath].
type Path struct {
	// Outside are the events that other callers make: the execution waits for them. The events of parcels and
	// of a carrier's reports always are.
	Outside []workflow.Event
	// Steps are the program's own steps.
	Steps []PathStep
}

// PathStep is a step of the program that runs before an event. It moves no order.
type PathStep struct {
	// Name is the activity's name, Placeholder its ARN's in the state machine, like TakePhotoArn.
	Name, Placeholder string
	// Before is the event.
	Before workflow.Event
	// Refused is the event that is applied after an answer of the class "refused" ([ErrorClasses]), "" if the
	// step has no such answer.
	Refused workflow.Event
}

const (
	taskSeconds      = 60
	heartbeatSeconds = 15
	waitSeconds      = 14 * 24 * 60 * 60
	pauseSeconds     = 60 // before an event that a guard has refused is tried again

	waitTask = "arn:aws:states:::aws-sdk:dynamodb:updateItem.waitForTaskToken"
)

// HappyPath writes the state machine of the shortest way from a definition's first state to its first settled
// state, or to its first terminal one, for the general steps ([General]). The Retry and Catch of its tasks are
// those of [ErrorClasses]. It waits for the moves that time makes. An execution whose order was moved by another caller
// looks where it is and goes on from there. The text has the placeholders of server.Workflow and ends with a line break.
func HappyPath(d *workflow.Definition, p Path) ([]byte, error) {
	m := &happyPath{definition: d, path: p}

	way, err := m.way(d.Initial(), m.goal())
	if err != nil {
		return nil, err
	}
	m.moves = way

	text, err := m.render()
	if err != nil {
		return nil, err
	}

	for _, s := range p.Steps {
		if !m.has(stateNamed(s.Name)) {
			return nil, fmt.Errorf("step %s: no execution makes the event %s, on the way from %s to %s or beside it", s.Name, s.Before, d.Initial(), m.goal())
		}
	}

	return text, nil
}

// Applies returns the events that an execution of [HappyPath] applies itself, each as soon as its order is where the
// event is legal. What follows a step is not among them: the step comes first.
func (p Path) Applies(d *workflow.Definition) (events []workflow.Event) {
	m := &happyPath{definition: d, path: p}

	way, err := m.way(d.Initial(), m.goal())
	if err != nil {
		return nil // HappyPath says so
	}
	m.moves = way

	for _, move := range way {
		follows := slices.ContainsFunc(p.Steps, func(s PathStep) bool { return s.Before == move.Event })
		if !m.isOutside(move) && !follows {
			events = append(events, move.Event)
		}
	}

	m.addDetours()
	for _, s := range p.Steps {
		if m.has(stateNamed(s.Name)) {
			events = append(events, s.Before)
		}
	}

	return events
}

// happyPath is a state machine that is being written.
type happyPath struct {
	definition *workflow.Definition
	path       Path
	moves      []workflow.Transition // each with one source
	states     []namedState
}

type namedState struct {
	name  string
	state machineState
}

// machineState is a state in the order of its members.
type machineState struct {
	Type             string
	Comment          string           `json:",omitempty"`
	Resource         string           `json:",omitempty"`
	Parameters       map[string]any   `json:",omitempty"`
	Seconds          int              `json:",omitempty"`
	TimeoutSeconds   int              `json:",omitempty"`
	HeartbeatSeconds int              `json:",omitempty"`
	ResultPath       string           `json:",omitempty"`
	Retry            []machineRetrier `json:",omitempty"`
	Catch            []machineCatcher `json:",omitempty"`
	Choices          []machineChoice  `json:",omitempty"`
	Default          string           `json:",omitempty"`
	Next             string           `json:",omitempty"`
}

type machineRetrier struct {
	ErrorEquals     []string
	IntervalSeconds int64
	BackoffRate     float64
	MaxAttempts     int
	MaxDelaySeconds int64 `json:",omitempty"`
}

type machineCatcher struct {
	ErrorEquals      []string
	ResultPath, Next string
}

type machineChoice struct{ Variable, StringEquals, Next string }

// goal returns the state in which the happy path ends.
func (m *happyPath) goal() workflow.State {
	for _, s := range m.definition.States() {
		if m.definition.Settled(s.State) {
			return s.State
		}
	}

	for _, s := range m.definition.States() {
		if s.Terminal {
			return s.State
		}
	}

	return ""
}

// way returns the shortest way between two states, in the order of the events.
func (m *happyPath) way(from, to workflow.State) ([]workflow.Transition, error) {
	type at struct {
		state workflow.State
		way   []workflow.Transition
	}

	seen := map[workflow.State]bool{from: true}
	for queue := []at{{state: from}}; len(queue) > 0; queue = queue[1:] {
		here := queue[0]
		if here.state == to {
			return here.way, nil
		}

		for _, event := range m.definition.Events() {
			for _, t := range m.definition.Choices(here.state, event) {
				if !seen[t.To] {
					seen[t.To] = true
					queue = append(queue, at{t.To, append(slices.Clone(here.way), t)})
				}
			}
		}
	}

	return nil, fmt.Errorf("no events lead from %q to an end", from)
}

func (m *happyPath) render() ([]byte, error) {
	m.add("Place", m.task("PlaceArn", map[string]any{"order.$": "$$.Execution.Input", "started.$": "$$.Execution.StartTime"}, "$.order", m.at(0)))

	for i, move := range m.moves {
		m.addSteps(move.Event, m.moveName(i))

		if m.isOutside(move) {
			m.addWait(m.moveName(i), move.To, m.at(i+1))
			continue
		}

		m.addApply(m.moveName(i), move.Event, len(move.Guards) > 0, m.at(i+1))
	}

	detours := m.addDetours()

	look := m.task("LookArn", map[string]any{"orderId.$": "$.orderId", "started.$": "$$.Execution.StartTime"}, "$.order", "Where")
	look.Catch = nil // it moves no order

	where := machineState{Type: "Choice", Default: "Done"}
	for i, move := range m.moves {
		// If no event leads to the first state, an execution whose order was moved never finds it there. One
		// whose wait has timed out does.
		if i == 0 && !m.comesBack() && !m.isOutside(move) {
			continue
		}
		where.Choices = append(where.Choices, machineChoice{"$.order.state", string(move.From[0]), m.at(i)})
	}
	where.Choices = append(where.Choices, detours...)

	// A Choice needs a rule. Without moves, it does not matter where the order is.
	if len(where.Choices) == 0 {
		look.Next = "Done"
	}
	m.add("Look", look)

	if len(where.Choices) > 0 {
		m.add("Where", where)
	}
	m.add("Done", machineState{Type: "Succeed"})

	return m.text()
}

// comesBack reports whether an event leads to the first state.
func (m *happyPath) comesBack() bool {
	return slices.ContainsFunc(m.definition.Events(), func(e workflow.Event) bool {
		return slices.Contains(m.definition.Targets(e), m.definition.Initial())
	})
}

// at returns the name of the state with which the execution goes on after the first moves.
func (m *happyPath) at(move int) string {
	if move == len(m.moves) {
		return "Done"
	}

	if steps := m.before(m.moves[move].Event); len(steps) > 0 {
		return stateNamed(steps[0].Name)
	}

	return m.moveName(move)
}

func (m *happyPath) moveName(move int) string {
	t := m.moves[move]
	if m.isOutside(t) {
		return "Await" + stateNamed(string(t.To))
	}

	return stateNamed(string(t.Event))
}

func (m *happyPath) before(event workflow.Event) (all []PathStep) {
	for _, s := range m.path.Steps {
		if s.Before == event {
			all = append(all, s)
		}
	}

	return all
}

// isOutside reports whether the execution waits for a move that others or time make.
func (m *happyPath) isOutside(move workflow.Transition) bool {
	s := m.definition.Shipping()
	reported := append([]workflow.Event{s.Part, s.Left, s.Delivered, s.Canceled}, s.Returned...)

	return move.After != nil || slices.Contains(m.path.Outside, move.Event) || slices.Contains(reported, move.Event)
}

// addSteps adds the program's steps before an event, each with the event that follows its refusal. The state apply
// applies the event.
func (m *happyPath) addSteps(event workflow.Event, apply string) {
	all := m.before(event)

	for i, s := range all {
		next := apply
		if i+1 < len(all) {
			next = stateNamed(all[i+1].Name)
		}

		parameters := map[string]any{"orderId.$": "$.orderId", "incarnation.$": "$.order.incarnation"}
		task := m.task(s.Placeholder, parameters, "$."+strings.ReplaceAll(s.Name, "-", "_"), next)
		task.Comment = "A step of this program. It moves no order."
		refused := stateNamed(string(s.Refused))

		if s.Refused != "" {
			task.Catch = append(task.Catch, machineCatcher{errorsNamed("refused"), "$.refused", refused})
		}
		m.add(stateNamed(s.Name), task)

		if s.Refused != "" && !m.has(refused) {
			m.addApply(refused, s.Refused, false, "Done")
		}
	}
}

// addApply adds the task that applies an event. A guard may refuse it again at once, so a guarded event waits
// before the next try.
func (m *happyPath) addApply(name string, event workflow.Event, guarded bool, next string) {
	task := m.task("ApplyArn", map[string]any{
		"orderId.$":      "$.orderId",
		"event":          event,
		"transitionId.$": "States.MathAdd($.order.transitionId, 1)",
	}, "$.order", next)

	if guarded {
		for i := range task.Catch {
			task.Catch[i].Next = "Before" + name
		}
	}
	m.add(name, task)

	if guarded {
		m.add("Before"+name, machineState{Type: "Wait", Seconds: pauseSeconds, Next: "Look"})
	}
}

func (m *happyPath) addWait(name string, awaited workflow.State, next string) {
	wait := machineState{
		Type:     "Task",
		Comment:  "Step Functions itself stores the task token. No worker waits.",
		Resource: waitTask,
		Parameters: tasktoken.WaitParameters("${TaskTokensTable}", string(awaited), tasktoken.Paths{
			OrderID:     "$.orderId",
			Incarnation: "$.order.incarnation",
			Since:       "$.order.transitionId",
			Visits:      "0", // the wait before the same transition may be replaced
		}),
		TimeoutSeconds: waitSeconds,
		ResultPath:     "$.order",
		Next:           next,
	}
	wait.Retry, wait.Catch = handling(Waits)

	m.add(name, wait)
}

// addDetours adds a wait for each state beside the way from which the order can come back to it, or to an end. Where the
// program has a step before an event, the execution makes both.
func (m *happyPath) addDetours() (choices []machineChoice) {
	on := map[workflow.State]bool{}
	for _, move := range m.moves {
		on[move.From[0]] = true
	}

	for _, s := range m.definition.States() {
		if s.Terminal || on[s.State] || m.definition.Settled(s.State) {
			continue
		}

		if first := m.addDetourSteps(s.State); first != "" {
			choices = append(choices, machineChoice{"$.order.state", string(s.State), first})
			continue
		}

		back, ends := m.detour(s.State, on)
		if back == "" {
			continue
		}

		next := "Look"
		if ends {
			next = "Done"
		}

		name := "From" + stateNamed(string(s.State))
		m.addWait(name, back, next)
		choices = append(choices, machineChoice{"$.order.state", string(s.State), name})
	}

	return choices
}

// addDetourSteps adds the steps before an event that leaves a state beside the way, and the event. It returns the first
// state of the machine, "" if no step is before such an event.
func (m *happyPath) addDetourSteps(from workflow.State) (first string) {
	for _, s := range m.path.Steps {
		leaves := m.definition.Choices(from, s.Before)
		if len(leaves) == 0 || m.isOutside(leaves[0]) || m.isOnTheWay(s.Before) {
			continue
		}

		first, apply := stateNamed(m.before(s.Before)[0].Name), stateNamed(string(s.Before))
		if m.has(first) { // another state beside the way has the event, too
			return first
		}

		next := "Look"
		if !slices.ContainsFunc(m.definition.Targets(s.Before), func(to workflow.State) bool { return !m.isEnd(to) }) {
			next = "Done"
		}

		guarded := slices.ContainsFunc(leaves, func(t workflow.Transition) bool { return len(t.Guards) > 0 })
		m.addSteps(s.Before, apply)
		m.addApply(apply, s.Before, guarded, next)

		return first
	}

	return ""
}

func (m *happyPath) isEnd(state workflow.State) bool {
	return m.definition.Terminal(state) || m.definition.Settled(state)
}

func (m *happyPath) isOnTheWay(event workflow.Event) bool {
	return slices.ContainsFunc(m.moves, func(move workflow.Transition) bool { return move.Event == event })
}

// detour returns the nearest state of the way, or the nearest end, to which an order comes from the state.
func (m *happyPath) detour(from workflow.State, on map[workflow.State]bool) (back workflow.State, ends bool) {
	nearest := -1

	for _, s := range m.definition.States() {
		isEnd := s.Terminal || m.definition.Settled(s.State)
		if !on[s.State] && !isEnd {
			continue
		}

		way, err := m.way(from, s.State)
		// A state of the way before an end that is as near: the order may go on.
		if err == nil && (nearest < 0 || len(way) < nearest || len(way) == nearest && ends && !isEnd) {
			back, ends, nearest = s.State, isEnd, len(way)
		}
	}

	return back, ends
}

func (m *happyPath) task(placeholder string, parameters map[string]any, result, next string) machineState {
	task := machineState{
		Type:             "Task",
		Resource:         "${" + placeholder + "}",
		Parameters:       parameters,
		TimeoutSeconds:   taskSeconds,
		HeartbeatSeconds: heartbeatSeconds,
		ResultPath:       result,
		Next:             next,
	}

	task.Retry, task.Catch = handling(Tasks)

	return task
}

// handling returns the Retry and the Catch of the table of errors for a kind of states. A refusal is no error of
// every task.
func handling(kind States) (retry []machineRetrier, catch []machineCatcher) {
	var caught []string
	for _, c := range ErrorClasses() {
		if c.Of != AllStates && c.Of != kind {
			continue
		}

		if r := c.Retry; r != nil {
			retry = append(retry, machineRetrier{c.Errors, int64(r.First.Seconds()), max(r.Rate, 1), r.Attempts, int64(r.Longest.Seconds())})
		}

		if c.Then == Caught && c.Name != "refused" {
			caught = append(caught, c.Errors...)
		}
	}

	return retry, []machineCatcher{{caught, "$.moved", "Look"}}
}

func errorsNamed(class string) []string {
	return errorsOf(func(c ErrorClass) bool { return c.Name == class })
}

// stateNamed returns the name of an event or a state as a name of the state machine: TAKE_PHOTO and take-photo
// are TakePhoto.
func stateNamed(name string) string {
	var b strings.Builder
	for word := range strings.FieldsFuncSeq(name, func(r rune) bool { return r == '_' || r == '-' }) {
		b.WriteString(strings.ToUpper(word[:1]))
		b.WriteString(strings.ToLower(word[1:]))
	}

	return b.String()
}

func (m *happyPath) add(name string, s machineState) {
	m.states = append(m.states, namedState{name, s})
}

func (m *happyPath) has(name string) bool {
	return slices.ContainsFunc(m.states, func(s namedState) bool { return s.name == name })
}

// text renders the states in their order. Two events or states may have one name here, because Step Functions'
// names have no case of their own.
func (m *happyPath) text() ([]byte, error) {
	var states bytes.Buffer
	seen := map[string]bool{}

	for i, s := range m.states {
		if seen[s.name] {
			return nil, fmt.Errorf("two states of the state machine would be called %s: rename an event or a state of the definition", s.name)
		}
		seen[s.name] = true

		text, err := encode(s.state)
		if err != nil {
			return nil, err
		}

		if i > 0 {
			states.WriteByte(',')
		}
		fmt.Fprintf(&states, "%q:%s", s.name, text)
	}

	comment, err := encode(fmt.Sprintf("How Step Functions walks the happy path of %s. The position is at $.order. If another caller moves it, the execution looks where it is and goes on from there.", m.definition.Name()))
	if err != nil {
		return nil, err
	}

	var out bytes.Buffer
	err = json.Indent(&out, fmt.Appendf(nil, `{"Comment":%s,"StartAt":"Place","States":{%s}}`, comment, states.Bytes()), "", "  ")
	out.WriteByte('\n')

	return out.Bytes(), err
}

// encode renders JSON without escapes for < and >, which the conditions of the waits have.
func encode(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(v)

	return bytes.TrimSpace(b.Bytes()), err
}
