package layout

import (
	"go/ast"
	"go/token"
	"path"
	"slices"
	"strings"
	"testing"
)

// unset are options that no program sets and that stay, with the reason.
var unset = map[string]string{
	"streams/lambda.Config.Margin": "a function that needs longer to report its batch sets it",

	"once.Config.Now":                       "a clock for tests; it goes when the package is rebuilt",
	"once/inventory.Config.Now":             "a clock for tests; it goes when the package is rebuilt",
	"once/ledger.Config.Now":                "a clock for tests; it goes when the package is rebuilt",
	"transitions/scheduled.Config.Attempts": "tests of lost answers give up early",
	"operate/jobs.RunnerConfig.AtOnce":      "tests show the bound with few jobs",
	"operate/jobs.RunnerConfig.Lease":       "tests of workers that are killed need short leases",
	"operate/jobs.RunnerConfig.Look":        "tests wait for runners that look often",
	"operate/jobs.Config.Now":               "tests show that a wrong clock of a machine changes no lease",
	"operate/jobs.Config.Rows":              "tests show how a job ends whose rows have expired",
	"payments.Config.Now":                   "a clock for tests; it goes when the package is rebuilt",
}

// TestOptionsHaveAUse: each exported field of a struct whose name ends in Config or Options is set by a file of
// another package that is no test, by examples/own, or by an Example with an output. A field with a tag is a
// setting of the command line. The options of test kits are set by tests of other packages.
func TestOptionsHaveAUse(t *testing.T) {
	t.Parallel()

	all := sources(t)
	options := optionsOf(all)
	set := optionsSet(modulePath(t), all, options)

	for option := range options {
		_, excused := unset[option]

		switch {
		case set[option] && excused:
			t.Errorf("%s is set: it needs no excuse", option)
		case !set[option] && !excused:
			t.Errorf("no program sets %s", option)
		}
	}

	for option := range unset {
		if !options[option] {
			t.Errorf("%s does not exist: it needs no excuse", option)
		}
	}
}

// optionsOf returns the options as PACKAGE.STRUCT.FIELD.
func optionsOf(all []source) map[string]bool {
	options := map[string]bool{}

	for _, s := range all {
		if s.test || s.file.Name.Name == "main" || strings.HasPrefix(s.pkg, "tests/") || strings.HasPrefix(s.pkg, "examples/") || strings.Contains(s.pkg, "/testdata/") {
			continue
		}

		ast.Inspect(s.file, func(n ast.Node) bool {
			spec, ok := n.(*ast.TypeSpec)
			if !ok || !spec.Name.IsExported() || !strings.HasSuffix(spec.Name.Name, "Config") && !strings.HasSuffix(spec.Name.Name, "Options") {
				return true
			}

			fields, ok := spec.Type.(*ast.StructType)
			if !ok {
				return true
			}

			for _, field := range fields.Fields.List {
				if field.Tag != nil { // a setting of the command line
					continue
				}

				for _, name := range field.Names {
					if name.IsExported() {
						options[s.pkg+"."+spec.Name.Name+"."+name.Name] = true
					}
				}
			}

			return true
		})
	}

	return options
}

// optionsSet returns the options with a use: a key of a literal, or an assignment like v.Field = or &v.Field. The
// type of v is not known: it counts for each struct with such a field of a package that the file imports, unless
// v is a receiver or a parameter of a type of the file's own package.
func optionsSet(module string, all []source, options map[string]bool) map[string]bool {
	set := map[string]bool{}

	for _, s := range all {
		every, kits := importsOf(module, s), map[string]string{}
		for name, pkg := range every {
			if isKit(pkg) && pkg != s.pkg {
				kits[name] = pkg
			}
		}

		for _, decl := range s.file.Decls {
			imports := every
			if s.test && !strings.HasPrefix(s.name, "examples/own/") && !isExample(s.file, decl) {
				imports = kits
			}

			if len(imports) > 0 {
				noteOptions(decl, imports, options, set)
			}
		}
	}

	return set
}

func noteOptions(decl ast.Decl, imports map[string]string, options, set map[string]bool) {
	own := ownParameters(decl)

	// Of a.b.c, both a.b and a.b.c are set.
	assigned := func(x ast.Expr) {
		for sel, ok := x.(*ast.SelectorExpr); ok && !own[identifier(sel.X)]; sel, ok = sel.X.(*ast.SelectorExpr) {
			for _, pkg := range imports {
				for option := range options {
					if strings.HasPrefix(option, pkg+".") && strings.HasSuffix(option, "."+sel.Sel.Name) {
						set[option] = true
					}
				}
			}
		}
	}

	ast.Inspect(decl, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.CompositeLit:
			if sel, ok := n.Type.(*ast.SelectorExpr); ok {
				for _, element := range n.Elts {
					if pair, ok := element.(*ast.KeyValueExpr); ok {
						set[imports[identifier(sel.X)]+"."+sel.Sel.Name+"."+identifier(pair.Key)] = true
					}
				}
			}
		case *ast.AssignStmt:
			for _, left := range n.Lhs {
				assigned(left)
			}
		case *ast.UnaryExpr:
			if n.Op == token.AND { // the variable of a flag
				assigned(n.X)
			}
		}

		return true
	})
}

// importsOf returns the packages of the module that the file imports, without its own, by their names in the file.
func importsOf(module string, s source) map[string]string {
	imports := map[string]string{}

	for _, i := range s.file.Imports {
		full := strings.Trim(i.Path.Value, `"`)

		name := path.Base(full)
		if i.Name != nil {
			name = i.Name.Name
		}

		if pkg, ours := strings.CutPrefix(full, module+"/"); ours && (pkg != s.pkg || s.test) {
			imports[name] = pkg
		}
	}

	return imports
}

// ownParameters returns the receiver and the parameters of a function whose types are of its own package.
func ownParameters(decl ast.Decl) map[string]bool {
	own := map[string]bool{}

	f, ok := decl.(*ast.FuncDecl)
	if !ok {
		return own
	}

	fields := f.Type.Params.List
	if f.Recv != nil {
		fields = slices.Concat(f.Recv.List, fields)
	}

	for _, field := range fields {
		kind := field.Type
		if star, ok := kind.(*ast.StarExpr); ok {
			kind = star.X
		}

		for _, name := range field.Names {
			own[name.Name] = identifier(kind) != ""
		}
	}

	return own
}

// identifier returns the name of an expression that is only a name, else "".
func identifier(x ast.Expr) string {
	if id, ok := x.(*ast.Ident); ok {
		return id.Name
	}

	return ""
}
