package workflow

import (
	"slices"
	"strconv"
	"strings"
)

// noTimeout is the TimeoutSeconds of a Task that says nothing: three years.
// https://docs.aws.amazon.com/step-functions/latest/dg/state-task.html
const noTimeout = 99_999_999

// aslScope is one StartAt with its States: the machine itself, a branch of a
// Parallel or the processor of a Map.
type aslScope struct {
	line    int
	startAt string
	states  []*aslState
	byName  map[string]*aslState
	parent  *aslState // the Parallel or Map around it, nil at the top
	acts    bool      // whether some Task inside does something to the order

	least *weight          // of shortest, once it is known
	most  map[bool]*weight // of longest, likewise
}

// aslMachine is a state machine in Amazon States Language.
type aslMachine struct {
	top     *aslScope
	timeout int64 // of an execution, 0 when absent
	jsonata bool
	all     []*aslState // nested ones, too, in the file's order
	unknown []member    // fields that the language does not have
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
	parameters         *node
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
	unknown []member
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
	doc, err := readDocument(file, data)
	if err != nil {
		return nil, err
	}

	r := &aslReader{reader: reader{file: file}, m: &aslMachine{}}
	if q := doc.get("QueryLanguage"); q != nil {
		r.m.jsonata = r.str(q, "QueryLanguage") == "JSONata"
	}

	r.m.top = r.scope(doc, nil)
	for _, m := range doc.members {
		switch m.name {
		case "Comment", "StartAt", "States", "Version", "QueryLanguage":
		case "TimeoutSeconds":
			r.m.timeout = r.integer(m.value, "TimeoutSeconds")
		default:
			r.m.unknown = append(r.m.unknown, m)
		}
	}

	return r.m, r.err
}

type aslReader struct {
	reader
	m *aslMachine
}

func (r *aslReader) scope(n *node, parent *aslState) *aslScope {
	s := &aslScope{line: n.line, byName: map[string]*aslState{}, parent: parent, most: map[bool]*weight{}}
	if !r.want(n, isMap, "state machine") {
		return s
	}

	if at := n.get("StartAt"); at != nil {
		s.startAt = r.str(at, "StartAt")
	}

	states := n.get("States")
	if states == nil {
		r.fail(n.line, "there are no States: this is not Amazon States Language")
		return s
	}

	if !r.want(states, isMap, "States") {
		return s
	}

	for _, m := range states.members {
		st := &aslState{name: m.name, line: m.line, scope: s, input: "$", output: "$", resultPath: "$", jsonata: r.m.jsonata}

		s.states = append(s.states, st)
		s.byName[m.name] = st
		r.m.all = append(r.m.all, st)
		if r.want(m.value, isMap, "state "+m.name) {
			r.state(st, m.value)
		}
	}

	return s
}

// silent are the fields that change nothing of what is checked here.
var silent = []string{"Comment", "ResultSelector", "Output", "Assign", "Credentials", "ItemsPath", "Items", "ItemSelector",
	"ItemReader", "ItemBatcher", "ResultWriter", "MaxConcurrency", "MaxConcurrencyPath", "ToleratedFailureCount",
	"ToleratedFailureCountPath", "ToleratedFailurePercentage", "ToleratedFailurePercentagePath", "Label",
	"SecondsPath", "Timestamp", "TimestampPath", "Cause", "CausePath"}

func (r *aslReader) state(s *aslState, n *node) {
	if q := n.get("QueryLanguage"); q != nil {
		s.jsonata = r.str(q, "QueryLanguage") == "JSONata"
	}

	for _, m := range n.members {
		v, what := m.value, "state "+s.name+": "+m.name
		switch m.name {
		case "QueryLanguage":
		case "Type":
			s.kind = r.str(v, what)
		case "Next":
			s.next = r.str(v, what)
		case "End":
			s.end = r.truth(v, what)
		case "Resource":
			s.resource = r.str(v, what)
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
			if v.kind == isNumber {
				s.wait = float64(r.integer(v, what))
			}
		case "Default":
			s.defaults, s.hasDefault = r.str(v, what), true
		default:
			r.list(s, m, what)
		}
	}
}

