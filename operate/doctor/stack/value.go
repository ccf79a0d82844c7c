package stack

import (
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// The values of a template beside texts, numbers, lists and objects.
type (
	// open is a value that something decides which the templates do not say: a parameter, or an id that AWS makes.
	open struct{}
	// none is AWS::NoValue.
	none struct{}
	// either is one of two values, under a condition that is open.
	either struct{ yes, no any }
)

// scope is a template with the values of its parameters.
type scope struct {
	account    Account
	parameters map[string]any // a text, or open
	conditions map[string]*yaml.Node
	resources  map[string]*yaml.Node
}

// value evaluates a node with its intrinsic functions.
func (s scope) value(node *yaml.Node) any {
	switch node.Tag {
	case "!Ref":
		return s.ref(node.Value)
	case "!Sub":
		return s.sub(node.Value)
	case "!GetAtt":
		return s.attribute(node.Value)
	case "!If":
		return s.choose(node)
	}

	// Other functions are of values that only a deployment has.
	if isFunction(node) {
		return open{}
	}

	switch node.Kind {
	case yaml.MappingNode:
		all := map[string]any{}
		for name, member := range members(node) {
			if v := s.value(member); v != (none{}) {
				all[name] = v
			}
		}

		return all
	case yaml.SequenceNode:
		all := []any{}
		for _, element := range node.Content {
			if v := s.value(element); v != any(none{}) {
				all = append(all, v)
			}
		}

		return all
	case yaml.ScalarNode, yaml.DocumentNode, yaml.AliasNode:
	}

	// As a text: CloudFormation and the services write numbers and truth values in both ways.
	return node.Value
}

func isFunction(node *yaml.Node) bool {
	return strings.HasPrefix(node.Tag, "!") && !strings.HasPrefix(node.Tag, "!!")
}

// ref returns a parameter, or what !Ref returns of a resource.
func (s scope) ref(name string) any {
	if name == "AWS::NoValue" {
		return none{}
	}

	if v, is := s.account.pseudo()[name]; is {
		return v
	}

	if v, is := s.parameters[name]; is {
		return v
	}

	if r, kind, is := s.named(name); is {
		return kind.ref(s.account, r)
	}

	return open{}
}

// attribute returns an attribute of a resource, as LOGICAL.ATTRIBUTE. Only ARNs of named resources are known.
func (s scope) attribute(text string) any {
	name, attribute, _ := strings.Cut(text, ".")
	if r, kind, is := s.named(name); is && attribute == "Arn" {
		return kind.arn(s.account, r)
	}

	return open{}
}

// named returns the name of a resource of a kind that is compared.
func (s scope) named(logical string) (name string, k kind, is bool) {
	node, is := s.resources[logical]
	if !is {
		return "", kind{}, false
	}

	r := members(node)
	if k, is = kinds[r["Type"].Value]; !is || k.named == "" {
		return "", kind{}, false
	}

	given, is := members(r["Properties"])[k.named]
	if !is {
		return "", kind{}, false
	}
	name, is = s.value(given).(string)

	return name, k, is
}

var variable = regexp.MustCompile(`\$\{([^}]+)\}`)

func (s scope) sub(text string) any {
	known := true

	filled := variable.ReplaceAllStringFunc(text, func(match string) string {
		name := match[2 : len(match)-1]

		v := s.ref(name)
		if strings.Contains(name, ".") {
			v = s.attribute(name)
		}

		filling, is := v.(string)
		known = known && is

		return filling
	})

	if !known {
		return open{}
	}

	return filled
}

// choose returns the value of !If.
func (s scope) choose(node *yaml.Node) any {
	holds, known := s.holds(node.Content[0].Value)

	switch {
	case !known:
		return either{s.value(node.Content[1]), s.value(node.Content[2])}
	case holds:
		return s.value(node.Content[1])
	}

	return s.value(node.Content[2])
}

// holds reports whether a named condition holds, and whether that is known.
func (s scope) holds(condition string) (holds, known bool) {
	node, is := s.conditions[condition]
	if !is {
		return false, false
	}

	return s.test(node)
}

func (s scope) test(node *yaml.Node) (holds, known bool) {
	switch node.Tag {
	case "!Condition":
		return s.holds(node.Value)
	case "!Equals":
		x, isX := s.value(node.Content[0]).(string)
		y, isY := s.value(node.Content[1]).(string)

		return x == y, isX && isY
	case "!Not":
		holds, known = s.test(node.Content[0])
		return !holds, known
	case "!And":
		return s.all(node.Content, false)
	case "!Or":
		return s.all(node.Content, true)
	}

	return false, false
}

// all tests conditions until one has the result that decides.
func (s scope) all(nodes []*yaml.Node, decides bool) (holds, known bool) {
	known = true

	for _, node := range nodes {
		one, is := s.test(node)
		if is && one == decides {
			return decides, true
		}
		known = known && is
	}

	return !decides, known
}

// uses adds the names of parameters on which the value of a node depends.
func (s scope) uses(node *yaml.Node, names map[string]bool) {
	if node == nil {
		return
	}

	var refs []string

	switch node.Tag {
	case "!Ref", "!GetAtt":
		logical, _, _ := strings.Cut(node.Value, ".")
		refs = []string{logical}
	case "!Sub":
		for _, match := range variable.FindAllStringSubmatch(node.Value, -1) {
			logical, _, _ := strings.Cut(match[1], ".")
			refs = append(refs, logical)
		}
	case "!Condition":
		s.uses(s.conditions[node.Value], names)
	case "!If":
		s.uses(s.conditions[node.Content[0].Value], names)
	}

	for _, name := range refs {
		if _, is := s.parameters[name]; is {
			names[name] = true
		}
	}

	for _, inner := range node.Content {
		s.uses(inner, names)
	}
}

func members(node *yaml.Node) map[string]*yaml.Node {
	all := map[string]*yaml.Node{}
	if node == nil {
		return all
	}

	for pair := range slices.Chunk(node.Content, 2) {
		if len(pair) == 2 {
			all[pair[0].Value] = pair[1]
		}
	}

	return all
}
