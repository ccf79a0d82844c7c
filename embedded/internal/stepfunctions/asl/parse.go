package asl

import (
	"fmt"
	"regexp"
	"slices"

	"ratchet/embedded/internal/stepfunctions/jsonpath"
	"ratchet/embedded/internal/stepfunctions/rawjson"
)

// Limits of definitions.
const (
	MaxDefinition = 1 << 20 // bytes
	maxName       = 80      // characters of a state's name
	maxSeconds    = 99_999_999
	maxFlows      = 16 // flows inside flows
)

// Parse compiles a definition. The machine is nil when the diagnostics hold a
// fault.
//
// Refused, beside what the language forbids: QueryLanguage JSONata and its
// fields (Arguments, Assign, Output, Items, Condition), Task resources other
// than activity ARNs, Credentials, distributed Map (ItemReader, ItemBatcher,
// ResultWriter, ToleratedFailure*, Label).
func Parse(definition []byte) (*Machine, Diagnostics) {
	p := &parser{names: map[string]bool{}}
	if len(definition) == 0 {
		p.fault(CodeMissing, "", "the definition is empty")
		return nil, p.found
	}

	if err := rawjson.Valid(definition); err != nil {
		p.fault(CodeJSON, "", "%v", err)
		return nil, p.found
	}
	m := &Machine{}
	o := p.object(definition, "")
	o.allow("a state machine", "Comment", "StartAt", "States", "TimeoutSeconds", "Version", "QueryLanguage")

	m.Comment = o.text("Comment")
	if v, ok := o.take("Version"); ok && !isText(v, "1.0") {
		p.fault(CodeSchema, "/Version", "Version must be \"1.0\"")
	}
	p.queryLanguage(o)
	m.TimeoutSeconds = o.integer("TimeoutSeconds", 0, 1, maxSeconds)

	m.Flow = p.flow(o, 0)
	if p.found.Err() != nil {
		return nil, p.found
	}
	m.States = p.states

	return m, p.found
}

type parser struct {
	found  Diagnostics
	names  map[string]bool
	states []*State
}

func (p *parser) fault(code, location, format string, args ...any) {
	p.found = append(p.found, Diagnostic{Code: code, Location: location, Message: fmt.Sprintf(format, args...)})
}

func (p *parser) warn(code, location, format string, args ...any) {
	p.found = append(p.found, Diagnostic{Warning: true, Code: code, Location: location, Message: fmt.Sprintf(format, args...)})
}

func (p *parser) queryLanguage(o *object) {
	if v, ok := o.take("QueryLanguage"); ok && !isText(v, "JSONPath") {
		p.fault(CodeSchema, o.at+"/QueryLanguage", "the embedded engine supports the query language JSONPath only, not %s", v)
	}
}

func isText(v []byte, want string) bool {
	s, ok := rawjson.Text(v)
	return ok && s == want
}

// flow compiles StartAt and States of o.
func (p *parser) flow(o *object, depth int) *Flow {
	if depth > maxFlows {
		p.fault(CodeDepth, o.at, "flows nest more than %d deep", maxFlows)
		return nil
	}

	start, hasStart := o.take("StartAt")
	raw, hasStates := o.take("States")
	if !hasStart {
		p.fault(CodeSchema, o.at, "the field 'StartAt' is required")
	}

	if !hasStates || rawjson.KindOf(raw) != rawjson.Object || rawjson.Len(raw) == 0 {
		p.fault(CodeSchema, o.at+"/States", "the field 'States' must be an object with at least one state")
		return nil
	}

	b := &builder{parser: p, at: o.at + "/States", states: map[string]*State{}, depth: depth}
	for c := rawjson.Walk(raw); c.Next(); {
		b.declare(&c)
	}

	for _, d := range b.declared {
		b.compile(d)
	}

	name, isName := rawjson.Text(start)
	if hasStart && !isName {
		p.fault(CodeSchema, o.at+"/StartAt", "the value for the field 'StartAt' must be a STRING")
	}

	s := b.states[name]
	if s == nil {
		if isName {
			p.fault(CodeTransition, o.at+"/StartAt", "Missing 'StartAt' target: %s", name)
		}
		return nil
	}
	b.checkReach(s)

	return &Flow{Start: s}
}

