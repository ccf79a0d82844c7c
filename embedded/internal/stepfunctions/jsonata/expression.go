package jsonata

import (
	"fmt"
	"strings"

	"github.com/recolabs/gnata"
)

// Codes of the diagnostics of an expression, as ValidateStateMachineDefinition names them.
const (
	CodeInvalid     = "INVALID_JSONATA_EXPRESSION"
	CodeUnsupported = "UNSUPPORTED_JSONATA_EXPRESSION"
)

// maxSource is the length of the longest expression, in bytes. It bounds the recursion of the
// parser.
const maxSource = 32 << 10

// Access says which members of $states an expression may read beside input and context.
type Access byte

// The members of $states that exist in some fields only.
const (
	Result Access = 1 << iota
	ErrorOutput
)

// Expression is a compiled expression. It is immutable.
type Expression struct {
	source  string
	program *gnata.Expression
	found   *analysis
}

// CompileError reports why an expression cannot be used.
type CompileError struct{ Code, Message string }

func (e *CompileError) Error() string { return e.Message }

// Unwrap returns the expression in a text that begins with {% and ends with %}. Any other
// text is a literal.
func Unwrap(text string) (source string, ok bool) {
	const begin, end = "{%", "%}"
	if len(text) < len(begin)+len(end) || !strings.HasPrefix(text, begin) || !strings.HasSuffix(text, end) {
		return "", false
	}

	return strings.TrimSpace(text[len(begin) : len(text)-len(end)]), true
}

// Compile compiles an expression. It fails with a *CompileError.
func Compile(source string, access Access) (*Expression, error) {
	if len(source) > maxSource {
		return nil, &CompileError{CodeInvalid, fmt.Sprintf("an expression has at most %d bytes in the embedded engine", maxSource)}
	}

	program, err := parse(source)
	if err != nil {
		return nil, err
	}

	found := analyze(program)
	if err := found.check(access); err != nil {
		return nil, err
	}

	plant(program)

	return &Expression{source: source, program: program, found: found}, nil
}

// parse calls gnata's parser, whose panics become errors.
func parse(source string) (program *gnata.Expression, err error) {
	defer func() {
		if r := recover(); r != nil {
			program, err = nil, &CompileError{CodeInvalid, fmt.Sprintf("the expression cannot be parsed: %v", r)}
		}
	}()

	program, err = gnata.Compile(source)
	if err != nil {
		return nil, &CompileError{CodeInvalid, parserMessage(err)}
	}

	return program, nil
}

// String returns the expression as it was written, without {% and %}.
func (e *Expression) String() string { return e.source }

// Variables returns the sorted names of the variables that the expression reads, without names that the
// expression binds itself and without functions of the language.
func (e *Expression) Variables() []string { return e.found.variables }
