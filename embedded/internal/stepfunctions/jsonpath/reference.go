package jsonpath

import (
	"fmt"

	"ratchet/embedded/internal/stepfunctions/rawjson"
)

// Reference is a path that names one place to write to.
type Reference struct {
	text  string
	steps []rawjson.Step
}

// CompileReference compiles a reference path, which has only members and indexes under $.
// Source: https://states-language.net/spec.html#ref-paths
func CompileReference(text string) (*Reference, error) {
	p, err := Compile(text)
	if err != nil {
		return nil, err
	}

	if p.context || p.many || p.merged != nil || p.variable != "" {
		const rule = "%q must be a reference path: names and indexes under $, nothing that matches more than one place"

		return nil, fmt.Errorf(rule, text)
	}

	for _, s := range p.plain {
		if s.IsIndex && s.Index < 0 {
			return nil, fmt.Errorf("%q must be a reference path: an index counts from the start", text)
		}
	}

	return &Reference{text: text, steps: p.plain}, nil
}

// String returns the path as it was written.
func (r *Reference) String() string { return r.text }

// IsRoot reports whether the path is "$".
func (r *Reference) IsRoot() bool { return len(r.steps) == 0 }

// Put returns a copy of document with value in the referenced place. It adds members that
// are missing, and fails if the path leads through a value that has no members or past the
// end of an array.
func (r *Reference) Put(document, value []byte) ([]byte, error) {
	if r.IsRoot() {
		return value, nil
	}

	out, ok := rawjson.Set(document, r.steps, value)
	if !ok {
		return nil, fmt.Errorf("reference path %s cannot be applied", r.text)
	}

	return out, nil
}
