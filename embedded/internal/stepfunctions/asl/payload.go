package asl

import (
	"errors"

	"ratchet/embedded/internal/stepfunctions/jsonata"
	"ratchet/embedded/internal/stepfunctions/jsonpath"
	"ratchet/embedded/internal/stepfunctions/rawjson"
)

// payload reads JSON with expressions in the state's query language; nil when absent. prefix is the place
// of o in the state. access says which members of $states its JSONata may read.
func (p *parser) payload(o *object, field, prefix string, access jsonata.Access) *Payload {
	v, ok := o.field(field)
	if !ok {
		return nil
	}

	if !p.jsonata {
		t, err := jsonpath.CompileTemplate(v)
		if err != nil {
			p.fault(codeSchema, o.at+"/"+field, "%v", err)
			return nil
		}

		p.read(t.Variables())

		return &Payload{Path: t, Field: prefix + field}
	}

	t, faults := jsonata.CompileTemplate(v, access)
	// A template may have several faults, and all are reported.
	for _, f := range faults {
		p.queryFault(f.Err, o.at+"/"+field+f.At)
	}

	if t == nil {
		return nil
	}

	p.read(t.Variables())

	return &Payload{Query: t, Field: prefix + field}
}

// queryFault reports a fault of an expression in JSONata.
func (p *parser) queryFault(err error, at string) {
	var c *jsonata.CompileError
	if errors.As(err, &c) {
		p.fault(c.Code, at, "%s", c.Message)
		return
	}

	p.fault(codeSchema, at, "%v", err)
}

// query reads an expression in JSONata; nil for any other value.
func (o *object) query(field string) *jsonata.Expression {
	v, ok := o.field(field)
	text, isText := rawjson.Text(v)
	if !o.p.jsonata || !ok || !isText {
		return nil
	}

	source, isQuery := jsonata.Unwrap(text)
	if !isQuery {
		return nil
	}

	e, err := jsonata.Compile(source, 0)
	if err != nil {
		o.p.queryFault(err, o.at+"/"+field)
		// Not nil, which would mean a literal. The definition has a fault, so it is never evaluated.
		return &jsonata.Expression{}
	}

	o.p.read(e.Variables())

	return e
}
