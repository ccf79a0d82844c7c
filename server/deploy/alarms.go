package deploy

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// Alarm is an alarm of the templates.
type Alarm struct {
	// Properties are its properties as JSON, named as CloudFormation and CloudWatch name them. Resources in them may have
	// ${AWS::Partition}, ${AWS::Region} and ${AWS::AccountId}.
	Properties []byte
	// Alternative is the condition under which the template creates the alarm, empty if always. A parameter decides which
	// of the conditions holds.
	Alternative string
}

// alarmsFile is the template with the alarms.
const alarmsFile = "alarms.yaml"

// Alarms returns the alarms that the templates of a program create under a prefix.
func Alarms(p Program, prefix string) (all []Alarm, err error) {
	text, err := sources.ReadFile("templates/" + alarmsFile + ".tmpl")
	if err != nil {
		return nil, err
	}

	rendered, err := render(alarmsFile, string(text), page{Program: p, Kind: CloudFormation})
	if err != nil {
		return nil, err
	}

	var root yaml.Node
	if err := yaml.Unmarshal(rendered, &root); err != nil {
		return nil, fmt.Errorf("%s: %w", alarmsFile, err)
	}
	resolve(&root, strings.NewReplacer("${Prefix}", prefix))

	var template struct {
		Resources map[string]struct {
			Type       string         `yaml:"Type"`
			Condition  string         `yaml:"Condition"`
			Properties map[string]any `yaml:"Properties"`
		} `yaml:"Resources"`
	}
	if err := root.Decode(&template); err != nil {
		return nil, fmt.Errorf("%s: %w", alarmsFile, err)
	}

	for _, name := range slices.Sorted(maps.Keys(template.Resources)) {
		r := template.Resources[name]
		if r.Type != "AWS::CloudWatch::Alarm" {
			continue
		}

		properties, err := json.Marshal(r.Properties)
		if err != nil {
			return nil, fmt.Errorf("%s: %s: %w", alarmsFile, name, err)
		}
		all = append(all, Alarm{Properties: properties, Alternative: r.Condition})
	}

	return all, nil
}

// resolve makes plain texts and lists of CloudFormation's functions, with the parameters filled in.
func resolve(n *yaml.Node, parameters *strings.Replacer) {
	if strings.HasPrefix(n.Tag, "!") && !strings.HasPrefix(n.Tag, "!!") {
		n.Value = parameters.Replace(n.Value)

		switch n.Kind {
		case yaml.ScalarNode:
			n.Tag = "!!str"
		case yaml.SequenceNode:
			n.Tag = "!!seq"
		case yaml.MappingNode:
			n.Tag = "!!map"
		case yaml.DocumentNode, yaml.AliasNode:
		}
	}

	for _, inner := range n.Content {
		resolve(inner, parameters)
	}
}
