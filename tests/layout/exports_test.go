package layout

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
)

// mostNames and mostMethods are how many exported top-level names and methods a package may have: about
// one screen of `go doc`.
const (
	mostNames   = 60
	mostMethods = 40
)

// large are packages above these numbers, with the reason.
var large = map[string]string{
	"embedded/internal/stepfunctions/execution": "51 of the names are types of history events and statuses, as the service has them",

	"server":      "a command asks the backend for one thing each; what only operators ask (JournalLag, JournalWaits, DueBefore, BookAgain) is to move to operate",
	"workflow":    "31 of the names are the states and events of the shop",
	"transitions": "order, evidence and writes share one item and one condition: the best cut that was found would export 120 internals to hide 49 methods",
}

// exported is what one package shows to others.
type exported struct {
	names   map[string]ast.Node // top-level, with the declaration
	methods map[string]bool     // without the receiver
	count   int                 // of methods, with their receivers
	enums   map[string]string   // a constant's type, for those that have one of this package
	mention map[string][]string // a declaration's name and the exported names in its signature
	doc     strings.Builder     // of exported declarations
}

// source is one parsed file of the module.
type source struct {
	name, pkg string // relative to the root
	test      bool
	text      string
	file      *ast.File
}

var (
	parsed    = token.NewFileSet()
	parseOnce sync.Once
	all       []source
)

// sources returns the Go files of the module, each parsed once with its comments.
func sources(t *testing.T) []source {
	t.Helper()

	parseOnce.Do(func() {
		for _, name := range files(t, ".go") {
			text := read(t, name)

			file, err := parser.ParseFile(parsed, name, text, parser.ParseComments|parser.SkipObjectResolution)
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, source{name, filepath.ToSlash(filepath.Dir(name)), strings.HasSuffix(name, "_test.go"), text, file})
		}
	})

	return all
}

// unused are exported names without a use that are there for users of the library or for tests of another
// package, with the reason.
var unused = map[string]string{
	"activities/activitiestest.Result": "a test kit of users (docs/guides/testing.md); its own tests use it",
	"activities/activitiestest.Run":    "a test kit of users (docs/guides/testing.md); its own tests use it",
	"activities/activitiestest.Task":   "a test kit of users (docs/guides/testing.md); its own tests use it",
	"notify/destination.OpenFile":      "tests of server/ratchettest send to such a file",
	"transitions.MigrateAll":           "a program that has no jobs migrates its orders by it",
	"transitions.NewIncarnation":       "tests of other packages name the lives of orders",
	"server.PropagateToAll":            "a value of a setting; tests/system sets it as a program of a user would",
	"server.PropagateToNone":           "a value of a setting; tests/system sets it as a program of a user would",
	"server.PropagateToOwn":            "a value of a setting; tests/system sets it as a program of a user would",
	"server.Sandbox":                   "a value of a setting; tests/deploy sets it as a program of a user would",

	"cmd/cli/internal/settings.Statuses":       "the reference of the commands is written by a test",
	"cmd/cli/internal/operate.SettingsOf":      "the reference has the defaults of all settings",
	"cmd/cli/internal/settings.CreatesData":    "a test over all commands",
	"cmd/cli/internal/settings.FlagsIn":        "the reference has the flags of each command",
	"cmd/cli/internal/settings.GroupOf":        "tests over all commands tell shared flags from others",
	"cmd/cli/internal/settings.LongAnnotation": "a test over all commands",
	"cmd/cli/internal/settings.MayCreateData":  "a test over all commands",
	"cmd/cli/internal/settings.VariableOf":     "the reference has the variable of each setting",
	"operate/doctor/stack.Kinds":               "tests hold the templates and docs/reference/deployed.md against them",
	"deploy/build/oci.Write":                   "the programs of deploy/build, a module of its own, import it under another path",
	"deploy/build/sbom.Of":                     "the programs of deploy/build, a module of its own, import it under another path",
	"cmd/cli/internal/start.SampleOrder":       "the commands that dev prints are run by a test over all commands",

	"embedded/internal/attr.EqualItems":                       "tests of the expression package compare items",
	"embedded/internal/stepfunctions/jsonata.CodeInvalid":     "the code of an error that the asl package reports; its tests compare it",
	"embedded/internal/stepfunctions/jsonata.CodeUnsupported": "the code of an error that the asl package reports; its tests compare it",
}

