package asl

import (
	"bytes"
	"fmt"
	"regexp"
	"strings"

	"ratchet/embedded/internal/stepfunctions/rawjson"
)

// Limits of definitions.
// Source: https://docs.aws.amazon.com/step-functions/latest/dg/service-quotas.html
const (
	MaxDefinition = 1 << 20    // bytes
	maxName       = 80         // characters of a state's name
	maxSeconds    = 99_999_999 // of a timeout or wait
	maxFlows      = 16         // nested flows; this one is the engine's
)

// Parse compiles a definition. The machine is nil if the diagnostics have a fault.
//
// It refuses definitions that the language forbids, the fields in unsupported.go,
// and Task resources that the engine does not run.
func Parse(definition []byte) (*Machine, Diagnostics) { return parse(definition, false) }

// ParseExpress compiles the definition of an Express machine, which may not wait for
// activities, task tokens and jobs.
// Source: https://docs.aws.amazon.com/step-functions/latest/dg/choosing-workflow-type.html
func ParseExpress(definition []byte) (*Machine, Diagnostics) { return parse(definition, true) }

func parse(definition []byte, express bool) (*Machine, Diagnostics) {
	return (&parser{names: map[string]bool{}, express: express}).parse(definition)
}

func (p *parser) parse(definition []byte) (*Machine, Diagnostics) {
	if !p.valid(definition) {
		return nil, p.found
	}

	m := &Machine{}
	o := p.object(definition, "")
	o.allowFields("a state machine", "Comment", "StartAt", "States", "TimeoutSeconds", "Version", "QueryLanguage")

	m.Comment = o.text("Comment")
	if v, ok := o.field("Version"); ok && !isText(v, "1.0") {
		p.fault(codeSchema, "/Version", "Version must be \"1.0\"")
	}

	// The language is read before the flows, whose states inherit it.
	p.machineJSONata = p.queryLanguage(o, false)
	m.TimeoutSeconds = o.integer("TimeoutSeconds", 0, 1, maxSeconds)

	m.Flow = p.compileFlow(o, 0)
	if p.found.Err() != nil {
		return nil, p.found
	}

	m.States, m.Distributed = p.allStates(), len(p.distributed) > 0

	return m, p.found
}

// allStates returns the states of all flows. It also gives them to the machines of distributed Maps.
func (p *parser) allStates() []*State {
	// Only now is the list complete. Children use the ordinals of the whole definition.
	for _, d := range p.distributed {
		d.Child.States = p.states
	}

	return p.states
}

// unknownToken matches a text that begins with a word. jsonSource is the format in which the service's
// JSON parser shows the place of a fault.
// Source: LocalStack's recordings of AWS (test_validate_state_machine_definition_not_a_definition).
var unknownToken = regexp.MustCompile(`^\s*([A-Za-z_$][A-Za-z0-9_$]*)`)

const jsonSource = "[Source: (String)\"%s\"; line: %d, column: %d]"

// valid reports whether the definition is JSON.
func (p *parser) valid(definition []byte) bool {
	if len(definition) == 0 {
		p.fault(codeMissing, "", "the definition is empty")
		return false
	}

	// true, false and null are words, too, but valid ones.
	if m := unknownToken.FindSubmatchIndex(definition); m != nil && rawjson.Valid(definition[m[2]:m[3]]) != nil {
		before := definition[:m[3]]
		line, column := 1+bytes.Count(before, []byte("\n")), len(before)-bytes.LastIndexByte(before, '\n')
		// The service quotes the beginning only. The cut may split a character, which ToValidUTF8 removes.
		source := fmt.Sprintf(jsonSource, strings.ToValidUTF8(string(definition[:min(len(definition), 500)]), ""), line, column)
		p.fault(codeJSON, source, "Unrecognized token '%s': was expecting (JSON String, Number, Array, Object or token "+
			"'null', 'true' or 'false')\n at %s", definition[m[2]:m[3]], source)

		return false
	}

	if len(rawjson.Trim(definition)) == 0 {
		p.fault(codeSchema, "", "Definition must be a valid JSON object")
		return false
	}

	if err := rawjson.Valid(definition); err != nil {
		p.fault(codeJSON, "", "%v", err)
		return false
	}

	return true
}

// ParseState compiles a definition that is one state. The machine starts with the state, and every target
// of the state is a Succeed. Resources that the engine does not run are no fault here.
func ParseState(name string, definition []byte) (*Machine, Diagnostics) {
	p := &parser{names: map[string]bool{}, tested: true, flow: &builder{assigned: map[string]string{}, scoped: map[string]bool{}}}
	if !p.valid(definition) {
		return nil, p.found
	}

	b := p.flow
	// An open flow makes the targets that the definition does not have.
	b.parser, b.at, b.states, b.open = p, "/States", map[string]*State{}, true

	at := b.at + "/" + name
	s := &State{Name: name}
	p.states, b.states[name], p.names[name] = []*State{s}, s, true
	b.compile(declared{state: s, raw: definition, at: at})
	b.checkScopes()

	if p.found.Err() != nil {
		return nil, p.found
	}

	return &Machine{Flow: &Flow{Start: s}, States: p.allStates()}, p.found
}

// parser collects the states and diagnostics of one definition.
type parser struct {
	found Diagnostics
	// express refuses states that Express machines may not have.
	express bool
	// tested accepts Resources that the engine does not run.
	tested bool
	names  map[string]bool // of all states in all flows
	reads  map[string]bool // variables that the state under compilation reads; nil outside of states
	labels map[string]bool // of all distributed Maps
	maps   int             // the number of Maps around the flow under compilation
	states []*State
	// distributed are the distributed Maps of all flows.
	distributed []*Distributed
	// jsonata is the query language of the state under compilation. machineJSONata is the machine's
	// language, for states that name none.
	jsonata, machineJSONata bool

	flow *builder // the flow under compilation
}

func (p *parser) fault(code, location, format string, args ...any) {
	p.found = append(p.found, Diagnostic{
		Code:     code,
		Location: location,
		Message:  fmt.Sprintf(format, args...),
	})
}

func (p *parser) warn(code, location, format string, args ...any) {
	p.found = append(p.found, Diagnostic{
		Warning:  true,
		Code:     code,
		Location: location,
		Message:  fmt.Sprintf(format, args...),
	})
}

func isText(v []byte, want string) bool {
	s, ok := rawjson.Text(v)
	return ok && s == want
}
