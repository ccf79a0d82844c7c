package check

import (
	"slices"
	"strconv"
	"strings"

	"ratchet/workflow/internal/document"
)

// readASL reads a state machine. It fails only for text that is not JSON or YAML, or that does not have
// the shape of the language; the error names the file and the line. All other faults become findings.
func readASL(file string, data []byte) (*aslMachine, error) {
	root, err := document.Read(file, data)
	if err != nil {
		return nil, err
	}

	r := &aslReader{
		Decoder: document.Decoder{File: file},
		m:       &aslMachine{},
	}

	// The language is read before the states, which inherit it.
	if q := root.Get("QueryLanguage"); q != nil {
		r.m.jsonata = r.String(q, "QueryLanguage") == "JSONata"
	}

	r.m.top = r.scope(root, nil)
	for _, m := range root.Members {
		switch m.Name {
		case "Comment", "StartAt", "States", "Version", "QueryLanguage":
		case "TimeoutSeconds":
			r.m.timeout = r.Int(m.Value, "TimeoutSeconds")
		default:
			r.m.unknown = append(r.m.unknown, unknownField{m.Name, m.Line})
		}
	}

	return r.m, r.Err()
}

type aslReader struct {
	document.Decoder
	m *aslMachine
}

func (r *aslReader) scope(n *document.Node, parent *aslState) *aslScope {
	sc := &aslScope{
		line:   n.Line,
		byName: map[string]*aslState{},
		parent: parent,
		most:   map[bool]*usage{},
	}

	if !r.Want(n, document.Map, "state machine") {
		return sc
	}

	if at := n.Get("StartAt"); at != nil {
		sc.startAt = r.String(at, "StartAt")
	}

	states := n.Get("States")
	// Without States the rest would only be a list of misleading findings.
	if states == nil {
		r.Fail(n.Line, "there are no States: this is not Amazon States Language")
		return sc
	}

	if !r.Want(states, document.Map, "States") {
		return sc
	}

	for _, m := range states.Members {
		s := &aslState{
			name:       m.Name,
			line:       m.Line,
			scope:      sc,
			jsonata:    r.m.jsonata,
			input:      "$",
			output:     "$",
			resultPath: "$",
			itemsPath:  "$",
		}

		sc.states = append(sc.states, s)
		// If two states have one name, the name leads to the last of them. lintMachine reports it.
		sc.byName[m.Name] = s
		r.m.all = append(r.m.all, s)

		if r.Want(m.Value, document.Map, "state "+m.Name) {
			r.state(s, m.Value)
		}

		// The former name of the field.
		if s.kind == "Map" && s.itemSelector == nil {
			s.itemSelector = s.parameters
		}
	}

	return sc
}

// ignoredFields are fields of states that do not matter here.
var ignoredFields = []string{
	"Comment", "Credentials", "Cause", "CausePath",
	"Items", "ItemReader", "ItemBatcher", "ResultWriter", "Label",
	"MaxConcurrency", "MaxConcurrencyPath",
}

func (r *aslReader) state(s *aslState, n *document.Node) {
	if q := n.Get("QueryLanguage"); q != nil {
		s.jsonata = r.String(q, "QueryLanguage") == "JSONata"
	}

	// JSONata has no paths.
	if !s.jsonata {
		s.addWritten(n)
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
			s.result = v
		case "Assign":
			s.assign = v
		case "Output":
			s.outputs = v
		case "ItemSelector":
			s.itemSelector = v
		case "ItemsPath":
			s.itemsPath = r.referencePath(v, what)
		case "Error":
			s.failure = r.String(v, what)
			s.computed = isQuery(s.failure)
		case "ErrorPath":
			s.computed = true
		case "ToleratedFailureCount", "ToleratedFailureCountPath", "ToleratedFailurePercentage", "ToleratedFailurePercentagePath":
			s.tolerates = s.tolerates || v.Text != "0"
			s.toleratesAll = s.toleratesAll || m.Name == "ToleratedFailurePercentage" && v.Text == "100"
		case "ResultSelector":
			s.selector = v
		case "InputPath":
			s.input = r.referencePath(v, what)
		case "OutputPath":
			s.output = r.referencePath(v, what)
		case "ResultPath":
			s.resultPath = r.referencePath(v, what)
		case "TimeoutSeconds":
			s.timeout = r.seconds(v, what)
		case "HeartbeatSeconds":
			s.heartbeat = r.seconds(v, what)
		case "TimeoutSecondsPath":
			// The limit comes from the data, so nothing is known about it.
			s.timeout = aslSeconds{set: true, dynamic: true}
		case "HeartbeatSecondsPath":
			s.heartbeat = aslSeconds{set: true, dynamic: true}
		case "Seconds":
			// An expression or a placeholder is no number: the wait counts as 0.
			if v.Kind == document.Number {
				s.wait = float64(r.Int(v, what))
			}
			s.waits = v.Kind != document.Number || s.wait > 0
		case "SecondsPath", "Timestamp", "TimestampPath":
			s.waits = true
		case "Default":
			s.defaults, s.hasDefault = r.String(v, what), true
		case "Retry", "Catch", "Choices", "Branches":
			if r.Want(v, document.List, what) {
				r.list(s, m, what)
			}
		case "Iterator", "ItemProcessor":
			s.branches = append(s.branches, r.scope(v, s))
			if mode := v.Get("ProcessorConfig").Get("Mode"); mode != nil {
				s.distributed = r.String(mode, what+": Mode") == "DISTRIBUTED"
			}
		default:
			if !slices.Contains(ignoredFields, m.Name) {
				s.unknown = append(s.unknown, unknownField{m.Name, m.Line})
			}
		}
	}
}

