package check

import (
	"slices"
	"strconv"
	"strings"

	"ratchet/workflow/internal/document"
)

// noTimeout is the TimeoutSeconds of a Task that says nothing: three years.
// https://docs.aws.amazon.com/step-functions/latest/dg/state-task.html
const noTimeout = 99_999_999

// aslScope is one StartAt with its States: the machine itself, a branch of a
// Parallel or the processor of a Map.
type aslScope struct {
	line         int
	startAt      string
	states       []*aslState
	byName       map[string]*aslState
	parent       *aslState // the Parallel or Map around it, nil at the top
	touchesOrder bool      // some Task inside creates, moves or awaits the order

	least *weight          // of shortest, once it is known
	most  map[bool]*weight // of longest, likewise
}

// aslMachine is a state machine in Amazon States Language.
type aslMachine struct {
	top     *aslScope
	timeout int64 // of an execution, 0 when absent
	jsonata bool
	all     []*aslState       // nested ones, too, in the file's order
	unknown []document.Member // fields that the language does not have
}

// aslState is one state of any type. Fields that its type does not have are zero.
type aslState struct {
	name, kind string
	line       int
	scope      *aslScope
	jsonata    bool

	next string
	end  bool

	resource           string
	parameters         *document.Node
	timeout, heartbeat aslSeconds
	retry              []aslRetry
	catch              []aslCatch

	input, output, resultPath string // "$" when absent; resultPath "" for null
	hasResult                 bool   // Pass: a Result of its own
	hasError                  bool

	rules      []aslRule
	defaults   string
	hasDefault bool

	branches    []*aslScope // Parallel: all; Map: its one processor
	distributed bool
	wait        float64 // seconds of a Wait with a constant, else 0

	effect  Effect
	unknown []document.Member
}

// aslSeconds is a duration that is absent, constant, or taken from the data.
type aslSeconds struct {
	set, dynamic bool
	seconds      int64
}

type aslRetry struct {
	line               int
	errors             []string
	interval, attempts int64
	maxDelay           int64 // 0 when absent
	backoff            float64
}

type aslCatch struct {
	line       int
	errors     []string
	next       string
	resultPath string
}

type aslRule struct {
	line int
	cond *condition
	next string
}

// outer is the scope around the scope, nil at the top.
func (sc *aslScope) outer() *aslScope {
	if sc.parent == nil {
		return nil
	}
	return sc.parent.scope
}

// path names a nested state with the states around it.
func (s *aslState) path() string {
	if s.scope.parent == nil {
		return s.name
	}
	return s.scope.parent.path() + "/" + s.name
}

// readASL reads a machine. The error names the file and the line of what is not
// JSON or YAML, or not of the shape that the language asks for; everything that can
// be read is left to the findings.
func readASL(file string, data []byte) (*aslMachine, error) {
	doc, err := document.Read(file, data)
	if err != nil {
		return nil, err
	}

	r := &aslReader{Decoder: document.Decoder{File: file}, m: &aslMachine{}}
	if q := doc.Get("QueryLanguage"); q != nil {
		r.m.jsonata = r.String(q, "QueryLanguage") == "JSONata"
	}

	r.m.top = r.scope(doc, nil)
	for _, m := range doc.Members {
		switch m.Name {
		case "Comment", "StartAt", "States", "Version", "QueryLanguage":
		case "TimeoutSeconds":
			r.m.timeout = r.Int(m.Value, "TimeoutSeconds")
		default:
			r.m.unknown = append(r.m.unknown, m)
		}
	}

	return r.m, r.Err()
}

type aslReader struct {
	document.Decoder
	m *aslMachine
}

func (r *aslReader) scope(n *document.Node, parent *aslState) *aslScope {
	s := &aslScope{line: n.Line, byName: map[string]*aslState{}, parent: parent, most: map[bool]*weight{}}
	if !r.Want(n, document.Map, "state machine") {
		return s
	}

	if at := n.Get("StartAt"); at != nil {
		s.startAt = r.String(at, "StartAt")
	}

	states := n.Get("States")
	if states == nil {
		r.Fail(n.Line, "there are no States: this is not Amazon States Language")
		return s
	}

	if !r.Want(states, document.Map, "States") {
		return s
	}

	for _, m := range states.Members {
		st := &aslState{name: m.Name, line: m.Line, scope: s, input: "$", output: "$", resultPath: "$", jsonata: r.m.jsonata}

		s.states = append(s.states, st)
		s.byName[m.Name] = st
		r.m.all = append(r.m.all, st)
		if r.Want(m.Value, document.Map, "state "+m.Name) {
			r.state(st, m.Value)
		}
	}

	return s
}

// silent are the fields that change nothing of what is checked here.
var silent = []string{"Comment", "ResultSelector", "Output", "Assign", "Credentials", "ItemsPath", "Items", "ItemSelector",
	"ItemReader", "ItemBatcher", "ResultWriter", "MaxConcurrency", "MaxConcurrencyPath", "ToleratedFailureCount",
	"ToleratedFailureCountPath", "ToleratedFailurePercentage", "ToleratedFailurePercentagePath", "Label",
	"SecondsPath", "Timestamp", "TimestampPath", "Cause", "CausePath"}

