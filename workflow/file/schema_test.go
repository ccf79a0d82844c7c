package file_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"go.yaml.in/yaml/v3"

	"ratchet/workflow"
	"ratchet/workflow/file"
)

func compiledSchema(t *testing.T) *jsonschema.Schema {
	t.Helper()

	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(file.Schema()))
	if err != nil {
		t.Fatal(err)
	}

	c := jsonschema.NewCompiler()
	if err := c.AddResource("workflow.schema.json", document); err != nil {
		t.Fatal(err)
	}

	schema, err := c.Compile("workflow.schema.json")
	if err != nil {
		t.Fatal(err)
	}

	return schema
}

// asJSON returns a YAML document as the validator takes it.
func asJSON(t *testing.T, text []byte) any {
	t.Helper()

	var v any
	if err := yaml.Unmarshal(text, &v); err != nil {
		t.Fatal(err)
	}

	encoded, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}

	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(encoded))
	if err != nil {
		t.Fatal(err)
	}

	return document
}

// TestTheSchemaTakesWhatTheReaderTakes: the definitions of the examples and of this package.
func TestTheSchemaTakesWhatTheReaderTakes(t *testing.T) {
	schema := compiledSchema(t)
	texts := map[string][]byte{
		"the shop":     []byte(file.Format(workflow.Order())),
		"a payment":    []byte(file.Format(workflow.Payment())),
		"a shipment":   []byte(file.Format(workflow.Shipment())),
		"a short file": []byte(smallFile),
	}

	found, err := filepath.Glob("../../examples/*/workflow.yaml")
	if err != nil || len(found) < 2 {
		t.Fatal(found, err)
	}

	for _, name := range found {
		if texts[name], err = os.ReadFile(name); err != nil {
			t.Fatal(err)
		}
	}

	for name, text := range texts {
		if _, err := file.Parse(name, text); err != nil {
			t.Errorf("the reader refuses %s: %v", name, err)
		}

		if err := schema.Validate(asJSON(t, text)); err != nil {
			t.Errorf("the schema refuses %s: %v", name, err)
		}
	}
}

// fullFile has every field of a definition once.
const fullFile = `
$schema: workflow.schema.json
name: full
version: 1
place: place
initial: OPEN
content: [items]
states:
  - {state: OPEN, doc: "open"}
  - {state: HELD}
  - {state: SENT}
  - {state: BACK, terminal: true}
transitions:
  - {event: hold, from: [OPEN], to: HELD}
  - {event: release, from: [HELD], to: OPEN}
  - event: send
    from: [OPEN]
    to: SENT
    guards:
      - {name: "a", attribute: customer, op: exists}
      - {name: "b", attribute: "size(items)", op: ">", value: 0}
      - {name: "c", attribute: paid, op: ">=", other: due}
      - {name: "d", attribute: updatedAt, op: "<", request: until}
      - {name: "e", attribute: kind, op: in, value: [x, y]}
  - {event: send_part, from: [OPEN], to: OPEN}
  - {event: back, from: [SENT, OPEN], to: BACK, after: 14d}
  - {event: remind, from: [SENT], to: SENT, after: {attribute: metadata.until, delay: -3d}, restart: true}
editable: [OPEN]
settled: [SENT]
shipping:
  awaits: [OPEN]
  held: [HELD]
  part: send_part
  left: send
  delivered: back
  returned: [back]
  canceled: back
  stop: back
`

// TestTheSchemaRefusesWhatTheReaderRefuses makes one mistake at a time, of the kinds that a schema can see, at
// every place of a definition that has every field: a missing field, an unknown one, and a value of another type.
func TestTheSchemaRefusesWhatTheReaderRefuses(t *testing.T) {
	schema := compiledSchema(t)

	var whole map[string]any
	if err := yaml.Unmarshal([]byte(fullFile), &whole); err != nil {
		t.Fatal(err)
	}

	agree := func(what string, d map[string]any) {
		t.Helper()

		text, err := yaml.Marshal(d)
		if err != nil {
			t.Fatal(err)
		}

		_, refused := file.Parse("full.yaml", text)
		wrong := schema.Validate(asJSON(t, text))

		// What needs the whole definition is not in the schema. It names a state, an event or a guard.
		if wrong != nil && refused == nil {
			t.Errorf("%s: the schema refuses what the reader takes: %v", what, wrong)
		}

		if wrong == nil && refused != nil && isOfOneField(refused) {
			t.Errorf("%s: the schema takes what the reader refuses: %v", what, refused)
		}
	}
	agree("the whole file", whole)

	if _, err := file.Parse("full.yaml", []byte(fullFile)); err != nil {
		t.Fatal(err)
	}

	mutations := 0
	mutate(whole, func(what string) {
		mutations++
		agree(what, whole)
	})

	if mutations < 200 {
		t.Errorf("only %d mutations", mutations)
	}
}

// isOfOneField reports whether the error is about one field alone.
func isOfOneField(err error) bool {
	for _, text := range []string{"has no field", "is missing", ": want ", "is not a whole number", "names match", "takes no operand", "takes one operand", "is not one of", "a duration like", "lacks attribute"} {
		if strings.Contains(err.Error(), text) {
			return true
		}
	}

	return false
}

// mutate makes every mutation of a value, calls check for each, and undoes it.
func mutate(v any, check func(what string)) {
	others := []any{nil, true, 1, "x y", "x", []any{}, []any{[]any{}}, map[string]any{}, map[string]any{"x": 1}}

	switch v := v.(type) {
	case map[string]any:
		for name, value := range v {
			delete(v, name)
			check("without " + name)

			for _, other := range others {
				v[name] = other
				check("another " + name)
			}
			v[name] = value

			mutate(value, func(what string) { check(name + ": " + what) })
		}

		v["unknown"] = 1
		check("an unknown field")
		delete(v, "unknown")
	case []any:
		for i, value := range v {
			for _, other := range others {
				v[i] = other
				check("another item")
			}
			v[i] = value

			mutate(value, check)
		}
	}
}
