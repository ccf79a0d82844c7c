package templates_test

import (
	"errors"
	"reflect"
	"strings"
	"testing"
	"text/template"
	"time"

	"pgregory.net/rapid"

	"ratchet/internal/templates"
)

// order is data of a template: structures, pointers, maps, slices and times, with a method.
type order struct {
	ID       name
	Version  int
	Count    uint32
	Share    float64
	Open     bool
	At       time.Time
	Lines    []line
	Texts    map[string]string
	Any      map[string]any
	Next     *order
	Nothing  any
	internal string
}

type name string

type line struct {
	SKU      string
	Quantity int
}

// Title is a method that templates may call.
func (o order) Title(prefix string) string { return prefix + string(o.ID) }

var data = order{
	ID: "o-1", Version: 3, Count: 7, Share: 0.5, Open: true, At: time.Date(2026, 7, 4, 12, 30, 0, 0, time.UTC),
	Lines: []line{{"mug", 2}, {"<cap>", 0}}, Texts: map[string]string{"b": "two", "a": "one"},
	Any: map[string]any{"n": 1, "list": []string{"x", "y"}, "null": nil}, Next: &order{ID: "o-2"}, internal: "hidden",
}

func options() templates.Options {
	return templates.Options{
		Functions: map[string]any{"upper": strings.ToUpper, "times": func(n int, text string) string { return strings.Repeat(text, n) }, "broken": func() (string, error) { return "", errors.New("broken") }},
		Methods:   map[reflect.Type]map[string]any{reflect.TypeFor[order](): {"Title": order.Title}},
	}
}

// both runs a template here and by text/template.
func both(text string, strict bool) (got, want string, err, wanted error) {
	o := options()
	o.Strict = strict
	missing := map[bool]string{true: "missingkey=error", false: "missingkey=zero"}[strict]

	var out strings.Builder

	parsed, err := templates.Parse("t", text, o)
	if err == nil {
		err = parsed.Execute(&out, data)
	}

	var expected strings.Builder

	other, wanted := template.New("t").Option(missing).Funcs(o.Functions).Parse(text)
	if wanted == nil {
		wanted = other.Execute(&expected, data)
	}

	return out.String(), expected.String(), err, wanted
}

