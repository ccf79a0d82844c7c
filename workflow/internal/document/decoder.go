package document

import (
	"fmt"
	"strconv"
)

// Decoder takes typed values out of a document. It keeps the first error and goes on
// with zero values, so that callers check Err once, at the end.
type Decoder struct {
	// File is the file's name in errors.
	File string

	err error
}

// Err returns the first error as an [*Error], or nil.
func (d *Decoder) Err() error { return d.err }

// Fail records an error at a line unless there is one already.
func (d *Decoder) Fail(line int, format string, args ...any) {
	if d.err == nil {
		d.err = &Error{d.File, line, fmt.Errorf(format, args...)}
	}
}

// Want reports whether n is of the kind; if not, it records an error about what.
func (d *Decoder) Want(n *Node, kind Kind, what string) bool {
	if n.Kind != kind {
		d.Fail(n.Line, "%s: want %v, got %v", what, kind, n.Kind)
	}
	return n.Kind == kind
}

// String returns the content of a string.
func (d *Decoder) String(n *Node, what string) string {
	if !d.Want(n, String, what) {
		return ""
	}
	return n.Text
}

// Name returns the text of any scalar but null. YAML reads some names, like on and
// 12, as truth values or numbers.
func (d *Decoder) Name(n *Node, what string) string {
	if n.Kind == List || n.Kind == Map || n.Kind == Null {
		d.Fail(n.Line, "%s: want a name, got %v", what, n.Kind)
	}
	return n.Text
}

// Bool returns a truth value.
func (d *Decoder) Bool(n *Node, what string) bool {
	return d.Want(n, Bool, what) && n.Text == "true"
}

// Int returns a whole number.
func (d *Decoder) Int(n *Node, what string) int64 {
	if !d.Want(n, Number, what) {
		return 0
	}

	i, err := strconv.ParseInt(n.Text, 10, 64)
	if err != nil {
		d.Fail(n.Line, "%s: %s is not a whole number", what, n.Text)
	}

	return i
}

// Strings returns a list of strings.
func (d *Decoder) Strings(n *Node, what string) []string {
	if !d.Want(n, List, what) {
		return nil
	}

	list := make([]string, len(n.Items))
	for i, item := range n.Items {
		list[i] = d.String(item, what)
	}

	return list
}

// Fields calls fn for every member of a map and records an error for each member that
// fn does not know and for each required member that is missing.
func (d *Decoder) Fields(n *Node, what string, required []string, fn func(m Member) (known bool)) {
	if !d.Want(n, Map, what) {
		return
	}

	// Unknown fields first: a misspelled name is one fault, and not also a missing field.
	for _, m := range n.Members {
		if !fn(m) {
			d.Fail(m.Line, "%s has no field %q", what, m.Name)
		}
	}

	for _, name := range required {
		if n.Get(name) == nil {
			d.Fail(n.Line, "%s lacks %s", what, name)
		}
	}
}
