package templates

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"reflect"
	"text/template/parse"
	"time"
)

// maxSteps is how many parts of templates an execution may run through.
const maxSteps = 1 << 20

// maxText is how many bytes the texts have that a function takes, or returns.
const maxText = 256 << 10

// maxDepth is how deep templates may include each other.
const maxDepth = 1000

var (
	errSteps = fmt.Errorf("more than %d steps", maxSteps)
	errText  = fmt.Errorf("texts of more than %d bytes", maxText)
	errDepth = fmt.Errorf("templates include each other more than %d times", maxDepth)
)

// Options say what the templates may use.
type Options struct {
	// Left and Right are the delimiters. Default {{ and }}.
	Left, Right string
	// Strict makes a key that a map does not have an error. Otherwise it has the zero value.
	Strict bool
	// Functions are functions by their names, beside those of text/template. Each returns a value, or a value and
	// an error.
	Functions map[string]any
	// Methods are methods by types and names, as functions whose first parameter is the value. Those of times are there.
	Methods map[reflect.Type]map[string]any
}

// Template is a parsed template, with those that it defines. Several goroutines may execute it.
type Template struct {
	name  string
	trees map[string]*parse.Tree
	o     Options
}

// Parse parses a template. The name is part of error texts.
func Parse(name, text string, o Options) (*Template, error) {
	functions := maps.Clone(builtins())
	maps.Copy(functions, o.Functions)
	o.Functions = functions

	trees, err := parse.Parse(name, text, o.Left, o.Right, functions)
	if err != nil {
		return nil, err
	}

	return &Template{name, trees, o}, nil
}

// Execute writes the template, filled with data. If it fails, a part may have been written.
func (t *Template) Execute(out io.Writer, data any) error {
	steps := 0

	err := (&run{t: t, tree: t.trees[t.name], out: out, steps: &steps, variables: []variable{{"$", data}}}).template(data)
	if errors.Is(err, errBreak) || errors.Is(err, errContinue) {
		return fmt.Errorf("template: %s: %w outside of a range", t.name, err) // the parser refuses it before
	}

	return err
}

// methodsOfTimes are methods of time.Time that return one value.
var methodsOfTimes = map[string]any{
	"Add": time.Time.Add, "AddDate": time.Time.AddDate, "After": time.Time.After, "Before": time.Time.Before,
	"Compare": time.Time.Compare, "Day": time.Time.Day, "Equal": time.Time.Equal, "Format": time.Time.Format,
	"Hour": time.Time.Hour, "IsZero": time.Time.IsZero, "Local": time.Time.Local, "Minute": time.Time.Minute,
	"Month": time.Time.Month, "Nanosecond": time.Time.Nanosecond, "Second": time.Time.Second, "String": time.Time.String,
	"Sub": time.Time.Sub, "UTC": time.Time.UTC, "Unix": time.Time.Unix, "UnixMilli": time.Time.UnixMilli,
	"Weekday": time.Time.Weekday, "Year": time.Time.Year, "YearDay": time.Time.YearDay,
}

// method returns a method of a type as a function.
func (o Options) method(of reflect.Type, name string) (function reflect.Value, known bool) {
	methods := o.Methods[of]
	if of == reflect.TypeFor[time.Time]() {
		methods = methodsOfTimes
	}

	method, known := methods[name]

	return reflect.ValueOf(method), known
}