// TestAsTextTemplate: each template writes what text/template writes, and fails where it fails.
func TestAsTextTemplate(t *testing.T) {
	for _, text := range []string{
		"", "text", "{{/* a comment */}}a", "{{.ID}} {{.Version}} {{.Count}} {{.Share}} {{.Open}} {{.At}}", "{{.Lines}} {{.Texts}} {{.Next.ID}} {{.Nothing}}",
		"{{.Missing}}", "{{.internal}}", "{{.ID.Missing}}", "{{.Next.Next.ID}}", "{{.Nothing.ID}}", "{{.Texts.a}}-{{.Texts.c}}-{{.Any.c}}", "{{.Any.null}}",
		"{{.At.Year}} {{.At.Month}} {{.At.Format \"2006-01-02\"}} {{.At.UTC.Hour}} {{.At.AddDate 0 1 0}}", "{{.At.Format}}", "{{.At.Format 1}}", "{{.At.Nothing}}",
		"{{.Title \"No. \"}} {{\"No. \" | .Title}}", "{{.Title}}", "{{.ID 1}}", "{{1 2}}", "{{\"a\" | .ID}}",
		"{{if .Open}}yes{{else}}no{{end}}", "{{if .Nothing}}yes{{else if .Version}}else{{end}}", "{{if and .Open .ID}}a{{end}}{{if or .Nothing .Missing}}{{end}}",
		"{{or .Nothing \"x\"}} {{and .Open \"\" .Missing}} {{or .Open .Missing}} {{not .Open}}", "{{.Open | and true}} {{\"\" | or \"\"}}", "{{and}}", "{{or}}",
		"{{with .Next}}{{.ID}} {{$.ID}}{{end}}", "{{with .Nothing}}a{{else with .Next}}{{.ID}}{{else}}c{{end}}", "{{with $x := .ID}}{{$x}}{{.}}{{end}}",
		"{{range .Lines}}{{.SKU}}={{.Quantity}} {{$.ID}};{{else}}none{{end}}", "{{range $i, $l := .Lines}}{{$i}}{{$l.SKU}}{{if $i}}last{{end}}{{end}}", "{{range $l := .Lines}}{{$l}}{{end}}",
		"{{range $k, $v := .Texts}}{{$k}}{{$v}}{{end}}", "{{range .Texts}}{{.}}{{end}}", "{{range .Nothing}}a{{else}}b{{end}}", "{{range .ID}}{{end}}", "{{range .Open}}{{end}}", "{{range 3}}{{.}}{{end}}", "{{range $x := 2}}{{$x}}{{end}}",
		"{{range .Lines}}{{if .Quantity}}{{continue}}{{end}}{{.SKU}}{{end}}", "{{range .Lines}}{{.SKU}}{{break}}{{end}}", "{{break}}",
		"{{$x := 1}}{{if true}}{{$x = 2}}{{$y := 5}}{{end}}{{$x}}", "{{$x := 1}}{{range .Lines}}{{$x = .SKU}}{{end}}{{$x}}", "{{$i := 9}}{{range $i, $x := .Lines}}{{end}}{{$i}}", "{{$x}}",
		"{{$i := 9}}{{$l := 8}}{{range $i, $l = .Lines}}{{end}}{{$i}}{{$l}}", "{{range $x := .Nothing}}a{{else}}{{$x}}{{end}}",
		"{{define \"a\"}}<{{.}}>{{end}}{{template \"a\" .ID}}{{template \"a\"}}", "{{template \"b\"}}", "{{block \"c\" .Version}}{{.}}{{end}}", "{{define \"a\"}}{{end}}", "{{define \"a\"}}{{$}}{{end}}{{with 3}}{{template \"a\" .}}{{end}}",
		"{{define \"a\"}}{{template \"a\"}}{{end}}{{template \"a\"}}",
		"{{len .ID}} {{len .Lines}} {{len .Texts}}", "{{len .Version}}", "{{index .Lines 0}} {{(index .Lines 1).SKU}} {{index .Texts \"a\"}} {{index .Any \"list\" 1}} {{index .Texts \"zz\"}}", "{{index .Lines 5}}", "{{index .Lines -1}}", "{{index .ID 0}}", "{{index .Lines \"a\"}}", "{{index .Version 1}}", "{{index .Nothing 1}}",
		"{{slice .ID 1}} {{slice .ID 0 2}} {{slice .Lines 1}} {{slice .ID}}", "{{slice .ID 3 1}}", "{{slice .ID 9}}", "{{slice .Version}}",
		"{{print .ID 1 2}} {{printf \"%05d|%s|%v|%q\" .Version .ID .Lines .Share}} {{println 1}}", "{{printf \"%d\" .ID}}", "{{print nil}}", "{{printf}}", "{{printf 1}}",
		"{{html \"<a b='c'>\" .ID}} {{js \"it's\"}} {{urlquery \"a b\"}}", "{{.ID | printf \"%s-%s\" \"x\" | upper | html}}", "{{html .Nothing}}",
		"{{eq .Version 3}} {{eq .Version 1 2 3}} {{eq .ID \"o-1\"}} {{eq .Count 7}} {{eq 7 .Count}} {{eq .Nothing nil}} {{eq .Open true}} {{ne .Version 4}} {{eq .Share 0.5}}", "{{eq .Version \"3\"}}", "{{eq .Version 3.0}}", "{{eq .Version}}", "{{eq .Lines .Lines}}", "{{eq .Next .Next}} {{eq .At .At}}", "{{eq .Nothing .ID}}", "{{eq .Version nil}}",
		"{{lt .Version 4}} {{le .Version 3}} {{gt .Version 3}} {{ge .ID \"a\"}} {{lt -1 .Count}} {{lt .Count -1}} {{gt .Share 0.1}}", "{{lt .Version \"a\"}}", "{{lt .Open true}}", "{{lt .Lines .Lines}}", "{{lt .Nothing 1}}",
		"{{upper \"a\"}} {{times 3 \"ab\"}} {{\"x\" | times 2}}", "{{upper .ID}}", "{{upper}}", "{{upper 1}}", "{{times \"a\" \"b\"}}", "{{broken}}", "{{unknown}}", "{{times 1.5 \"a\"}}", "{{upper nil}}",
		"{{1}} {{1.5}} {{'a'}} {{0x1f}} {{1e3}} {{-2}} {{true}} {{\"q\\n\"}} {{`raw`}}", "{{99999999999999999999}}", "{{nil}}", "{{.}}", "{{(.Next).ID}} {{(print 1 2)}} {{$.Next.ID}}", "{{nil.ID}}", "{{(1).ID}}",
		"a  {{- .ID -}}  b", "{{", "{{if}}{{end}}", "{{end}}", "{{range}}{{end}}", "{{.ID",
	} {
		for _, strict := range []bool{false, true} {
			got, want, err, wanted := both(text, strict)
			if (err != nil) != (wanted != nil) || err == nil && got != want {
				t.Errorf("%s (strict: %t):\n got %q, %v\nwant %q, %v", text, strict, got, err, want, wanted)
			}
		}
	}
}

