package asl

import (
	"maps"
	"slices"
	"strings"

	"ratchet/embedded/internal/stepfunctions/jsonata"
	"ratchet/embedded/internal/stepfunctions/jsonpath"
	"ratchet/embedded/internal/stepfunctions/rawjson"
)

// assign reads the field Assign of a state, a choice rule or a catcher: an object with the names of
// variables. It returns nil when the field is absent. payload explains prefix and access.
// Source: https://docs.aws.amazon.com/step-functions/latest/dg/workflow-variables.html
func (b *builder) assign(o *object, prefix string, access jsonata.Access) *Payload {
	v, ok := o.field("Assign")
	if !ok {
		return nil
	}

	if rawjson.KindOf(v) != rawjson.Object {
		b.fault(codeSchema, o.at+"/Assign", "the value for the field 'Assign' must be an OBJECT")
		return nil
	}

	for c := rawjson.Walk(v); c.Next(); {
		key, _ := rawjson.Text(c.Key)
		name := key
		if !b.jsonata {
			name = strings.TrimSuffix(key, ".$")
		}

		if err := jsonpath.CheckVariable(name); err != nil {
			b.fault(codeSchema, o.at+"/Assign/"+key, "%v", err)
		}

		b.assigned[name] = o.at + "/Assign/" + key
		// Only the Assign of a catcher may read the error.
		if access&jsonata.ErrorOutput == 0 {
			b.scoped[name] = true
		}
	}

	return b.payload(o, "Assign", prefix, access)
}

// read records that the state under compilation reads variables.
func (p *parser) read(names []string) {
	for _, name := range names {
		p.reads[name] = true
	}
}

// checkScopes reports variables that a flow assigns although a flow around it assigns them, too. Inner
// flows read the variables of outer flows and cannot change them. As on AWS, the variables of a Catch do
// not count for the flows inside.
// Source: LocalStack's recordings of AWS (test_error_output,
// test_parallel_catch_error[PARALLEL_CATCH_ERROR_VARIABLE_SAMPLING]).
func (b *builder) checkScopes() {
	for _, inner := range b.inner {
		for _, name := range slices.Sorted(maps.Keys(inner)) {
			if b.scoped[name] {
				b.fault(codeSchema, inner[name], "the variable '%s' is assigned in an outer scope and cannot be assigned here", name)
			}
		}
	}
}

// scopes returns the variables that the flow and the flows inside it assign, with their places.
func (b *builder) scopes() map[string]string {
	all := maps.Clone(b.assigned)
	for _, inner := range b.inner {
		maps.Copy(all, inner)
	}

	return all
}
