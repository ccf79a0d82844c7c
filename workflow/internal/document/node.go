package document

import (
	"bytes"
	"fmt"
	"strconv"
)

// maxSize is the largest file that Read accepts, in bytes. Step Functions takes
// definitions of up to 1 MB.
// https://docs.aws.amazon.com/step-functions/latest/dg/service-quotas.html
const maxSize = 4 << 20

// MaxDepth is how many levels of lists and maps Read accepts inside each other.
const MaxDepth = 100

// Kind is the type of a [Node].
type Kind byte

// The kinds of nodes.
const (
	Null Kind = iota
	Bool
	Number
	String
	List
	Map
)

// String returns the kind with its article, for error messages.
func (k Kind) String() string {
	return [...]string{"null", "a truth value", "a number", "a string", "a list", "a map"}[k]
}

// Node is one value of a file.
type Node struct {
	Kind Kind
	// Line counts from 1.
	Line int
	// Text is a scalar as written: "12", "true", or the content of a string.
	Text string
	// Members are the entries of a map in the order of the file.
	Members []Member
	// Items are the elements of a list.
	Items []*Node
}

// Member is one entry of a map.
type Member struct {
	Name  string
	Line  int
	Value *Node
}

// Get returns the value of a member, or nil if there is none. The receiver may be nil.
func (n *Node) Get(name string) *Node {
	if n == nil {
		return nil
	}

	for _, m := range n.Members {
		if m.Name == name {
			return m.Value
		}
	}

	return nil
}

// Value returns what encoding/json would decode into an any: a string, float64,
// bool, nil, []any or map[string]any.
func (n *Node) Value() any {
	switch n.Kind {
	case Bool:
		return n.Text == "true"
	case Number:
		// YAML also has numbers like 0x1F and 1_000, which stay text.
		if f, err := strconv.ParseFloat(n.Text, 64); err == nil {
			return f
		}

		return n.Text
	case String:
		return n.Text
	case List:
		list := make([]any, len(n.Items))
		for i, item := range n.Items {
			list[i] = item.Value()
		}

		return list
	case Map:
		m := make(map[string]any, len(n.Members))
		for _, member := range n.Members {
			m[member.Name] = member.Value.Value()
		}

		return m
	}

	return nil
}

// Error is an error at one line of a file.
type Error struct {
	File string
	Line int
	Err  error
}

func (e *Error) Error() string { return fmt.Sprintf("%s:%d: %v", e.File, e.Line, e.Err) }

// Unwrap returns the error without its position.
func (e *Error) Unwrap() error { return e.Err }

// Read reads JSON, if the text begins with a brace, or YAML. The name of the file is
// used in errors only. The top of the document must be a map. A duplicate member, text
// after the end and a file of more than 4 MiB are errors.
func Read(file string, data []byte) (*Node, error) {
	if len(data) > maxSize {
		return nil, fmt.Errorf("%s: %d bytes; at most %d are read", file, len(data), maxSize)
	}

	// A byte order mark.
	data = bytes.TrimPrefix(data, []byte("\xef\xbb\xbf"))

	// YAML may begin with a brace, too. It is read as JSON all the same.
	read := readYAML
	if text := bytes.TrimLeft(data, " \t\r\n"); len(text) > 0 && text[0] == '{' {
		read = readJSON
	}

	n, err := read(file, data)
	if err != nil {
		return nil, err
	}

	if n.Kind != Map {
		return nil, &Error{file, n.Line, fmt.Errorf("want a map, got %v", n.Kind)}
	}

	return n, nil
}