func (r *aslReader) state(s *aslState, n *document.Node) {
	if q := n.Get("QueryLanguage"); q != nil {
		s.jsonata = r.String(q, "QueryLanguage") == "JSONata"
	}

	for _, m := range n.Members {
		v, what := m.Value, "state "+s.name+": "+m.Name
		switch m.Name {
		case "QueryLanguage":
		case "Type":
			s.kind = r.String(v, what)
		case "Next":
			s.next = r.String(v, what)
		case "End":
			s.end = r.Bool(v, what)
		case "Resource":
			s.resource = r.String(v, what)
		case "Parameters", "Arguments":
			s.parameters = v
		case "Result":
			s.hasResult = true
		case "Error", "ErrorPath":
			s.hasError = true
		case "InputPath":
			s.input = r.refPath(v, what)
		case "OutputPath":
			s.output = r.refPath(v, what)
		case "ResultPath":
			s.resultPath = r.refPath(v, what)
		case "TimeoutSeconds":
			s.timeout = r.seconds(v, what)
		case "HeartbeatSeconds":
			s.heartbeat = r.seconds(v, what)
		case "TimeoutSecondsPath":
			s.timeout = aslSeconds{set: true, dynamic: true}
		case "HeartbeatSecondsPath":
			s.heartbeat = aslSeconds{set: true, dynamic: true}
		case "Seconds":
			if v.Kind == document.Number {
				s.wait = float64(r.Int(v, what))
			}
		case "Default":
			s.defaults, s.hasDefault = r.String(v, what), true
		default:
			r.list(s, m, what)
		}
	}
}

// list reads the fields that hold lists or machines.
func (r *aslReader) list(s *aslState, m document.Member, what string) {
	v := m.Value
	switch m.Name {
	case "Retry", "Catch", "Choices", "Branches":
		if !r.Want(v, document.List, what) {
			return
		}
	}

	switch m.Name {
	case "Retry":
		for _, item := range v.Items {
			s.retry = append(s.retry, r.retrier(item, what))
		}
	case "Catch":
		for _, item := range v.Items {
			s.catch = append(s.catch, r.catcher(item, what))
		}
	case "Choices":
		for _, item := range v.Items {
			rule := aslRule{line: item.Line, cond: r.condition(item, what, 0)}
			if next := item.Get("Next"); next != nil {
				rule.next = r.String(next, what+": Next")
			}
			s.rules = append(s.rules, rule)
		}
	case "Branches":
		for _, item := range v.Items {
			s.branches = append(s.branches, r.scope(item, s))
		}
	case "Iterator", "ItemProcessor":
		s.branches = append(s.branches, r.scope(v, s))
		if mode := v.Get("ProcessorConfig").Get("Mode"); mode != nil {
			s.distributed = r.String(mode, what+": Mode") == "DISTRIBUTED"
		}
	default:
		if !slices.Contains(silent, m.Name) {
			s.unknown = append(s.unknown, m)
		}
	}
}

// refPath reads a path; null, which discards, is "".
func (r *aslReader) refPath(n *document.Node, what string) string {
	if n.Kind == document.Null {
		return ""
	}
	return r.String(n, what)
}

func (r *aslReader) seconds(n *document.Node, what string) aslSeconds {
	if n.Kind == document.String && strings.HasPrefix(n.Text, "{%") || n.Kind == document.String && strings.HasPrefix(n.Text, "${") {
		return aslSeconds{set: true, dynamic: true}
	}
	return aslSeconds{set: true, seconds: r.Int(n, what)}
}

func (r *aslReader) retrier(n *document.Node, what string) aslRetry {
	t := aslRetry{line: n.Line, interval: 1, attempts: 3, backoff: 2}
	if !r.Want(n, document.Map, what) {
		return t
	}

	for _, m := range n.Members {
		in := what + ": " + m.Name
		switch m.Name {
		case "ErrorEquals":
			t.errors = r.Strings(m.Value, in)
		case "IntervalSeconds":
			t.interval = r.Int(m.Value, in)
		case "MaxAttempts":
			t.attempts = r.Int(m.Value, in)
		case "MaxDelaySeconds":
			t.maxDelay = r.Int(m.Value, in)
			if t.maxDelay == 0 {
				t.maxDelay = -1 // present and wrong, which differs from absent
			}
		case "BackoffRate":
			if r.Want(m.Value, document.Number, in) {
				var err error
				if t.backoff, err = strconv.ParseFloat(m.Value.Text, 64); err != nil {
					r.Fail(m.Value.Line, "%s: %s is not a number", in, m.Value.Text)
				}
			}
		}
	}

	return t
}

func (r *aslReader) catcher(n *document.Node, what string) aslCatch {
	c := aslCatch{line: n.Line, resultPath: "$"}
	if !r.Want(n, document.Map, what) {
		return c
	}

	for _, m := range n.Members {
		in := what + ": " + m.Name
		switch m.Name {
		case "ErrorEquals":
			c.errors = r.Strings(m.Value, in)
		case "Next":
			c.next = r.String(m.Value, in)
		case "ResultPath":
			c.resultPath = r.refPath(m.Value, in)
		}
	}

	return c
}

// activity reports whether the Task's worker polls for it, or answers by token: then
// nobody notices a lost token but a clock of the state.
func (s *aslState) activity() bool {
	return s.kind == "Task" && (s.effect.Activity || strings.Contains(s.resource, ":activity:") || strings.HasSuffix(s.resource, ".waitForTaskToken"))
}
