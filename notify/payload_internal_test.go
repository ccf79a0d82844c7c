package notify

import (
	"bytes"
	"testing"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"ratchet/transitions"
	"ratchet/workflow"
)

// compiled returns the schema of a format and version.
func compiled(f *testing.F, format Format, version int) *jsonschema.Schema {
	f.Helper()

	text, err := Schema(format, version)
	if err != nil {
		f.Fatal(err)
	}

	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		f.Fatal(err)
	}
	compiler := jsonschema.NewCompiler()
	compiler.AssertFormat()

	if err := compiler.AddResource("urn:schema", document); err != nil {
		f.Fatal(err)
	}

	schema, err := compiler.Compile("urn:schema")
	if err != nil {
		f.Fatal(err)
	}

	return schema
}

// FuzzSchemas writes notifications of every format and version: each message follows its
// schema. What an order cannot have is left out: a state that is no name, a year that RFC 3339 cannot write, a cause that
// breaks its rules.
func FuzzSchemas(f *testing.F) {
	f.Add("o-1", int64(2), "SHIPPED", "PAID", "ship", int64(1700000000), "EUR", "out-of-stock", "none left", "key:2vq0", "")
	f.Add("acme:o-1", int64(1), "PENDING", "", "", int64(0), "", "", "", "", "acme")
	f.Add("o/\u00e9\"\\\n", int64(1<<62), "On_Hold-2", "<&>\u2028\x00", "{{.}}", int64(253402300799), "\"}", "", "\U0001F600", "", "*")

	type kind struct {
		format  Format
		version int
	}
	all := map[kind]*jsonschema.Schema{}

	for _, format := range []Format{Standard, CloudEvents} {
		for version := range LatestVersion {
			all[kind{format, version + 1}] = compiled(f, format, version+1)
		}
	}

	f.Fuzz(func(t *testing.T, order string, id int64, state, from, event string, at int64, currency, code, text, actor, tenant string) {
		n := Notification{
			Key: order + "/0/2/notify", OrderID: transitions.OrderID(order), Incarnation: "0", TransitionID: transitions.TransitionID(id),
			State: workflow.State(state), From: workflow.State(from), Event: workflow.Event(event), At: time.Unix(at, 0).UTC(),
			Attributes: map[string]string{"currency": currency}, Cause: transitions.Cause{Code: code, Text: text, Actor: actor},
		}
		if order == "" || order == tenant+":" || !nameRule().MatchString(state) || id < 1 || n.At.Year() < 1 || n.At.Year() > 9999 || len(text) > 128 || n.Cause.Validate() != nil {
			return
		}

		for k, schema := range all {
			m, err := newMessage(n, Endpoint{Settings: Settings{Format: k.format, Version: k.version, Filter: Filter{Tenant: tenant}}}, 1)
			if err != nil {
				t.Fatal(err)
			}

			value, err := jsonschema.UnmarshalJSON(bytes.NewReader(m.Body))
			if err != nil {
				t.Fatalf("%v: %s: %v", k, m.Body, err)
			}

			if err := schema.Validate(value); err != nil {
				t.Errorf("%v: %s: %v", k, m.Body, err)
			}
		}
	})
}