// TestPackagesFitOnAScreen counts exported names and methods.
func TestPackagesFitOnAScreen(t *testing.T) {
	t.Parallel()

	for pkg, e := range exports(sources(t)) {
		over := len(e.names) > mostNames || e.count > mostMethods

		switch _, excused := large[pkg]; {
		case over && !excused:
			t.Errorf("%s exports %d names and %d methods, at most %d and %d", pkg, len(e.names), e.count, mostNames, mostMethods)
		case !over && excused:
			t.Errorf("%s exports %d names and %d methods: it needs no excuse", pkg, len(e.names), e.count)
		}
	}
}

// TestExportedNamesHaveAUse: each exported top-level name is used by a file of another package that is no
// test, by examples/own, or by an Example with an output. Test kits are used by tests. A name also counts as used if it
//   - stands in the signature or the fields of a name that is used,
//   - is a value of an enumeration whose type is used,
//   - is an error that the comment of an exported name tells callers to expect.
//
// A method has a use if another package calls a method of that name, or if an interface of Go or
// of ours has it.
func TestExportedNamesHaveAUse(t *testing.T) {
	t.Parallel()

	module, all := modulePath(t), sources(t)
	exports := exports(all)
	used, selected := uses(module, all, exports)

	for pkg, e := range exports {
		spread(e, used[pkg])

		for name := range e.names {
			_, excused := unused[pkg+"."+name]

			switch {
			case used[pkg][name] && excused:
				t.Errorf("%s.%s has a use: it needs no excuse", pkg, name)
			case !used[pkg][name] && !excused && !strings.HasPrefix(pkg, "examples/"):
				t.Errorf("%s.%s is exported without a use", pkg, name)
			}
		}

		for name := range e.methods {
			if _, excused := unused[pkg+"."+name]; !selected[name] && !excused && !isKit(pkg) && !strings.HasPrefix(pkg, "examples/") {
				t.Errorf("%s: a method %s is exported without a use", pkg, name)
			}
		}
	}
}

// isKit tells the packages that tests of other packages use.
func isKit(pkg string) bool {
	return strings.HasSuffix(pkg, "test") || slices.Contains([]string{"embedded/faults", "embedded/internal/smalldisk", "internal/dynamodblocal"}, pkg)
}

// exports returns what the module's packages show, but for programs and tests.
func exports(all []source) map[string]*exported {
	found := map[string]*exported{}

	for _, s := range all {
		if s.test || s.file.Name.Name == "main" || strings.Contains(s.pkg, "/testdata/") || strings.HasPrefix(s.pkg, "tests/") || strings.HasPrefix(s.pkg, "examples/own") {
			continue
		}

		e := found[s.pkg]
		if e == nil {
			e = &exported{names: map[string]ast.Node{}, methods: map[string]bool{}, enums: map[string]string{}, mention: map[string][]string{}}
			found[s.pkg] = e
		}

		for _, decl := range s.file.Decls {
			e.add(decl)
		}
	}

	return found
}

func (e *exported) add(decl ast.Decl) {
	switch d := decl.(type) {
	case *ast.FuncDecl:
		if !d.Name.IsExported() {
			return
		}

		e.doc.WriteString(d.Doc.Text())

		if d.Recv == nil {
			e.names[d.Name.Name] = d
			e.mentions(d.Name.Name, d.Type)
			return
		}

		receiver := d.Recv.List[0].Type
		if star, ok := receiver.(*ast.StarExpr); ok {
			receiver = star.X
		}

		if index, ok := receiver.(*ast.IndexExpr); ok {
			receiver = index.X
		}

		if id, ok := receiver.(*ast.Ident); ok && id.IsExported() {
			e.methods[d.Name.Name] = true
			e.count++
			e.mentions(id.Name, d.Type)
		}
	case *ast.GenDecl:
		if d.Tok != token.VAR {
			e.doc.WriteString(d.Doc.Text())
		}

		enum := ""
		for _, spec := range d.Specs {
			enum = e.addSpec(spec, enum)
		}
	}
}

// addSpec returns the type of a constant, which the next ones of an iota have, too.
func (e *exported) addSpec(spec ast.Spec, enum string) string {
	switch s := spec.(type) {
	case *ast.TypeSpec:
		if s.Name.IsExported() {
			e.names[s.Name.Name] = s

			if !isError(s.Name.Name) {
				e.doc.WriteString(s.Doc.Text())
			}
			e.mentions(s.Name.Name, s.Type)
		}
	case *ast.ValueSpec:
		if !isError(s.Names[0].Name) { // the comment of an error names the error itself
			e.doc.WriteString(s.Doc.Text() + s.Comment.Text())
		}

		if id, ok := s.Type.(*ast.Ident); ok {
			enum = id.Name
		} else if s.Type != nil || len(s.Values) > 0 {
			enum = ""
		}

		for _, id := range s.Names {
			if id.IsExported() {
				e.names[id.Name] = s
				e.enums[id.Name] = enum
			}
		}
	}

	return enum
}

