package workflow

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
	"go.yaml.in/yaml/v3"
)

// The limits of a file: Step Functions takes definitions of 1 MB, and nobody nests
// a definition a hundred levels deep by hand.
const (
	maxDocument = 4 << 20 // bytes
	maxDepth    = 100     // levels
)

// node is a piece of a JSON or YAML file that remembers its line, so that every
// complaint can name it. Members keep the file's order.
type node struct {
	kind    nodeKind
	line    int
	text    string // a scalar as written: "12", "true", or the string's content
	members []member
	items   []*node
}

type member struct {
	name  string
	line  int
	value *node
}

type nodeKind byte

const (
	isNull nodeKind = iota
	isBool
	isNumber
	isString
	isList
	isMap
)

func (k nodeKind) String() string {
	return [...]string{"null", "a truth value", "a number", "a string", "a list", "a map"}[k]
}

// get returns the member's value, nil when there is none.
func (n *node) get(name string) *node {
	if n == nil {
		return nil
	}

	for _, m := range n.members {
		if m.name == name {
			return m.value
		}
	}

	return nil
}

// value returns what encoding/json would: strings, float64, bool, nil, []any and
// map[string]any.
func (n *node) value() any {
	switch n.kind {
	case isString:
		return n.text
	case isBool:
		return n.text == "true"
	case isNumber:
		f, err := strconv.ParseFloat(n.text, 64)
		if err != nil {
			return n.text // YAML's 0x1F and 1_000: nobody calculates with them here
		}

		return f
	case isList:
		list := make([]any, len(n.items))
		for i, item := range n.items {
			list[i] = item.value()
		}

		return list
	case isMap:
		m := make(map[string]any, len(n.members))
		for _, member := range n.members {
			m[member.name] = member.value.value()
		}

		return m
	}

	return nil
}

// fileError is a complaint about one line of a file.
type fileError struct {
	file string
	line int
	err  error
}

func (e *fileError) Error() string { return fmt.Sprintf("%s:%d: %v", e.file, e.line, e.err) }
func (e *fileError) Unwrap() error { return e.err }

// readDocument reads JSON (when the text begins with a brace) or YAML. The top is a
// map. A member that is there twice is refused, and so is everything after the end.
func readDocument(file string, data []byte) (*node, error) {
	if len(data) > maxDocument {
		return nil, fmt.Errorf("%s: %d bytes; at most %d are read", file, len(data), maxDocument)
	}

	data = bytes.TrimPrefix(data, []byte("\xef\xbb\xbf"))
	var n *node
	var err error
	if text := bytes.TrimLeft(data, " \t\r\n"); len(text) > 0 && text[0] == '{' {
		n, err = readJSON(file, data)
	} else {
		n, err = readYAML(file, data)
	}

	if err != nil {
		return nil, err
	}

	if n.kind != isMap {
		return nil, &fileError{file, n.line, fmt.Errorf("want a map, got %v", n.kind)}
	}

	return n, nil
}

// jsonReader walks the tokens of a JSON text and counts its lines.
type jsonReader struct {
	file   string
	data   []byte
	dec    *jsontext.Decoder
	offset int // up to where line has been counted
	line   int
}

func readJSON(file string, data []byte) (*node, error) {
	r := &jsonReader{file: file, data: data, dec: jsontext.NewDecoder(bytes.NewReader(data)), line: 1}

	n, err := r.read(0)
	if err != nil {
		return nil, err
	}

	if _, err := r.dec.ReadToken(); !errors.Is(err, io.EOF) {
		return nil, &fileError{file, r.lineAt(r.dec.InputOffset()), errors.New("text after the document's end")}
	}

	return n, nil
}

// lineAt moves forward only: tokens come in the file's order.
func (r *jsonReader) lineAt(offset int64) int {
	end := min(int(offset), len(r.data))
	if end > r.offset {
		r.line += bytes.Count(r.data[r.offset:end], []byte("\n"))
		r.offset = end
	}

	return r.line
}

func (r *jsonReader) token() (jsontext.Token, error) {
	t, err := r.dec.ReadToken()
	if err != nil {
		at := r.dec.InputOffset()
		var syntax *jsontext.SyntacticError
		if errors.As(err, &syntax) {
			at = syntax.ByteOffset
			err = syntax.Err
		}

		if errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF
		}

		return t, &fileError{r.file, r.lineAt(at), err}
	}

	return t, nil
}

func (r *jsonReader) read(depth int) (*node, error) {
	t, err := r.token()
	if err != nil {
		return nil, err
	}

	n := &node{line: r.lineAt(r.dec.InputOffset())}
	if depth > maxDepth {
		return nil, &fileError{r.file, n.line, fmt.Errorf("nested more than %d levels deep", maxDepth)}
	}

	switch t.Kind() {
	case 'n':
		n.kind = isNull
	case 't', 'f':
		n.kind, n.text = isBool, t.String()
	case '0':
		n.kind, n.text = isNumber, t.String()
	case '"':
		n.kind, n.text = isString, t.String()
	case '[':
		n.kind = isList
		for r.dec.PeekKind() != ']' {
			item, err := r.read(depth + 1)
			if err != nil {
				return nil, err
			}
			n.items = append(n.items, item)
		}
		_, err = r.token()
	case '{':
		n.kind = isMap
		err = r.readMembers(n, depth)
	}

	return n, err
}

