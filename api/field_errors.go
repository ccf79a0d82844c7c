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

// addFieldOf adds the field that the text of an error names, if it is a member of the body or a parameter.
func (p *problem) addFieldOf(text string, members map[string]string) {
	parts := fieldErrorPrefix.FindStringSubmatch(text)
	if parts == nil {
		return
	}

	name := parts[1]
	if wireName := wireNames[name]; wireName != "" && members[name] == "" && members[wireName] != "" {
		p.Detail = wireName + strings.TrimPrefix(p.Detail, name)
		name = wireName
	}

	// A domain package may also check fields that do not come from the request.
	if at := members[name]; at != "" {
		in, pointer := pointerOf(at + "." + name + parts[2])
		p.Fields = append(p.Fields, fieldProblem{In: in, Pointer: pointer, Detail: text[len(parts[0]):]})
	}
}

// requestMembers returns the names of the operation's parameters, of the members of its body, and of the members of those that are
// objects themselves; and where each is. Of a name that several objects have, the place is unknown.
func requestMembers(doc *huma.OpenAPI, op *huma.Operation) map[string]string {
	members := map[string]string{}
	for _, p := range op.Parameters {
		members[p.Name] = p.In
	}

	if op.RequestBody == nil || op.RequestBody.Content["application/json"] == nil {
		return members
	}

	body := resolved(doc, op.RequestBody.Content["application/json"].Schema)

	inner := map[string][]string{}
	for object, schema := range body.Properties {
		for name := range resolved(doc, schema).Properties {
			inner[name] = append(inner[name], "body."+object)
		}
	}

	for name, places := range inner {
		if len(places) == 1 && members[name] == "" {
			members[name] = places[0]
		}
	}

	for name := range body.Properties {
		members[name] = "body"
	}

	return members
}
