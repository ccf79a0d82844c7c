// Package paths reads the paths of Amazon States Language (JSONPath) with the reader that the engine's executions use, so
// that a check of a state machine and the engine agree about each of them.
//
//	path, err := paths.Read("$.run.order['orderId']")
//
// An error says what is wrong, and at which character. Its text has the words of the engine, not those of AWS.
package paths

import (
	"strconv"

	"ratchet/embedded/internal/stepfunctions/jsonpath"
)

// Path is what a path says.
type Path struct {
	// Root is "$", "$$" (the context object) or "$name" (a variable).
	Root string
	// Steps lead from the root to one place: the names of members, and indexes like "[0]".
	Steps []string
	// Whole says that nothing follows the steps. A wildcard, a slice, a filter or a descent may, which can match several
	// places or none.
	Whole bool
}

// Read reads a path, such as that of InputPath or Variable. Of a text that is no path it returns what stands before the
// fault, with the error.
// Source: https://states-language.net/spec.html#path
func Read(text string) (Path, error) {
	root, steps, whole, err := jsonpath.Begin(text)

	p := Path{Root: root, Whole: whole}
	for _, s := range steps {
		if s.IsIndex {
			s.Name = "[" + strconv.Itoa(s.Index) + "]"
		}
		p.Steps = append(p.Steps, s.Name)
	}

	return p, err
}

// CheckReference returns an error unless the text is a reference path, such as that of ResultPath, which names one place.
// Source: https://states-language.net/spec.html#ref-paths
func CheckReference(text string) error {
	_, err := jsonpath.CompileReference(text)
	return err
}

// CheckExpression returns an error unless the text is a path or a call of an intrinsic function, such as the value of a
// member of Parameters whose name ends with ".$".
// Source: https://states-language.net/spec.html#intrinsic-functions
func CheckExpression(text string) error {
	_, err := jsonpath.CompileExpression(text)
	return err
}
