package jsonpath

import (
	"fmt"

	"ratchet/embedded/internal/stepfunctions/rawjson"
)

// Reference is a path that names one place, to write to.
type Reference struct {
	text string
	way  []rawjson.Step
}

// CompileReference reads a reference path: members and indexes only, under $.
func CompileReference(text string) (*Reference, error) {
	p, err := Compile(text)
	if err != nil {
		return nil, err
	}

	if p.context || p.many {
		return nil, fmt.Errorf("%q must be a reference path: names and indexes under $, nothing that matches more than one place", text)
	}

	for _, s := range p.way {
		if s.IsIndex && s.Index < 0 {
			return nil, fmt.Errorf("%q must be a reference path: an index counts from the start", text)
		}
	}

	return &Reference{text: text, way: p.way}, nil
}

// String returns the path as it was written.
func (r *Reference) String() string { return r.text }

// IsRoot reports whether the path is "$".
func (r *Reference) IsRoot() bool { return len(r.way) == 0 }

// Put returns a copy of document with value in the referenced place, made when
// missing. It fails where the way leads through a value that has no members.
func (r *Reference) Put(document, value []byte) ([]byte, error) {
	if r.IsRoot() {
		return value, nil
	}

	out, ok := rawjson.Set(document, r.way, value)
	if !ok {
		return nil, fmt.Errorf("reference path %s cannot be applied", r.text)
	}

	return out, nil
}
