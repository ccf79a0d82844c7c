package asl

import (
	"slices"
	"strconv"
	"strings"

	"ratchet/embedded/internal/stepfunctions/jsonpath"
	"ratchet/embedded/internal/stepfunctions/rawjson"
)

// object reads the fields of one JSON object and reports what is wrong with them.
type object struct {
	p   *parser
	raw []byte
	at  string
}

func (p *parser) object(raw []byte, at string) *object {
	if rawjson.KindOf(raw) != rawjson.Object {
		p.fault(CodeSchema, at, "an OBJECT is expected")
		raw = []byte("{}")
	}

	return &object{p: p, raw: raw, at: at}
}

func (o *object) take(field string) ([]byte, bool) { return rawjson.Member(o.raw, field) }

func (o *object) has(field string) bool {
	_, ok := o.take(field)
	return ok
}

// refusals are fields of the language that the engine does not run, with the reason.
var refusals = map[string]string{
	"Arguments": "JSONata is not supported by the embedded engine",
	"Output":    "JSONata is not supported by the embedded engine",
	"Items":     "JSONata is not supported by the embedded engine",
	"Condition": "JSONata is not supported by the embedded engine",
	"Assign":    "variables are not supported by the embedded engine",

	"Credentials":                    "task credentials are not supported by the embedded engine",
	"ItemReader":                     "distributed Map is not supported by the embedded engine",
	"ItemBatcher":                    "distributed Map is not supported by the embedded engine",
	"ResultWriter":                   "distributed Map is not supported by the embedded engine",
	"Label":                          "distributed Map is not supported by the embedded engine",
	"ToleratedFailureCount":          "distributed Map is not supported by the embedded engine",
	"ToleratedFailureCountPath":      "distributed Map is not supported by the embedded engine",
	"ToleratedFailurePercentage":     "distributed Map is not supported by the embedded engine",
	"ToleratedFailurePercentagePath": "distributed Map is not supported by the embedded engine",
}

// allow reports every field that is not among fields.
func (o *object) allow(what string, fields ...string) {
	seen := map[string]bool{}
	for c := rawjson.Walk(o.raw); c.Next(); {
		name, _ := rawjson.Text(c.Key)
		if seen[name] {
			o.p.fault(CodeSchema, o.at+"/"+name, "the field '%s' is set twice", name)
		}

		seen[name] = true
		if slices.Contains(fields, name) {
			continue
		}

		if reason := refusals[name]; reason != "" {
			o.p.fault(CodeSchema, o.at+"/"+name, "%s", reason)
			continue
		}
		o.p.fault(CodeSchema, o.at+"/"+name, "Field '%s' is not supported in %s", name, what)
	}
}

func (o *object) text(field string) string {
	v, ok := o.take(field)
	if !ok {
		return ""
	}

	s, isText := rawjson.Text(v)
	if !isText {
		o.p.fault(CodeSchema, o.at+"/"+field, "the value for the field '%s' must be a STRING", field)
	}

	return s
}

func (o *object) boolean(field string) bool {
	v, ok := o.take(field)
	if ok && rawjson.KindOf(v) != rawjson.Bool {
		o.p.fault(CodeSchema, o.at+"/"+field, "the value for the field '%s' must be a BOOLEAN", field)
	}

	return ok && rawjson.True(v)
}

func (o *object) integer(field string, absent, least, most int64) int64 {
	v, ok := o.take(field)
	if !ok {
		return absent
	}

	n, isInt := rawjson.Int(v)
	if !isInt || rawjson.KindOf(v) != rawjson.Number || n < least || n > most {
		o.p.fault(CodeSchema, o.at+"/"+field, "the value for the field '%s' must be an INTEGER from %d to %d", field, least, most)
		return absent
	}

	return n
}

func (o *object) float(field string, absent, least float64) float64 {
	v, ok := o.take(field)
	if !ok {
		return absent
	}

	n, err := strconv.ParseFloat(string(rawjson.Trim(v)), 64)
	if err != nil || n < least {
		o.p.fault(CodeSchema, o.at+"/"+field, "the value for the field '%s' must be a NUMBER of at least %v", field, least)
		return absent
	}

	return n
}

// path compiles a field that holds a path; nil when absent.
func (o *object) path(field string) *jsonpath.Path {
	if !o.has(field) {
		return nil
	}

	text := o.text(field)
	path, err := jsonpath.Compile(text)
	if err != nil {
		o.p.fault(CodeSchema, o.at+"/"+field, "the value for the field '%s' must be a valid JSONPath: %v", field, err)
		return nil
	}

	return path
}

func (o *object) pathField(field string) (f PathField) {
	if v, ok := o.take(field); ok && rawjson.KindOf(v) == rawjson.Null {
		return PathField{Null: true}
	}

	if f.Path = o.path(field); f.Path != nil && f.Path.IsRoot() {
		f.Path = nil
	}

	return f
}

func (o *object) resultField(field string) ResultField {
	v, ok := o.take(field)
	switch {
	case !ok:
		return ResultField{}
	case rawjson.KindOf(v) == rawjson.Null:
		return ResultField{Null: true}
	}

	ref, err := jsonpath.CompileReference(o.text(field))
	if err != nil {
		o.p.fault(CodeSchema, o.at+"/"+field, "the value for the field '%s' must be a valid reference path: %v", field, err)
		return ResultField{}
	}

	if ref.IsRoot() {
		return ResultField{}
	}

	return ResultField{Path: ref}
}

// seconds reads field or its Path variant, not both.
func (o *object) seconds(field string, least, most int64) (s Seconds) {
	o.exclusive(field, field+"Path")

	if o.has(field) {
		return Seconds{Value: o.integer(field, least, least, most), Set: true}
	}
	s.Path = o.path(field + "Path")
	s.Set = s.Path != nil

	return s
}

func (o *object) textField(field string) (f TextField) {
	o.exclusive(field, field+"Path")

	if o.has(field) {
		return TextField{Value: o.text(field), Set: true}
	}

	if !o.has(field + "Path") {
		return f
	}

	e, err := jsonpath.CompileExpression(o.text(field + "Path"))
	if err != nil {
		o.p.fault(CodeSchema, o.at+"/"+field+"Path", "the value for the field '%sPath' must be a valid JSONPath or intrinsic function: %v", field, err)
	}

	return TextField{Expression: e, Set: true}
}

// exclusive reports when more than one of the fields is there.
func (o *object) exclusive(fields ...string) {
	var there []string
	for _, f := range fields {
		if o.has(f) {
			there = append(there, f)
		}
	}

	if len(there) > 1 {
		o.p.fault(CodeSchema, o.at, "only one of the fields %s is allowed", strings.Join(there, ", "))
	}
}
