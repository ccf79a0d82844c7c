package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strings"
)

// mutant is one fault: a piece of a file that is replaced by another text.
type mutant struct {
	// Name identifies the mutant as long as the function that it is in stays the same:
	// file, function, text, and its number among equal ones.
	Name string `json:"name"`
	File string `json:"file"` // relative to the package
	Line int    `json:"line"`
	Was  string `json:"was"`
	Is   string `json:"is"`

	begin, end int // offsets of the piece
	// scopeBegin and scopeEnd are the offsets of the function's body around it, both 0
	// outside of functions.
	scopeBegin, scopeEnd int
}

func (m mutant) String() string {
	return fmt.Sprintf("%s:%d: %s", m.File, m.Line, m.change())
}

// change says what was replaced by what, on one line.
func (m mutant) change() string {
	was, is := strings.Join(strings.Fields(m.Was), " "), strings.Join(strings.Fields(m.Is), " ")
	if m.Is == "" {
		return fmt.Sprintf("without `%s`", was)
	}

	return fmt.Sprintf("`%s` is `%s`", was, is)
}

// apply returns the text of the file with the fault.
func (m mutant) apply(text []byte) []byte {
	return slices.Concat(text[:m.begin], []byte(m.Is), text[m.end:])
}

// planter finds the mutants of one file.
type planter struct {
	set  *token.FileSet
	file string
	text []byte
	// function is the declaration that is being searched. results says whether the last
	// result is an error: first of the declaration, then of the function literals in it.
	function string
	results  []bool
	body     *ast.BlockStmt // the body of the declaration; nil if it is no function
	found    []mutant
	seen     map[string]int
}

// plant returns the mutants of a file in the order of their places.
func plant(file string, text []byte) ([]mutant, error) {
	set := token.NewFileSet()

	tree, err := parser.ParseFile(set, file, text, parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}

	p := &planter{set: set, file: filepath.Base(file), text: text, seen: map[string]int{}}
	for _, d := range tree.Decls {
		// A variable's declaration has no body: its mutants cannot be woven.
		p.function, p.body = "-", nil
		if f, ok := d.(*ast.FuncDecl); ok {
			p.function = nameOf(f)
			p.results = []bool{returnsError(f.Type)}
			p.body = f.Body
		}
		ast.PreorderStack(d, nil, p.visit)
	}
	slices.SortStableFunc(p.found, func(a, b mutant) int { return a.begin - b.begin })

	for i := range p.found {
		m := &p.found[i]
		// Numbers tell equal faults of a function apart; the line would change with every edit
		// above it.
		m.Name = fmt.Sprintf("%s %s", m.File, m.Name)
		p.seen[m.Name]++
		if n := p.seen[m.Name]; n > 1 {
			m.Name += fmt.Sprintf(" (%d)", n)
		}
	}

	return p.found, nil
}

func nameOf(f *ast.FuncDecl) string {
	if f.Recv == nil || len(f.Recv.List) == 0 {
		return f.Name.Name
	}

	receiver := f.Recv.List[0].Type
	if star, ok := receiver.(*ast.StarExpr); ok {
		receiver = star.X
	}

	// The receiver of a generic type.
	if generic, ok := receiver.(*ast.IndexExpr); ok {
		receiver = generic.X
	}

	if name, ok := receiver.(*ast.Ident); ok {
		return name.Name + "." + f.Name.Name
	}

	return f.Name.Name
}

// returnsError reports whether the last result of a function is an error.
func returnsError(f *ast.FuncType) bool {
	if f.Results == nil || len(f.Results.List) == 0 {
		return false
	}
	last, ok := f.Results.List[len(f.Results.List)-1].Type.(*ast.Ident)

	return ok && last.Name == "error"
}

func (p *planter) offset(at token.Pos) int { return p.set.Position(at).Offset }

// replace plants a fault in place of the text from begin to end.
func (p *planter) replace(begin, end token.Pos, is string) {
	p.replaceAt(p.offset(begin), p.offset(end), is)
}

func (p *planter) replaceAt(begin, end int, is string) {
	m := mutant{File: p.file, Was: string(p.text[begin:end]), Is: is, begin: begin, end: end}
	m.Line = 1 + countLines(p.text[:begin])

	// The signature cannot be woven: a copy of the body does not have it.
	if p.body != nil && begin > p.offset(p.body.Lbrace) { // not in the types of the signature
		m.scopeBegin, m.scopeEnd = p.offset(p.body.Lbrace)+1, p.offset(p.body.Rbrace)
	}
	m.Name = p.function + " " + m.change()
	p.found = append(p.found, m)
}

func countLines(text []byte) (n int) {
	for _, b := range text {
		if b == '\n' {
			n++
		}
	}

	return n
}