// TestGeneratedTemplatesAsTextTemplate: the same for templates that are put together by chance.
func TestGeneratedTemplatesAsTextTemplate(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := list(t, 3)
		if got, want, err, wanted := both(text, rapid.Bool().Draw(t, "strict")); (err != nil) != (wanted != nil) || err == nil && got != want {
			t.Fatalf("%s:\n got %q, %v\nwant %q, %v", text, got, err, want, wanted)
		}
	})
}

// list returns a text with some actions, in which others may be.
func list(t *rapid.T, depth int) (text string) {
	for range rapid.IntRange(1, 3).Draw(t, "nodes") {
		kind := "text"
		if depth > 0 {
			kind = rapid.SampledFrom([]string{"text", "value", "if", "with", "range", "pair", "set"}).Draw(t, "kind")
		}

		switch kind {
		case "text":
			text += " x"
		case "value":
			text += "{{" + operand(t, 2) + "}}"
		case "set":
			text += "{{$v := " + operand(t, 1) + "}}" + list(t, depth-1) + "{{$v}}"
		case "pair":
			text += "{{range $k, $e := " + operand(t, 1) + "}}{{$k}}" + list(t, depth-1) + "{{$e}}{{end}}"
		default:
			text += "{{" + kind + " " + operand(t, 1) + "}}" + list(t, depth-1) + "{{else}}" + list(t, depth-1) + "{{end}}"
		}
	}

	return text
}

func operand(t *rapid.T, depth int) string {
	simple := []string{
		".", "$", ".ID", "$.Version", ".Count", "$.Share", ".Open", "$.Lines", ".Texts", "$.Any", "$.Next", ".SKU", ".Quantity", "$.Texts.a", "$.Any.n", "$.Any.zz",
		"$.At.Year", "$.At.Month", "$.Nothing", "1", "2.5", "\"a\"", "true", "$.Next.ID",
	}
	if depth == 0 || rapid.Bool().Draw(t, "simple") {
		return rapid.SampledFrom(simple).Draw(t, "operand")
	}

	function := rapid.SampledFrom([]string{"and", "or", "eq", "ne", "lt", "le", "gt", "ge", "index", "print", "printf \"%v|%v\"", "len", "not", "upper", "html"}).Draw(t, "function")
	text := "(" + function + " " + operand(t, depth-1)

	if !strings.ContainsAny(function[:1], "u") && function != "len" && function != "not" {
		text += " " + operand(t, depth-1)
	}

	return text + ")"
}

// TestATemplateEnds: one that a user has written takes neither the time nor the memory of the process.
func TestATemplateEnds(t *testing.T) {
	for _, text := range []string{"{{range 9000000000000000000}}{{end}}", "{{range 99999}}{{range 99999}}{{end}}{{end}}", "{{range 9000000000000000000}}{{continue}}{{end}}",
		`{{$x := printf "%999d" 1}}{{range 300000}}{{$y := print $x $x $x $x}}{{end}}`} {
		parsed, err := templates.Parse("t", text, templates.Options{})
		if err != nil {
			t.Fatal(err)
		}

		if err := parsed.Execute(&strings.Builder{}, nil); err == nil || !strings.Contains(err.Error(), "steps") {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// TestATextIsBounded: a template does not make one that the memory of the process cannot hold.
func TestATextIsBounded(t *testing.T) {
	for text, want := range map[string]string{
		`{{$x := printf "%999d" 1}}{{range 40}}{{$x = print $x $x}}{{end}}`: "texts of more than",
		`{{printf "%999999d" 1}}`:   "a width or precision above 999",
		`{{printf "%.1000f" 1.0}}`:  "a width or precision above 999",
		`{{printf "%*d" 999999 1}}`: "a width or precision above 999",
	} {
		parsed, err := templates.Parse("t", text, templates.Options{})
		if err != nil {
			t.Fatal(err)
		}

		if err := parsed.Execute(&strings.Builder{}, nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// TestAnErrorSaysWhere: line, template and text of the place.
func TestAnErrorSaysWhere(t *testing.T) {
	parsed, err := templates.Parse("mail", "a\n{{.Missing}}", templates.Options{})
	if err != nil {
		t.Fatal(err)
	}

	if err := parsed.Execute(&strings.Builder{}, data); err == nil || err.Error() != "template: mail:2:2: at <.Missing>: can't evaluate field Missing in type templates_test.order" {
		t.Error(err)
	}
}
