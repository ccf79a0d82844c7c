package jsonpath

import (
	"fmt"
	"unicode"
	"unicode/utf8"
)

// maxVariableName is the length of the longest name of a variable, in characters.
// Source: https://docs.aws.amazon.com/step-functions/latest/dg/workflow-variables.html
const maxVariableName = 80

// CheckVariable fails for a name that no variable can have: a name that is no Unicode identifier (UAX
// #31), a name that is too long, and the reserved name "states".
func CheckVariable(name string) error {
	p := &parser{s: name}
	switch {
	case name == "states":
		return fmt.Errorf("the variable name 'states' is reserved")
	case utf8.RuneCountInString(name) > maxVariableName:
		return fmt.Errorf("the variable name '%s' is longer than %d characters", name, maxVariableName)
	// The parser stops at the first character that no name may have there.
	case p.variable() != name || name == "":
		return fmt.Errorf("the variable name '%s' must be a letter, followed by letters, digits or underscores", name)
	}

	return nil
}

// variable reads the name of a variable; "" if there is none.
func (p *parser) variable() string {
	from := p.i
	for p.i < len(p.s) {
		r, n := utf8.DecodeRuneInString(p.s[p.i:])
		if !isNameStart(r) && (p.i == from || !isNamePart(r)) {
			break
		}

		p.i += n
	}

	return p.s[from:p.i]
}

// isNameStart reports whether r has the property ID_Start.
func isNameStart(r rune) bool {
	return unicode.IsLetter(r) || unicode.In(r, unicode.Nl, unicode.Other_ID_Start)
}

// isNamePart reports whether r has the property ID_Continue, without ID_Start.
func isNamePart(r rune) bool {
	return unicode.In(r, unicode.Mn, unicode.Mc, unicode.Nd, unicode.Pc, unicode.Other_ID_Continue)
}

// Variables returns the names of the variables that the expression reads.
func (e *Expression) Variables() []string {
	switch {
	case e.path != nil:
		return e.path.Variables()
	case e.call == nil:
		return nil
	}

	var names []string
	for _, arg := range e.call.args {
		names = append(names, arg.Variables()...)
	}

	return names
}

// Variables returns the names of the variables that the template reads.
func (t *Template) Variables() []string {
	var names []string
	for i := range t.members {
		if m := &t.members[i]; m.expr != nil {
			names = append(names, m.expr.Variables()...)
		} else {
			names = append(names, m.value.Variables()...)
		}
	}

	for _, item := range t.items {
		names = append(names, item.Variables()...)
	}

	return names
}