// list reads a field that holds a list.
func (r *aslReader) list(s *aslState, m document.Member, what string) {
	for _, item := range m.Value.Items {
		switch m.Name {
		case "Retry":
			s.retry = append(s.retry, r.retrier(item, what))
		case "Catch":
			s.catch = append(s.catch, r.catcher(item, what))
		case "Choices":
			s.rules = append(s.rules, r.rule(item, what))
		case "Branches":
			s.branches = append(s.branches, r.scope(item, s))
		}
	}
}

// referencePath reads a path. null, which discards the value, becomes "".
func (r *aslReader) referencePath(n *document.Node, what string) string {
	if n.Kind == document.Null {
		return ""
	}
	return r.String(n, what)
}

// seconds reads a number, a JSONata expression or a placeholder for a substitution.
func (r *aslReader) seconds(n *document.Node, what string) aslSeconds {
	// SAM fills in ${...} when it deploys.
	if n.Kind == document.String && (strings.HasPrefix(n.Text, "{%") || strings.HasPrefix(n.Text, "${")) {
		return aslSeconds{set: true, dynamic: true}
	}
	return aslSeconds{set: true, seconds: r.Int(n, what)}
}

func (r *aslReader) rule(n *document.Node, what string) aslRule {
	rule := aslRule{line: n.Line, cond: r.condition(n, what, 0), assign: n.Get("Assign"), outputs: n.Get("Output")}
	if next := n.Get("Next"); next != nil {
		rule.next = r.String(next, what+": Next")
	}

	return rule
}

func (r *aslReader) retrier(n *document.Node, what string) aslRetry {
	// The defaults of the language.
	retry := aslRetry{
		line:     n.Line,
		interval: 1,
		attempts: 3,
		backoff:  2,
	}

	if !r.Want(n, document.Map, what) {
		return retry
	}

	for _, m := range n.Members {
		field := what + ": " + m.Name

		switch m.Name {
		case "ErrorEquals":
			retry.errors = r.Strings(m.Value, field)
		case "IntervalSeconds":
			retry.interval = r.Int(m.Value, field)
		case "MaxAttempts":
			retry.attempts = r.Int(m.Value, field)
		case "MaxDelaySeconds":
			retry.maxDelay = r.Int(m.Value, field)
			if retry.maxDelay == 0 {
				// A 0 in the file is wrong. In aslRetry, 0 stands for an absent field.
				retry.maxDelay = -1
			}
		case "BackoffRate":
			retry.backoff = r.rate(m.Value, field)
		}
	}

	return retry
}

func (r *aslReader) rate(n *document.Node, what string) float64 {
	if !r.Want(n, document.Number, what) {
		return 0
	}

	rate, err := strconv.ParseFloat(n.Text, 64)
	if err != nil {
		r.Fail(n.Line, "%s: %s is not a number", what, n.Text)
	}

	return rate
}

func (r *aslReader) catcher(n *document.Node, what string) aslCatch {
	catch := aslCatch{line: n.Line, resultPath: "$"}
	if !r.Want(n, document.Map, what) {
		return catch
	}

	for _, m := range n.Members {
		field := what + ": " + m.Name

		switch m.Name {
		case "ErrorEquals":
			catch.errors = r.Strings(m.Value, field)
		case "Next":
			catch.next = r.String(m.Value, field)
		case "ResultPath":
			catch.resultPath = r.referencePath(m.Value, field)
		case "Assign":
			catch.assign = m.Value
		case "Output":
			catch.outputs = m.Value
		}
	}

	return catch
}
