package asl

import (
	"slices"
	"strconv"
	"strings"

	"ratchet/embedded/internal/stepfunctions/jsonpath"
	"ratchet/embedded/internal/stepfunctions/rawjson"
)

// object reads the fields of one JSON object and reports their faults to the parser.
type object struct {
	p   *parser
	raw []byte
	at  string
}

// object starts to read an object at a location of the definition.
func (p *parser) object(raw []byte, at string) *object {
	if rawjson.KindOf(raw) != rawjson.Object {
		// The empty object lets the compilation go on and report further faults.
		p.fault(codeSchema, at, "an OBJECT is expected")
		raw = []byte("{}")
	}

	return &object{p: p, raw: raw, at: at}
}

func (o *object) field(name string) ([]byte, bool) { return rawjson.Member(o.raw, name) }

func (o *object) has(field string) bool {
	_, ok := o.field(field)
	return ok
}

// allowFields reports every field that is not among fields, and fields that occur twice.
func (o *object) allowFields(what string, fields ...string) {
	seen := map[string]bool{}
	for c := rawjson.Walk(o.raw); c.Next(); {
		name, _ := rawjson.Text(c.Key)
		if seen[name] {
			o.p.fault(codeSchema, o.at+"/"+name, "the field '%s' is set twice", name)
		}

		seen[name] = true
		if slices.Contains(fields, name) {
			continue
		}

		if reason := unsupported[name]; reason != "" {
			o.p.fault(codeSchema, o.at+"/"+name, "%s", reason)
			continue
		}

		if o.otherLanguage(name) {
			continue
		}

		// A flow has no query language of its own.
		if name == "QueryLanguage" {
			o.p.fault(codeSchema, o.at, "Field 'QueryLanguage' is not supported")
			continue
		}

		o.p.fault(codeSchema, o.at+"/"+name, "Field '%s' is not supported in %s", name, what)
	}
}

// text reads a string; "" when absent.
func (o *object) text(field string) string {
	v, ok := o.field(field)
	if !ok {
		return ""
	}

	s, isText := rawjson.Text(v)
	if !isText {
		o.p.fault(codeSchema, o.at+"/"+field, "the value for the field '%s' must be a STRING", field)
	}

	return s
}

// boolean reads a boolean; false when absent.
func (o *object) boolean(field string) bool {
	v, ok := o.field(field)
	if ok && rawjson.KindOf(v) != rawjson.Bool {
		o.p.fault(codeSchema, o.at+"/"+field, "the value for the field '%s' must be a BOOLEAN", field)
	}

	return ok && rawjson.True(v)
}

// integer reads an integer from least to most. It returns absent when the field is absent
// or has a fault.
func (o *object) integer(field string, absent, least, most int64) int64 {
	v, ok := o.field(field)
	if !ok {
		return absent
	}

	n, isInt := rawjson.Int(v)
	if !isInt || rawjson.KindOf(v) != rawjson.Number || n < least || n > most {
		o.p.fault(codeSchema, o.at+"/"+field,
			"the value for the field '%s' must be an INTEGER from %d to %d", field, least, most)

		return absent
	}

	return n
}

// float reads a number of at least least. It returns absent as integer does.
func (o *object) float(field string, absent, least float64) float64 {
	v, ok := o.field(field)
	if !ok {
		return absent
	}

	n, err := strconv.ParseFloat(string(rawjson.Trim(v)), 64)
	if err != nil || n < least {
		o.p.fault(codeSchema, o.at+"/"+field, "the value for the field '%s' must be a NUMBER of at least %v", field, least)
		return absent
	}

	return n
}

// path reads a path; nil when absent.
func (o *object) path(field string) *jsonpath.Path {
	if !o.has(field) {
		return nil
	}

	text := o.text(field)
	path, err := jsonpath.Compile(text)
	if err != nil {
		o.p.fault(codeSchema, o.at+"/"+field, "the value for the field '%s' must be a valid JSONPath: %v", field, err)
		return nil
	}

	o.p.read(path.Variables())

	return path
}

// pathField reads InputPath, OutputPath or ItemsPath.
func (o *object) pathField(field string) (f PathField) {
	if v, ok := o.field(field); ok && rawjson.KindOf(v) == rawjson.Null {
		return PathField{Null: true}
	}

	// $ is the default. Without a path it costs no evaluation.
	if f.Path = o.path(field); f.Path != nil && f.Path.IsRoot() {
		f.Path = nil
	}

	return f
}

// resultField reads ResultPath.
func (o *object) resultField(field string) ResultField {
	v, ok := o.field(field)
	switch {
	case !ok:
		return ResultField{}
	case rawjson.KindOf(v) == rawjson.Null:
		return ResultField{Null: true}
	}

	ref, err := jsonpath.CompileReference(o.text(field))
	if err != nil {
		o.p.fault(codeSchema, o.at+"/"+field, "the value for the field '%s' must be a valid reference path: %v", field, err)
		return ResultField{}
	}

	// $ is the default.
	if ref.IsRoot() {
		return ResultField{}
	}

	return ResultField{Path: ref}
}

// seconds reads a number of seconds from field. In JSONata field may be an expression; in JSONPath field +
// "Path" may stand in its place.
func (o *object) seconds(field string, least, most int64) (s Seconds) {
	if s.Query = o.query(field); s.Query != nil {
		s.Set = true
		return s
	}

	// JSONata has no fields that end with Path.
	if o.p.jsonata {
		return Seconds{Value: o.integer(field, 0, least, most), Set: o.has(field)}
	}

	o.exclusive(field, field+"Path")

	if o.has(field) {
		return Seconds{Value: o.integer(field, least, least, most), Set: true}
	}

	s.Path = o.path(field + "Path")
	s.Set = s.Path != nil

	return s
}

// textField reads a text from field. In JSONata field may be an expression; in
// JSONPath field + "Path" may stand in its place.
func (o *object) textField(field string) (f TextField) {
	if f.Query = o.query(field); f.Query != nil {
		f.Set = true
		return f
	}

	if o.p.jsonata {
		return TextField{Value: o.text(field), Set: o.has(field)}
	}

	o.exclusive(field, field+"Path")

	if o.has(field) {
		return TextField{Value: o.text(field), Set: true}
	}

	if !o.has(field + "Path") {
		return f
	}

	e, err := jsonpath.CompileExpression(o.text(field + "Path"))
	if err != nil {
		o.p.fault(codeSchema, o.at+"/"+field+"Path",
			"the value for the field '%sPath' must be a valid JSONPath or intrinsic function: %v", field, err)
	} else {
		o.p.read(e.Variables())
	}

	return TextField{Expression: e, Set: true}
}

// exclusive reports a fault if the object has more than one of the fields.
func (o *object) exclusive(fields ...string) {
	var there []string
	for _, f := range fields {
		if o.has(f) {
			there = append(there, f)
		}
	}

	if len(there) > 1 {
		o.p.fault(codeSchema, o.at, "only one of the fields %s is allowed", strings.Join(there, ", "))
	}
}

// template reads a payload template of JSONPath; nil when absent.
func (p *parser) template(o *object, field string) *jsonpath.Template {
	if p.jsonata {
		return nil
	}

	if t := p.payload(o, field, "", 0); t != nil {
		return t.Path
	}

	return nil
}