// builder compiles the states of one flow.
type builder struct {
	*parser
	at       string
	depth    int
	declared []declared
	states   map[string]*State
	targets  map[*State][]*State
}

type declared struct {
	state *State
	raw   []byte
	at    string
}

func (b *builder) declare(c *rawjson.Cursor) {
	name, _ := rawjson.Text(c.Key)
	at := b.at + "/" + name
	if n := len([]rune(name)); n == 0 || n > maxName {
		b.fault(CodeStateName, at, "a state's name has 1 to %d characters", maxName)
	}

	if b.names[name] {
		b.fault(CodeDuplicate, at, "State name '%s' is used more than once", name)
		return
	}
	b.names[name] = true
	s := &State{Ordinal: len(b.parser.states), Name: name}
	b.parser.states = append(b.parser.states, s)
	b.states[name] = s
	b.declared = append(b.declared, declared{state: s, raw: c.Value, at: at})
}

// target resolves the name of a state in this flow.
func (b *builder) target(from *State, o *object, field string) *State {
	name := o.text(field)
	if name == "" {
		b.fault(CodeSchema, o.at, "the field '%s' is required", field)
		return nil
	}

	to := b.states[name]
	if to == nil {
		b.fault(CodeTransition, o.at+"/"+field, "Missing '%s' target: %s", field, name)
		return nil
	}

	if b.targets == nil {
		b.targets = map[*State][]*State{}
	}
	b.targets[from] = append(b.targets[from], to)

	return to
}

// checkReach finds states that no path from start leads to, and flows whose
// paths never end.
func (b *builder) checkReach(start *State) {
	reached := map[*State]bool{start: true}
	todo := []*State{start}
	ends := false
	for len(todo) > 0 {
		s := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		ends = ends || s.Next == nil && s.Kind != Choice
		for _, to := range b.targets[s] {
			if !reached[to] {
				reached[to] = true
				todo = append(todo, to)
			}
		}
	}

	for _, d := range b.declared {
		if !reached[d.state] {
			b.fault(CodeTransition, d.at, "State \"%s\" is not reachable.", d.state.Name)
		}
	}

	if !ends {
		b.fault(CodeNoEnd, b.at, "No terminal state: no path leads to an End, Succeed or Fail")
	}
}

// activityARN is what Resource must look like.
var activityARN = regexp.MustCompile(`^arn:(aws|aws-cn|aws-us-gov):states:[a-z0-9-]+:\d{12}:activity:[^\s:]{1,80}$`)

// errorNames reads ErrorEquals: States.ALL stands alone, in the last entry.
func (p *parser) errorNames(o *object, last bool) []string {
	v, ok := o.take("ErrorEquals")
	if !ok || rawjson.KindOf(v) != rawjson.Array || rawjson.Len(v) == 0 {
		p.fault(CodeSchema, o.at+"/ErrorEquals", "the field 'ErrorEquals' must be an array with at least one error name")
		return nil
	}

	var names []string
	for c := rawjson.Walk(v); c.Next(); {
		name, ok := rawjson.Text(c.Value)
		if !ok {
			p.fault(CodeSchema, o.at+"/ErrorEquals", "an error name must be a STRING")
		}
		names = append(names, name)
	}

	if slices.Contains(names, "States.ALL") && (len(names) > 1 || !last) {
		p.fault(CodeSchema, o.at+"/ErrorEquals", "States.ALL must appear alone and in the last entry")
	}

	return names
}

func (p *parser) template(o *object, field string) *jsonpath.Template {
	v, ok := o.take(field)
	if !ok {
		return nil
	}

	t, err := jsonpath.CompileTemplate(v)
	if err != nil {
		p.fault(CodeSchema, o.at+"/"+field, "%v", err)
	}

	return t
}
