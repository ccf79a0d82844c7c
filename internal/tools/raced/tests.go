package main

import (
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
	"strings"
)

// function is a function or a method of a package's tests.
type function struct {
	starts  bool     // it starts a goroutine
	refers  []string // the names in its body, those of methods with a dot before them
	here    bool     // it is raced, whatever it starts
	instead string   // the test in which its goroutines are raced
}

// tests are the functions of a package's tests.
type tests struct {
	all   []string               // tests, examples and fuzz targets
	named map[string][]*function // by the name, that of a method with a dot before it
}

// read adds the functions of a file.
func (t *tests) read(path string) error {
	file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return err
	}

	for _, decl := range file.Decls {
		if fn, ok := decl.(*ast.FuncDecl); ok && fn.Body != nil {
			t.add(fn)
		}
	}

	return nil
}

func (t *tests) add(decl *ast.FuncDecl) {
	f := &function{}
	ast.Inspect(decl.Body, f.visit)

	if decl.Doc != nil {
		for _, line := range decl.Doc.List {
			f.here = f.here || line.Text == "//raced:here"
			if test, ok := strings.CutPrefix(line.Text, "//raced:in "); ok {
				f.instead = test
			}
		}
	}

	name := decl.Name.Name
	if decl.Recv != nil {
		name = "." + name
	} else if isTest(name) {
		t.all = append(t.all, name)
	}
	t.named[name] = append(t.named[name], f)
}

// isTest reports whether `go test` runs the function. A helper whose name begins so, too, does no harm.
func isTest(name string) bool {
	return name != "TestMain" && slices.ContainsFunc([]string{"Test", "Example", "Fuzz"}, func(prefix string) bool { return strings.HasPrefix(name, prefix) })
}

// visit notes what the function starts, and which names are in it.
func (f *function) visit(n ast.Node) bool {
	switch n := n.(type) {
	case *ast.GoStmt:
		f.starts = true
	case *ast.Ident:
		f.refers = append(f.refers, n.Name)
	case *ast.SelectorExpr:
		f.starts = f.starts || n.Sel.Name == "Go" || n.Sel.Name == "AfterFunc"
		f.refers = append(f.refers, "."+n.Sel.Name)
		ast.Inspect(n.X, f.visit)

		return false // the selected name is no function of the package
	}

	return true
}

// raced returns the tests that have more than one goroutine.
func (t *tests) raced() ([]string, error) {
	starting := t.starting()

	var raced []string
	for _, name := range t.all {
		if slices.ContainsFunc(t.named[name], func(f *function) bool { return starting[f] || f.here }) {
			raced = append(raced, name)
		}
	}

	for name, functions := range t.named {
		for _, f := range functions {
			if f.instead == "" {
				continue
			}
			if !slices.Contains(t.all, f.instead) {
				return nil, fmt.Errorf("what %s starts is raced in %s, which is no test of the package", name, f.instead)
			}
			raced = append(raced, f.instead)
		}
	}

	if len(raced) == 0 {
		return nil, errors.New("none of the tests starts a goroutine")
	}

	return raced, nil
}

// starting returns the functions that start goroutines, themselves or by others.
func (t *tests) starting() map[*function]bool {
	starting := map[*function]bool{}

	for again := true; again; {
		again = false
		for _, functions := range t.named {
			for _, f := range functions {
				if !starting[f] && f.instead == "" && (f.starts || t.refersTo(f, starting)) {
					starting[f], again = true, true
				}
			}
		}
	}

	return starting
}

// refersTo reports whether the function names one of these.
func (t *tests) refersTo(f *function, these map[*function]bool) bool {
	return slices.ContainsFunc(f.refers, func(name string) bool {
		return slices.ContainsFunc(t.named[name], func(other *function) bool { return these[other] })
	})
}
