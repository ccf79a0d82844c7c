package api

import (
	"regexp"
	"strings"

	"github.com/danielgtaylor/huma/v2"
)

// fieldErrorPrefix matches the beginning of a domain package's error about invalid input:
// a field, sometimes its value, and a colon. The rest is the rule.
var fieldErrorPrefix = regexp.MustCompile(`^([A-Za-z]+)((?:\[[0-9]+\])?(?:\.[A-Za-z]+)?)(?: \S+)?: `)

// wireNames are the members of the API that have other names in the domain packages.
var wireNames = map[string]string{"until": "expiresAt"}

// addFieldOf adds the field that the text of an error names, if it is a member of the body.
func (p *problem) addFieldOf(text string, members map[string]bool) {
	parts := fieldErrorPrefix.FindStringSubmatch(text)
	if parts == nil {
		return
	}

	name := parts[1]
	if wireName := wireNames[name]; wireName != "" {
		p.Detail = wireName + strings.TrimPrefix(p.Detail, name)
		name = wireName
	}

	// A domain package may also check fields that do not come from the body.
	if members[name] {
		_, pointer := pointerOf("body." + name + parts[2])
		p.Fields = append(p.Fields, fieldProblem{In: "body", Pointer: pointer, Detail: text[len(parts[0]):]})
	}
}

// bodyMembers returns the names of the top-level members of the operation's body.
func bodyMembers(doc *huma.OpenAPI, op *huma.Operation) map[string]bool {
	if op.RequestBody == nil || op.RequestBody.Content["application/json"] == nil {
		return nil
	}

	schema := op.RequestBody.Content["application/json"].Schema
	if schema.Ref != "" {
		schema = doc.Components.Schemas.SchemaFromRef(schema.Ref)
	}

	members := map[string]bool{}
	for name := range schema.Properties {
		members[name] = true
	}

	return members
}
