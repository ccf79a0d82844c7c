package document

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

func readYAML(file string, data []byte) (*Node, error) {
	decoder := yaml.NewDecoder(bytes.NewReader(data))

	var doc yaml.Node
	err := decoder.Decode(&doc)
	// An empty file has no document, or a document without content.
	if errors.Is(err, io.EOF) || (err == nil && len(doc.Content) != 1) {
		return nil, &Error{file, 1, errors.New("the file is empty")}
	} else if err != nil {
		return nil, yamlError(file, err)
	}

	n, err := fromYAML(file, doc.Content[0], 0)
	if err != nil {
		return nil, err
	}

	// Only one document is read. A second one would be ignored without a word.
	var next yaml.Node
	if err := decoder.Decode(&next); err == nil {
		return nil, &Error{file, max(next.Line, 1), errors.New("a second document; one is read")}
	} else if !errors.Is(err, io.EOF) {
		return nil, yamlError(file, err)
	}

	return n, nil
}

// yamlLine matches the line number in an error of package yaml, which has no field for it.
var yamlLine = regexp.MustCompile(`line (\d+): (.*)`)

func yamlError(file string, err error) error {
	text := strings.TrimPrefix(err.Error(), "yaml: ")
	if m := yamlLine.FindStringSubmatch(text); m != nil {
		line, _ := strconv.Atoi(m[1]) // digits, by the expression
		return &Error{file, line, errors.New(m[2])}
	}

	return &Error{file, 1, errors.New(text)}
}

// fromYAML copies a tree. It refuses aliases, because a file of a few lines with
// aliases can expand to gigabytes.
func fromYAML(file string, y *yaml.Node, depth int) (*Node, error) {
	if depth > MaxDepth {
		return nil, &Error{file, y.Line, fmt.Errorf("nested more than %d levels deep", MaxDepth)}
	}

	n := &Node{Line: y.Line, Text: y.Value}

	var err error
	switch y.Kind {
	case yaml.ScalarNode:
		n.Kind = scalarKind(y.ShortTag())
		// YAML also writes True and TRUE.
		if n.Kind == Bool {
			n.Text = strings.ToLower(y.Value)
		}
	case yaml.SequenceNode:
		n.Kind = List
		err = itemsFromYAML(file, n, y, depth)
	case yaml.MappingNode:
		n.Kind = Map
		err = membersFromYAML(file, n, y, depth)
	default:
		err = &Error{file, y.Line, errors.New("aliases are not read; write the value out")}
	}

	if err != nil {
		return nil, err
	}

	return n, nil
}

// scalarKind returns the kind of a scalar with the tag. Tags that YAML does not
// define, like SAM's !Sub, mark strings.
func scalarKind(tag string) Kind {
	switch tag {
	case "!!null":
		return Null
	case "!!bool":
		return Bool
	case "!!int", "!!float":
		return Number
	}

	return String
}

func itemsFromYAML(file string, n *Node, y *yaml.Node, depth int) error {
	for _, c := range y.Content {
		item, err := fromYAML(file, c, depth+1)
		if err != nil {
			return err
		}

		n.Items = append(n.Items, item)
	}

	return nil
}

func membersFromYAML(file string, n *Node, y *yaml.Node, depth int) error {
	// Keys and values take turns.
	for i := 0; i+1 < len(y.Content); i += 2 {
		key := y.Content[i]
		if key.Kind != yaml.ScalarNode || key.ShortTag() == "!!merge" {
			return &Error{file, key.Line, errors.New("keys are plain names; lists, aliases and merges are not read")}
		}

		if n.Get(key.Value) != nil {
			return &Error{file, key.Line, fmt.Errorf("%q is there twice", key.Value)}
		}

		value, err := fromYAML(file, y.Content[i+1], depth+1)
		if err != nil {
			return err
		}

		n.Members = append(n.Members, Member{Name: key.Value, Line: key.Line, Value: value})
	}

	return nil
}
