package asl

import (
	"fmt"

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
// Beside what the language forbids, it refuses the fields in unsupported.go, QueryLanguage
// JSONata and Task resources other than ARNs of activities.
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
	o.allowFields("a state machine", "Comment", "StartAt", "States", "TimeoutSeconds", "Version", "QueryLanguage")

	m.Comment = o.text("Comment")
	if v, ok := o.field("Version"); ok && !isText(v, "1.0") {
		p.fault(CodeSchema, "/Version", "Version must be \"1.0\"")
	}

	p.queryLanguage(o)
	m.TimeoutSeconds = o.integer("TimeoutSeconds", 0, 1, maxSeconds)

	m.Flow = p.compileFlow(o, 0)
	if p.found.Err() != nil {
		return nil, p.found
	}

	m.States = p.states

	return m, p.found
}

// parser collects the states and diagnostics of one definition.
type parser struct {
	found  Diagnostics
	names  map[string]bool // of all states in all flows
	states []*State
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

func (p *parser) queryLanguage(o *object) {
	if v, ok := o.field("QueryLanguage"); ok && !isText(v, "JSONPath") {
		p.fault(CodeSchema, o.at+"/QueryLanguage", "the embedded engine supports the query language JSONPath only, not %s", v)
	}
}

func isText(v []byte, want string) bool {
	s, ok := rawjson.Text(v)
	return ok && s == want
}
