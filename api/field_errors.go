package api

import (
	"regexp"
	"strings"

	"github.com/danielgtaylor/huma/v2"
)

// blamed is how the domain's errors of bad input begin: a field, perhaps its value, the
// rule.
var blamed = regexp.MustCompile(`^([A-Za-z]+)((?:\[[0-9]+\])?(?:\.[A-Za-z]+)?)(?: \S+)?: `)

// spelled is what a member is called that the domain calls otherwise.
var spelled = map[string]string{"until": "expiresAt"}

// blame points at the member that an error of bad input names, if it is one of the body's.
func (p *problem) blame(kind error, members map[string]bool) {
	_, text, found := strings.Cut(p.Detail, kind.Error()+": ")
	parts := blamed.FindStringSubmatch(text)
	if !found || parts == nil {
		return
	}

	name := parts[1]
	if ours := spelled[name]; ours != "" {
		p.Detail, name = strings.Replace(p.Detail, ": "+name, ": "+ours, 1), ours
	}

	if members[name] {
		_, pointer := pointerOf("body." + name + parts[2])
		p.Fields = append(p.Fields, fieldProblem{"body", pointer, text[len(parts[0]):]})
	}
}

// membersOf are the names in the body of an operation.
func membersOf(doc *huma.OpenAPI, op *huma.Operation) map[string]bool {
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