// list reads the fields that hold lists or machines.
func (r *aslReader) list(s *aslState, m member, what string) {
	v := m.value
	switch m.name {
	case "Retry", "Catch", "Choices", "Branches":
		if !r.want(v, isList, what) {
			return
		}
	}

	switch m.name {
	case "Retry":
		for _, item := range v.items {
			s.retry = append(s.retry, r.retrier(item, what))
		}
	case "Catch":
		for _, item := range v.items {
			s.catch = append(s.catch, r.catcher(item, what))
		}
	case "Choices":
		for _, item := range v.items {
			rule := aslRule{line: item.line, cond: r.condition(item, what, 0)}
			if next := item.get("Next"); next != nil {
				rule.next = r.str(next, what+": Next")
			}
			s.rules = append(s.rules, rule)
		}
	case "Branches":
		for _, item := range v.items {
			s.branches = append(s.branches, r.scope(item, s))
		}
	case "Iterator", "ItemProcessor":
		s.branches = append(s.branches, r.scope(v, s))
		if mode := v.get("ProcessorConfig").get("Mode"); mode != nil {
			s.distributed = r.str(mode, what+": Mode") == "DISTRIBUTED"
		}
	default:
		if !slices.Contains(silent, m.name) {
			s.unknown = append(s.unknown, m)
		}
	}
}

// refPath reads a path; null, which discards, is "".
func (r *aslReader) refPath(n *node, what string) string {
	if n.kind == isNull {
		return ""
	}
	return r.str(n, what)
}

func (r *aslReader) seconds(n *node, what string) aslSeconds {
	if n.kind == isString && strings.HasPrefix(n.text, "{%") || n.kind == isString && strings.HasPrefix(n.text, "${") {
		return aslSeconds{set: true, dynamic: true}
	}
	return aslSeconds{set: true, seconds: r.integer(n, what)}
}

func (r *aslReader) retrier(n *node, what string) aslRetry {
	t := aslRetry{line: n.line, interval: 1, attempts: 3, backoff: 2}
	if !r.want(n, isMap, what) {
		return t
	}

	for _, m := range n.members {
		in := what + ": " + m.name
		switch m.name {
		case "ErrorEquals":
			t.errors = r.strs(m.value, in)
		case "IntervalSeconds":
			t.interval = r.integer(m.value, in)
		case "MaxAttempts":
			t.attempts = r.integer(m.value, in)
		case "MaxDelaySeconds":
			t.maxDelay = r.integer(m.value, in)
			if t.maxDelay == 0 {
				t.maxDelay = -1 // present and wrong, which differs from absent
			}
		case "BackoffRate":
			if r.want(m.value, isNumber, in) {
				var err error
				if t.backoff, err = strconv.ParseFloat(m.value.text, 64); err != nil {
					r.fail(m.value.line, "%s: %s is not a number", in, m.value.text)
				}
			}
		}
	}

	return t
}

func (r *aslReader) catcher(n *node, what string) aslCatch {
	c := aslCatch{line: n.line, resultPath: "$"}
	if !r.want(n, isMap, what) {
		return c
	}

	for _, m := range n.members {
		in := what + ": " + m.name
		switch m.name {
		case "ErrorEquals":
			c.errors = r.strs(m.value, in)
		case "Next":
			c.next = r.str(m.value, in)
		case "ResultPath":
			c.resultPath = r.refPath(m.value, in)
		}
	}

	return c
}

// activity reports whether the Task's worker polls for it, or answers by token: then
// nobody notices a lost token but a clock of the state.
func (s *aslState) activity() bool {
	return s.kind == "Task" && (s.effect.Activity || strings.Contains(s.resource, ":activity:") || strings.HasSuffix(s.resource, ".waitForTaskToken"))
}
