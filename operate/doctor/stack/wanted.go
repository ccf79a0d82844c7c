package stack

import (
	"fmt"
	"maps"
	"slices"

	"go.yaml.in/yaml/v3"
)

// Resource is something that templates create under a name that they decide.
type Resource struct {
	// Template is the file that declares the resource. Word is its kind, as "role", and Name its name, as "ratchet-worker".
	Template, Word, Name string
	// Type and Identifier are those of the Cloud Control API.
	Type, Identifier string
	// Optional: a parameter decides whether it is there.
	Optional bool
	// candidates are the properties that it may have, one for each value of parameters that choose.
	candidates []map[string]any
	// unlisted says why the list of its type could not be read.
	unlisted error
}

func (r *Resource) String() string { return r.Word + " " + r.Name }

// Template is a template of CloudFormation that was read.
type Template struct {
	Name string
	// Chosen: the template has parameters without a default, so a program can do without its resources.
	Chosen    bool
	Resources []*Resource
}

// Wanted reads templates, by their names, for an account. The templates and their resources are sorted by name.
func Wanted(files map[string][]byte, in Account) (all []Template, err error) {
	for _, name := range slices.Sorted(maps.Keys(files)) {
		t, err := read(name, files[name], in)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		all = append(all, t)
	}

	return all, nil
}

func read(file string, text []byte, in Account) (Template, error) {
	var document yaml.Node
	if err := yaml.Unmarshal(text, &document); err != nil {
		return Template{}, err
	}

	if len(document.Content) == 0 {
		return Template{Name: file}, nil
	}

	root := members(document.Content[0])
	s := scope{account: in, parameters: map[string]any{}, conditions: members(root["Conditions"]), resources: members(root["Resources"])}
	t := Template{Name: file}
	choices := map[string][]string{}

	for name, node := range members(root["Parameters"]) {
		parameter := members(node)
		_, hasDefault := parameter["Default"]
		t.Chosen = t.Chosen || !hasDefault

		if v, given := in.Parameters[name]; given {
			s.parameters[name] = v
			continue
		}

		s.parameters[name] = open{}
		if values := parameter["AllowedValues"]; values != nil {
			for _, one := range values.Content {
				choices[name] = append(choices[name], one.Value)
			}
		}
	}

	found := map[string]*Resource{}
	for _, node := range s.resources {
		s.add(found, node, file, choices)
	}

	for _, identifier := range slices.Sorted(maps.Keys(found)) {
		t.Resources = append(t.Resources, found[identifier])
	}

	return t, nil
}

// add adds what a resource of the template may be: one resource for each of its names, with each of its properties.
func (s scope) add(found map[string]*Resource, node *yaml.Node, file string, choices map[string][]string) {
	r := members(node)

	k, compared := kinds[r["Type"].Value]
	if !compared {
		return
	}

	used := map[string]bool{}
	s.uses(r["Properties"], used)

	for property := range k.inner {
		s.uses(s.referred(r["Properties"], property), used)
	}

	condition := ""
	if c := r["Condition"]; c != nil {
		condition = c.Value
		s.uses(s.conditions[condition], used)
	}

	scopes := []scope{s}
	for _, name := range slices.Sorted(maps.Keys(used)) {
		scopes = withChoice(scopes, name, choices[name])
	}

	created := map[string]int{}
	for _, one := range scopes {
		holds, known := true, true
		if condition != "" {
			holds, known = one.holds(condition)
		}

		properties, name := one.properties(k, r["Properties"])
		if name == "" || known && !holds {
			continue
		}

		identifier := k.identifier(s.account, name)
		if found[identifier+k.readAs] == nil {
			found[identifier+k.readAs] = k.resource(r["Type"].Value, name, identifier, file)
		}

		result := found[identifier+k.readAs]
		result.candidates = append(result.candidates, properties)

		if known {
			created[identifier+k.readAs]++
		}
	}

	// What is not created under each choice is there or not.
	for identifier, n := range created {
		found[identifier].Optional = n < len(scopes)
	}
}

// withChoice returns the scopes with each value of a parameter.
func withChoice(scopes []scope, parameter string, values []string) []scope {
	if len(values) == 0 {
		return scopes
	}

	var all []scope
	for _, s := range scopes {
		for _, v := range values {
			one := s
			one.parameters = maps.Clone(s.parameters)
			one.parameters[parameter] = v
			all = append(all, one)
		}
	}

	return all
}

func (k kind) resource(kindName, name, identifier, file string) *Resource {
	if k.readAs != "" {
		kindName = k.readAs
	}

	// Until a scope creates it for certain.
	return &Resource{Template: file, Word: k.word, Name: name, Type: kindName, Identifier: identifier, Optional: true}
}

// properties returns the properties of a resource and its name, empty if AWS or an open parameter decides it.
func (s scope) properties(k kind, node *yaml.Node) (properties map[string]any, name string) {
	properties, _ = s.value(node).(map[string]any)

	if k.named != "" {
		name, _ = properties[k.named].(string)
	} else if topics, _ := properties["Topics"].([]any); len(topics) == 1 {
		name, _ = topics[0].(string)
	}

	for property := range k.inner {
		properties[property] = s.value(s.referred(node, property))
	}

	for _, unread := range k.unread {
		delete(properties, unread)
	}

	for property, v := range k.also {
		if _, is := properties[property]; !is {
			properties[property] = v
		}
	}

	return properties, name
}

// referred returns the properties of the resource of the template that a property refers to.
func (s scope) referred(properties *yaml.Node, property string) *yaml.Node {
	return members(s.resources[members(properties)[property].Value])["Properties"]
}
