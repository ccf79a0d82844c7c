package file

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// SchemaName is the name under which `workflow new` writes the schema beside a definition.
const SchemaName = "workflow.schema.json"

// Schema returns the JSON Schema of a definition's file, for editors. It describes what the reader takes: a
// file that breaks it is refused. What only the whole definition shows (an unknown or unreachable state, guards that
// do not exclude each other) is left to [Parse].
func Schema() []byte {
	schema := definitionObject().schema()
	schema["$schema"] = "https://json-schema.org/draft/2020-12/schema"
	schema["title"] = "Workflow definition of Ratchet"

	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false) // of < and > among the operations
	encoder.SetIndent("", "  ")

	// Maps, lists and strings only: the encoding does not fail.
	if err := encoder.Encode(schema); err != nil {
		panic(fmt.Errorf("workflow schema: %w", err))
	}

	return b.Bytes()
}

func (o object[T]) schema() map[string]any {
	properties, required := map[string]any{}, []string{}
	for _, f := range o.fields {
		property := map[string]any{"description": f.doc}
		for name, rule := range f.schema {
			property[name] = rule
		}

		properties[f.name] = property
		if f.required {
			required = append(required, f.name)
		}
	}

	schema := map[string]any{"type": "object", "additionalProperties": false, "properties": properties}
	if len(required) > 0 {
		schema["required"] = required
	}

	for name, rule := range o.rules {
		schema[name] = rule
	}

	return schema
}

// scalars are the types of a name: YAML reads some names, like 12 and true, as numbers and truth values.
var scalars = []string{"string", "number", "boolean"}

func textSchema() map[string]any { return map[string]any{"type": scalars} }

// nameSchema describes the names of states, events and guards. The pattern is the one of workflow.New.
func nameSchema() map[string]any {
	return map[string]any{"type": scalars, "pattern": "^[A-Za-z0-9_-]{1,64}$"}
}

// pathSchema describes the path of an attribute, or its size, as package workflow takes it.
func pathSchema() map[string]any {
	const path = `[A-Za-z_][A-Za-z0-9_]*(\[[0-9]{1,4}\]|\.[A-Za-z_][A-Za-z0-9_]*){0,30}`
	return map[string]any{"type": scalars, "pattern": `^(` + path + `|size\(` + path + `\))$`}
}

// delaySchema describes a duration as workflow.ParseDelay reads it.
func delaySchema() map[string]any {
	const number = `([0-9]+\.?[0-9]*|\.[0-9]+)`

	return map[string]any{"type": "string", "pattern": `^[+-]?([0-9]{1,5}d(` + number + `(ns|us|µs|ms|s|m|h))*|(` + number + `(ns|us|µs|ms|s|m|h))+|0)$`}
}

// momentSchema describes after: a duration, or a time in an attribute.
func momentSchema() map[string]any {
	return map[string]any{"oneOf": []any{delaySchema(), afterObject().schema()}}
}

func listSchema(item map[string]any) map[string]any {
	return map[string]any{"type": "array", "items": item}
}

// filledSchema describes a list with at least one item.
func filledSchema(item map[string]any) map[string]any {
	schema := listSchema(item)
	schema["minItems"] = 1

	return schema
}

func constantSchema() map[string]any {
	return map[string]any{
		"type":  []string{"string", "integer", "boolean", "array"},
		"items": map[string]any{"type": []string{"string", "integer"}},
		// DynamoDB's IN takes at most 100 operands.
		"minItems": 1, "maxItems": 100,
	}
}

// operations are those of a guard. The last two have no operand.
var operations = []string{"=", "<>", "<", "<=", ">", ">=", "in", "exists", "missing"}

// operandRules say that a guard has exactly one operand, or none if it asks whether an attribute exists.
func operandRules() map[string]any {
	has := func(name string) map[string]any { return map[string]any{"required": []string{name}} }
	operands := []any{has("value"), has("other"), has("request")}

	return map[string]any{
		"if":   map[string]any{"required": []string{"op"}, "properties": map[string]any{"op": map[string]any{"enum": operations[len(operations)-2:]}}},
		"then": map[string]any{"not": map[string]any{"anyOf": operands}},
		"else": map[string]any{"oneOf": operands},
	}
}
