package deploy

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

// template is a CloudFormation template, read for the default parameters and those given, with its
// intrinsic functions carried out.
type template struct {
	t          *testing.T
	dir        string
	root       map[string]*yaml.Node // by section
	parameters map[string]string
	resources  map[string]map[string]*yaml.Node // the members of each resource
}

func readTemplate(t *testing.T, name string, parameters map[string]string) *template {
	t.Helper()

	return readTemplateIn(t, filepath.Join(root, "cloudformation"), name, parameters)
}

func readTemplateIn(t *testing.T, dir, name string, parameters map[string]string) *template {
	t.Helper()

	text, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil {
		t.Fatal(err)
	}

	var document yaml.Node
	if err := yaml.Unmarshal(text, &document); err != nil {
		t.Fatal(err)
	}

	c := &template{t: t, dir: dir, root: members(document.Content[0]), resources: map[string]map[string]*yaml.Node{}}
	c.parameters = map[string]string{
		"AWS::AccountId": account, "AWS::Region": region, "AWS::Partition": "aws",
	}

	for name, node := range members(c.root["Parameters"]) {
		if value, ok := members(node)["Default"]; ok {
			c.parameters[name] = value.Value
		}
	}

	for name, value := range parameters {
		c.parameters[name] = value
	}

	for name, node := range members(c.root["Resources"]) {
		c.resources[name] = members(node)
	}

	return c
}

func members(node *yaml.Node) map[string]*yaml.Node {
	all := map[string]*yaml.Node{}
	if node == nil {
		return all
	}

	for i := 0; i+1 < len(node.Content); i += 2 {
		all[node.Content[i].Value] = node.Content[i+1]
	}

	return all
}

// ofType returns the properties of the resources of a type that the conditions want, by name.
func (c *template) ofType(kind string) map[string]map[string]any {
	found := map[string]map[string]any{}
	for name, resource := range c.resources {
		if resource["Type"].Value != kind {
			continue
		}

		if condition := resource["Condition"]; condition != nil && !c.holds(condition.Value) {
			continue
		}
		found[name], _ = c.value(resource["Properties"]).(map[string]any)
	}

	return found
}

func (c *template) holds(condition string) bool {
	holds, _ := c.value(members(c.root["Conditions"])[condition]).(bool)

	return holds
}

// none is the value of AWS::NoValue.
type none struct{}

// value returns the value of a node.
func (c *template) value(node *yaml.Node) any {
	switch node.Tag {
	case "!Ref":
		return c.ref(node.Value)
	case "!Sub":
		return c.sub(node.Value)
	case "!GetAtt":
		return c.attribute(node.Value)
	case "!Equals":
		return c.value(node.Content[0]) == c.value(node.Content[1])
	case "!Condition":
		return c.holds(node.Value)
	case "!And":
		return !slices.ContainsFunc(node.Content, func(one *yaml.Node) bool { return c.value(one) != true })
	case "!Or":
		return slices.ContainsFunc(node.Content, func(one *yaml.Node) bool { return c.value(one) == true })
	case "!Not":
		holds, _ := c.value(node.Content[0]).(bool)
		return !holds
	case "!If":
		if c.holds(node.Content[0].Value) {
			return c.value(node.Content[1])
		}

		return c.value(node.Content[2])
	case "!Join":
		return strings.Join(texts(c.value(node.Content[1])), node.Content[0].Value)
	case "!Split":
		text, _ := c.value(node.Content[1]).(string)

		var all []any
		for part := range strings.SplitSeq(text, node.Content[0].Value) {
			all = append(all, part)
		}

		return all
	}

	if strings.HasPrefix(node.Tag, "!") && !strings.HasPrefix(node.Tag, "!!") {
		c.t.Fatalf("line %d: the test does not know %s", node.Line, node.Tag)
	}

	switch node.Kind {
	case yaml.MappingNode:
		all := map[string]any{}
		for name, member := range members(node) {
			if v := c.value(member); v != (none{}) {
				all[name] = v
			}
		}

		return all
	case yaml.SequenceNode:
		all := []any{}
		for _, element := range node.Content {
			if v := c.value(element); v != (none{}) {
				all = append(all, v)
			}
		}

		return all
	}

	var v any
	if err := node.Decode(&v); err != nil {
		c.t.Fatal(err)
	}

	return v
}

func (c *template) ref(name string) any {
	if name == "AWS::NoValue" {
		return none{}
	}

	if value, ok := c.parameters[name]; ok {
		return value
	}

	resource, ok := c.resources[name]
	if !ok {
		c.t.Fatalf("!Ref %s: there is no such parameter or resource", name)
	}

	properties := members(resource["Properties"])
	switch resource["Type"].Value {
	case "AWS::DynamoDB::Table":
		return c.value(properties["TableName"])
	case "AWS::StepFunctions::Activity":
		return fmt.Sprintf("arn:aws:states:%s:%s:activity:%s", region, account, c.value(properties["Name"]))
	}

	return "ref:" + name
}

var variable = regexp.MustCompile(`\$\{([^}]+)\}`)

func (c *template) sub(text string) string {
	return variable.ReplaceAllStringFunc(text, func(match string) string {
		name := match[2 : len(match)-1]
		if strings.Contains(name, ".") {
			return c.attribute(name)
		}

		return fmt.Sprint(c.ref(name))
	})
}

func (c *template) attribute(name string) string {
	logical, attribute, _ := strings.Cut(name, ".")

	resource, ok := c.resources[logical]
	if !ok {
		c.t.Fatalf("!GetAtt %s: there is no such resource", name)
	}
	properties := members(resource["Properties"])

	switch resource["Type"].Value + "." + attribute {
	case "AWS::DynamoDB::Table.Arn":
		return fmt.Sprintf("arn:aws:dynamodb:%s:%s:table/%s", region, account, c.value(properties["TableName"]))
	case "AWS::SQS::Queue.Arn":
		return fmt.Sprintf("arn:aws:sqs:%s:%s:%s", region, account, c.value(properties["QueueName"]))
	}

	return "att:" + name
}

// decode turns a value into a Go type, by its JSON.
func decode[T any](t *testing.T, value any) (into T) {
	t.Helper()

	text, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}

	if err := json.Unmarshal(text, &into); err != nil {
		t.Fatalf("%v in %s", err, text)
	}

	return into
}