func (r *jsonReader) readMembers(n *node, depth int) error {
	for r.dec.PeekKind() != '}' {
		t, err := r.token()
		if err != nil {
			return err
		}

		m := member{name: t.String(), line: r.lineAt(r.dec.InputOffset())}
		if m.value, err = r.read(depth + 1); err != nil {
			return err
		}
		n.members = append(n.members, m)
	}
	_, err := r.token()

	return err
}

// yamlLine is how yaml.v3 says where it stopped.
var yamlLine = regexp.MustCompile(`line (\d+): (.*)`)

func readYAML(file string, data []byte) (*node, error) {
	dec := yaml.NewDecoder(bytes.NewReader(data))
	var doc yaml.Node
	if err := dec.Decode(&doc); errors.Is(err, io.EOF) {
		return nil, &fileError{file, 1, errors.New("the file is empty")}
	} else if err != nil {
		return nil, yamlError(file, err)
	}

	if len(doc.Content) != 1 {
		return nil, &fileError{file, 1, errors.New("the file is empty")}
	}

	n, err := fromYAML(file, doc.Content[0], 0)
	if err != nil {
		return nil, err
	}

	var next yaml.Node
	if err := dec.Decode(&next); err == nil {
		return nil, &fileError{file, max(next.Line, 1), errors.New("a second document; one is read")}
	} else if !errors.Is(err, io.EOF) {
		return nil, yamlError(file, err)
	}

	return n, nil
}

func yamlError(file string, err error) error {
	text := strings.TrimPrefix(err.Error(), "yaml: ")
	if m := yamlLine.FindStringSubmatch(text); m != nil {
		line, _ := strconv.Atoi(m[1]) // digits, by the expression
		return &fileError{file, line, errors.New(m[2])}
	}

	return &fileError{file, 1, errors.New(text)}
}

// fromYAML copies the tree. Aliases are refused: they make a file of a few lines
// unfold to gigabytes.
func fromYAML(file string, y *yaml.Node, depth int) (*node, error) {
	n := &node{line: y.Line, text: y.Value}
	if depth > maxDepth {
		return nil, &fileError{file, y.Line, fmt.Errorf("nested more than %d levels deep", maxDepth)}
	}

	switch y.Kind {
	case yaml.ScalarNode:
		n.kind = map[string]nodeKind{"!!null": isNull, "!!bool": isBool, "!!int": isNumber, "!!float": isNumber}[y.ShortTag()]
		if n.kind == isNull && y.ShortTag() != "!!null" {
			n.kind = isString
		}

		if n.kind == isBool {
			n.text = strings.ToLower(y.Value)
		}

		return n, nil
	case yaml.SequenceNode:
		n.kind = isList
		for _, c := range y.Content {
			item, err := fromYAML(file, c, depth+1)
			if err != nil {
				return nil, err
			}
			n.items = append(n.items, item)
		}

		return n, nil
	case yaml.MappingNode:
		n.kind = isMap
		for i := 0; i+1 < len(y.Content); i += 2 {
			k := y.Content[i]
			if k.Kind != yaml.ScalarNode || k.ShortTag() == "!!merge" {
				return nil, &fileError{file, k.Line, errors.New("keys are plain names; lists, aliases and merges are not read")}
			}

			if n.get(k.Value) != nil {
				return nil, &fileError{file, k.Line, fmt.Errorf("%q is there twice", k.Value)}
			}

			v, err := fromYAML(file, y.Content[i+1], depth+1)
			if err != nil {
				return nil, err
			}
			n.members = append(n.members, member{k.Value, k.Line, v})
		}

		return n, nil
	}

	return nil, &fileError{file, y.Line, errors.New("aliases are not read; write the value out")}
}

// reader takes typed values out of a document and remembers the first complaint.
type reader struct {
	file string
	err  error
}

func (r *reader) fail(line int, format string, args ...any) {
	if r.err == nil {
		r.err = &fileError{r.file, line, fmt.Errorf(format, args...)}
	}
}

// want reports whether n is of the kind, and complains otherwise.
func (r *reader) want(n *node, kind nodeKind, what string) bool {
	if n.kind != kind {
		r.fail(n.line, "%s: want %v, got %v", what, kind, n.kind)
	}
	return n.kind == kind
}

func (r *reader) str(n *node, what string) string {
	if !r.want(n, isString, what) {
		return ""
	}
	return n.text
}

func (r *reader) truth(n *node, what string) bool {
	return r.want(n, isBool, what) && n.text == "true"
}

func (r *reader) integer(n *node, what string) int64 {
	if !r.want(n, isNumber, what) {
		return 0
	}

	i, err := strconv.ParseInt(n.text, 10, 64)
	if err != nil {
		r.fail(n.line, "%s: %s is not a whole number", what, n.text)
	}

	return i
}

func (r *reader) strs(n *node, what string) []string {
	if !r.want(n, isList, what) {
		return nil
	}

	list := make([]string, len(n.items))
	for i, item := range n.items {
		list[i] = r.str(item, what)
	}

	return list
}