// mentions notes the exported names of the package in a type, with the comments of fields.
func (e *exported) mentions(name string, in ast.Node) {
	ast.Inspect(in, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.Ident:
			if n.IsExported() {
				e.mention[name] = append(e.mention[name], n.Name)
			}
		case *ast.SelectorExpr:
			return false // of another package
		case *ast.Field:
			e.doc.WriteString(n.Doc.Text() + n.Comment.Text())
		}

		return true
	})
}

// spread marks what counts as used because of another name that is used.
func spread(e *exported, used map[string]bool) {
	for grown := true; grown; {
		grown = false

		mark := func(name string) {
			if e.names[name] != nil && !used[name] {
				used[name], grown = true, true
			}
		}

		for name := range e.names {
			if used[name] {
				for _, other := range e.mention[name] {
					mark(other)
				}
			}

			if used[e.enums[name]] || isError(name) && regexp.MustCompile(`\b`+name+`\b`).MatchString(e.doc.String()) {
				mark(name)
			}
		}
	}
}

func isError(name string) bool {
	return strings.HasPrefix(name, "Err") || strings.HasSuffix(name, "Error")
}

// ofInterfaces are methods that the standard library, the SDK or a library that we use calls.
var ofInterfaces = []string{
	"Error", "Is", "As", "Unwrap", "String", "GoString", "Format", "LogValue", "MarshalJSON", "UnmarshalJSON", "MarshalText", "UnmarshalText",
	"MarshalJSONTo", "UnmarshalJSONFrom", "MarshalYAML", "UnmarshalYAML", "ServeHTTP", "RoundTrip", "Do", "Read", "Write", "Close", "Seek", "ReadFrom", "WriteTo",
	"Len", "Less", "Swap", "Set", "Type", "Schema", "Flush", "Hijack", "GetDiskUsage", "Temporary",
}

// uses returns for each package the names that count as used by a file, and all names that some package
// selects of a value or that an interface has.
func uses(module string, all []source, exports map[string]*exported) (used map[string]map[string]bool, selected map[string]bool) {
	used, selected = map[string]map[string]bool{}, map[string]bool{}
	for pkg := range exports {
		used[pkg] = map[string]bool{}
	}

	for _, name := range ofInterfaces {
		selected[name] = true
	}

	for _, s := range all {
		imports := map[string]string{}
		for _, i := range s.file.Imports {
			full := strings.Trim(i.Path.Value, `"`)

			pkg := strings.TrimPrefix(full, module+"/")
			if full == module {
				pkg = "."
			}

			name := path.Base(full)
			if i.Name != nil {
				name = i.Name.Name
			}

			if exports[pkg] != nil {
				imports[name] = pkg
			}
		}

		note := func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.SelectorExpr:
				selected[n.Sel.Name] = true

				id, ok := n.X.(*ast.Ident)
				if !ok {
					return true
				}

				if pkg := imports[id.Name]; pkg != "" && (pkg != s.pkg || s.test) {
					used[pkg][n.Sel.Name] = true
				}
			case *ast.InterfaceType:
				for _, m := range n.Methods.List {
					for _, id := range m.Names {
						selected[id.Name] = true
					}
				}
			}

			return true
		}

		switch {
		case !s.test || strings.HasPrefix(s.name, "examples/own/"):
			ast.Inspect(s.file, note)
		default:
			for _, decl := range s.file.Decls {
				if isExample(s.file, decl) {
					ast.Inspect(decl, note)
				}
			}

			// Of a kit, what the test uses counts.
			for name, pkg := range imports {
				if isKit(pkg) && pkg != s.pkg {
					ast.Inspect(s.file, func(n ast.Node) bool {
						if sel, ok := n.(*ast.SelectorExpr); ok {
							if id, ok := sel.X.(*ast.Ident); ok && id.Name == name {
								used[pkg][sel.Sel.Name] = true
							}
						}

						return true
					})
				}
			}
		}
	}

	return used, selected
}

// isExample tells an Example function whose output is compared.
func isExample(file *ast.File, decl ast.Decl) bool {
	f, ok := decl.(*ast.FuncDecl)
	if !ok || f.Recv != nil || !strings.HasPrefix(f.Name.Name, "Example") {
		return false
	}

	return slices.ContainsFunc(file.Comments, func(c *ast.CommentGroup) bool {
		return c.Pos() > f.Pos() && c.End() < f.End() && strings.Contains(strings.ToLower(c.Text()), "output:")
	})
}
