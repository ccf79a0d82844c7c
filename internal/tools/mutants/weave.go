package main

import (
	"bytes"
	"context"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
)

// A woven package has all its mutants, of which a variable of the environment chooses one.
// Each is a copy of the function's body, in a block before the original:
//
//	func f(a, b int) bool {
//		if chosenMutant == 7 {
//			return a <= b
//		}
//		return a < b
//	}
//
// So the tests are built and linked once and not once per mutant. What cannot be woven
// (faults outside of functions, and copies that do not compile) is built by itself.

// chosenBy is the variable of the environment that chooses the mutant, by its number.
const chosenBy = "RATCHET_MUTANT"

// chooser is the file that is added to a woven package.
const chooser = `package %s

import (
	"os"
	"strconv"
)

var chosenMutant, _ = strconv.Atoi(os.Getenv(%q))
`

// weave builds the tests of the package with all mutants that can be woven, and remembers the
// number that chooses each: its place among the wanted ones, from 1.
func (l *lab) weave(ctx context.Context, wanted []mutant) error {
	left := map[int]mutant{}
	for i, m := range wanted {
		left[i+1] = m
	}

	// The compiler names the mutants that it refuses. They are dropped, and the rest is built
	// again.
	for len(left) > 0 {
		overlay, err := l.writeWoven(left)
		if err != nil {
			return err
		}

		output, err := l.build(ctx, overlay, l.wovenTests(), "-gcflags=-e")
		if err == nil {
			for number, m := range left {
				l.woven[m.Name] = number
			}

			return nil
		}

		// Without a refused mutant the next build would fail in the same way.
		if !dropRefused(left, output) {
			return fmt.Errorf("build the tests with all mutants: %w: %s", err, output)
		}
	}

	return nil
}

func (l *lab) wovenTests() string { return filepath.Join(l.dir, "woven") }

// refusedRule finds the mutants in the compiler's messages: each has a file name of its own.
var refusedRule = regexp.MustCompile(`(?m)\bmutant(\d+)\.go:\d+`)

// dropRefused deletes the mutants that the compiler refused. It returns false if there
// was none.
func dropRefused(left map[int]mutant, output []byte) (dropped bool) {
	for _, at := range refusedRule.FindAllSubmatch(output, -1) {
		number, _ := strconv.Atoi(string(at[1])) // the rule admits digits only

		if _, known := left[number]; known {
			delete(left, number)
			dropped = true
		}
	}

	return dropped
}

// writeWoven writes the files of the package with the mutants, and returns the overlay.
func (l *lab) writeWoven(mutants map[int]mutant) (overlay string, err error) {
	texts := map[string][]byte{}
	name := ""

	for _, file := range l.pkg.Files {
		if texts[file], name, err = weaveFile(file, l.pkg.texts[file], mutants); err != nil {
			return "", err
		}
	}
	// The package's name is known only after a file was parsed.
	texts["chosen_mutant.go"] = fmt.Appendf(nil, chooser, name, chosenBy)

	return l.writeOverlay("woven", texts)
}

// weaveFile returns the text of a file with the mutants that are within its functions, and the name
// of the package. It deletes the file's other mutants from the map.
func weaveFile(file string, text []byte, mutants map[int]mutant) (woven []byte, pkg string, err error) {
	set := token.NewFileSet()

	tree, err := parser.ParseFile(set, file, text, parser.SkipObjectResolution)
	if err != nil {
		return nil, "", err
	}

	var out bytes.Buffer
	done := 0
	placed := map[int]bool{}

	for _, d := range tree.Decls {
		f, ok := d.(*ast.FuncDecl)
		if !ok || f.Body == nil {
			continue
		}
		begin, end := set.Position(f.Body.Lbrace).Offset+1, set.Position(f.Body.Rbrace).Offset

		out.Write(text[done:begin])
		done = begin

		for _, number := range inFile(file, mutants) {
			m := mutants[number]
			if m.scopeBegin != begin {
				continue
			}
			placed[number] = true

			// The line directive makes the compiler name the mutant in its messages.
			fmt.Fprintf(&out, "\nif chosenMutant == %d {\n//line mutant%d.go:1\n", number, number)
			out.Write(text[begin:m.begin])
			out.WriteString(m.Is)
			out.Write(text[m.end:end])

			// A function with results ends with a return statement. Any other copy needs one, or it
			// would run on into the original.
			if f.Type.Results == nil {
				out.WriteString("\nreturn")
			}
			out.WriteString("\n}")
		}
		// Messages about the original name its own line.
		fmt.Fprintf(&out, "\n//line %s:%d\n", file, 1+countLines(text[:begin]))
	}
	out.Write(text[done:])

	for _, number := range inFile(file, mutants) {
		if !placed[number] {
			delete(mutants, number)
		}
	}

	return out.Bytes(), tree.Name.Name, nil
}

// inFile returns the numbers of the mutants of a file, in their order.
func inFile(file string, mutants map[int]mutant) []int {
	var numbers []int
	for number, m := range mutants {
		if m.File == file {
			numbers = append(numbers, number)
		}
	}
	slices.Sort(numbers)

	return numbers
}
