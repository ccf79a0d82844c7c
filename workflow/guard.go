package workflow

import (
	"encoding/json"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// Op is the operation of a [Guard]: one of = <> < <= > >= in exists missing. DynamoDB's
// conditions have the same operations.
type Op string

const (
	opEqual    Op = "="
	opNotEqual Op = "<>"
	opLess     Op = "<"
	opAtMost   Op = "<="
	opMore     Op = ">"
	opAtLeast  Op = ">="
	opIn       Op = "in"
	opExists   Op = "exists"
	opMissing  Op = "missing"
)

// maxIn is the most operands that DynamoDB's IN takes, see
// https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Expressions.OperatorsAndFunctions.html
const maxIn = 100

// Guard is a condition on an order's data under which a transition is allowed. It has the
// same meaning in Go ([Guard.Holds]) and as a part of the conditional write that makes the
// transition ([RenderGuards]). [New] refuses what DynamoDB cannot express: arithmetic,
// clocks, other items.
type Guard struct {
	// Name identifies the guard in refusals, like "total-covered".
	Name string
	// Attribute is the path of an attribute of the order, like "payment.captured" or
	// "items[0].sku", or the size of one, like "size(items)".
	Attribute string
	Op        Op
	// Exactly one of Value, Other and Request is the operand. The operations exists and
	// missing have none.
	//
	// Value is a string, a whole number (int64 within a Definition) or a truth value;
	// for "in" a list ([]any) of 1 to 100 strings or whole numbers.
	Value any
	// Other is the path of another attribute of the same order, or the size of one.
	Other string
	// Request is the name of a value that comes with the request, like the beginning of
	// the return window.
	Request string
}

// guardPath matches an attribute path, or size() around a path.
// Groups 1 and 3 are the two halves of size().
var guardPath = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^(size\()?[A-Za-z_][A-Za-z0-9_]*(\[[0-9]{1,4}\]|\.[A-Za-z_][A-Za-z0-9_]*){0,30}(\))?$`)
})

// checkPath returns nil for a path. For any other text the error says why it is no path.
func checkPath(path string) error {
	m := guardPath().FindStringSubmatch(path)
	switch {
	// size( and ) stand together or not at all.
	case m != nil && (m[1] == "") == (m[3] == ""):
		return nil
	// The likely intentions first, because their errors can name the remedy.
	case strings.ContainsAny(path, "+-*/%"):
		return fmt.Errorf("%q calculates, which a DynamoDB condition cannot; keep the result as an attribute", path)
	case strings.Contains(path, "("):
		return fmt.Errorf("%q: of DynamoDB's functions only size(path) is a value", path)
	}

	return fmt.Errorf("%q is not the path of an attribute, like payment.captured, items[0].sku or size(items)", path)
}

// Normalize returns the guard with its value in one of the types that Value documents, or
// an error that says why DynamoDB cannot express the guard.
func (g Guard) Normalize() (Guard, error) {
	if !name().MatchString(g.Name) {
		return g, fmt.Errorf("guard %q: names match %s", g.Name, name())
	}

	var err error
	switch g.Op {
	case opExists, opMissing:
		err = g.checkExistence()
	case opIn:
		g.Value, err = g.normalList()
	case opEqual, opNotEqual, opLess, opAtMost, opMore, opAtLeast:
		g.Value, err = g.normalOperand()
	default:
		err = fmt.Errorf("operation %q is not one of = <> < <= > >= in exists missing", g.Op)
	}

	// A bad path is the more helpful error: a wrong operand often follows from it.
	if pathErr := checkPath(g.Attribute); pathErr != nil {
		err = pathErr
	}

	if err != nil {
		return g, fmt.Errorf("guard %s: %w", g.Name, err)
	}

	return g, nil
}

// checkExistence checks a guard whose operation is exists or missing.
func (g Guard) checkExistence() error {
	if g.Value != nil || g.Other != "" || g.Request != "" {
		return fmt.Errorf("%s takes no operand", g.Op)
	}

	if strings.HasPrefix(g.Attribute, "size(") {
		return fmt.Errorf("%s asks for an attribute; a size is not one", g.Op)
	}

	return nil
}

// normalOperand checks the operand of a comparison. It returns the normalized Value. If the operand is
// another attribute or a value of the request, it returns nil.
func (g Guard) normalOperand() (any, error) {
	operands := 0
	for _, given := range []bool{g.Value != nil, g.Other != "", g.Request != ""} {
		if given {
			operands++
		}
	}

	if operands != 1 {
		return nil, fmt.Errorf("%s takes one operand: a value, an attribute or a name in the request", g.Op)
	}

	switch {
	case g.Value != nil:
		return g.comparable(g.Value)
	case g.Request != "" && !name().MatchString(g.Request):
		return nil, fmt.Errorf("request value %q: names match %s", g.Request, name())
	case g.Other != "" && g.Other == g.Attribute:
		// DynamoDB refuses a condition that compares an attribute with itself.
		return nil, fmt.Errorf("%s is compared with itself, which DynamoDB refuses", g.Attribute)
	case g.Other != "":
		return nil, checkPath(g.Other)
	}

	return nil, nil
}

// comparable normalizes a value with which the guard's operation can compare. It fails for
// other values.
func (g Guard) comparable(v any) (any, error) {
	v, err := constant(v)
	if err != nil {
		return nil, err
	}

	if _, truth := v.(bool); truth && g.Op != opEqual && g.Op != opNotEqual {
		return nil, fmt.Errorf("truth values have no order for %s", g.Op)
	}

	return v, nil
}

// normalList returns the normalized list of the operation "in".
func (g Guard) normalList() ([]any, error) {
	list, ok := g.Value.([]any)
	if !ok || g.Other != "" || g.Request != "" || len(list) == 0 || len(list) > maxIn {
		return nil, fmt.Errorf("in takes a list of 1 to %d values", maxIn)
	}

	// The caller keeps its list.
	list = slices.Clone(list)
	for i, v := range list {
		v, err := constant(v)
		if err != nil {
			return nil, err
		}

		if _, truth := v.(bool); truth {
			return nil, fmt.Errorf("in takes strings and whole numbers")
		}

		list[i] = v
	}

	return list, nil
}

// constant converts a value to a string, an int64 or a bool. It fails for other types and
// for numbers that are not whole.
func constant(v any) (any, error) {
	switch v := v.(type) {
	case string, bool, int64:
		return v, nil
	case int:
		return int64(v), nil
	case int32:
		return int64(v), nil
	case float64:
		// From 2^53 on, a float may stand for several whole numbers.
		if v == math.Trunc(v) && math.Abs(v) <= 1<<53 {
			return int64(v), nil
		}

		return nil, fmt.Errorf("%v: numbers are whole; amounts are in minor units", v)
	case json.Number:
		i, err := strconv.ParseInt(v.String(), 10, 64)
		if err != nil {
			return nil, fmt.Errorf("%v: numbers are whole; amounts are in minor units", v)
		}

		return i, nil
	}

	return nil, fmt.Errorf("%v (%T): values are strings, whole numbers and truth values", v, v)
}

// String returns the guard in readable form, like `captured >= total`.
func (g Guard) String() string {
	switch {
	case g.Op == opExists || g.Op == opMissing:
		return fmt.Sprintf("%s %s", g.Attribute, g.Op)
	case g.Other != "":
		return fmt.Sprintf("%s %s %s", g.Attribute, g.Op, g.Other)
	case g.Request != "":
		return fmt.Sprintf("%s %s request %s", g.Attribute, g.Op, g.Request)
	}

	text, err := json.Marshal(g.Value)
	// A value that Normalize would refuse still has a readable form.
	if err != nil {
		return fmt.Sprintf("%s %s %v", g.Attribute, g.Op, g.Value)
	}

	return fmt.Sprintf("%s %s %s", g.Attribute, g.Op, text)
}

// Condition is a part of a DynamoDB ConditionExpression with its placeholders. The values
// have the types string, int64 and bool, and that of a guard's value which was not normalized.
type Condition struct {
	Expression string
	Names      map[string]string
	Values     map[string]any
}

// RenderGuards renders guards as one condition, which is empty without guards. All
// placeholders start with the prefix, after # or :, so that the condition can be combined
// with others. The prefix consists of letters and digits. RenderGuards fails if a guard
// names a value that the request does not have, or has with a wrong type.
func RenderGuards(guards []Guard, prefix string, request map[string]any) (Condition, error) {
	r := renderer{
		prefix: prefix,
		names:  map[string]string{},
		condition: Condition{
			Names:  map[string]string{},
			Values: map[string]any{},
		},
	}

	parts := make([]string, len(guards))
	for i, g := range guards {
		var err error
		if parts[i], err = r.guard(g, request); err != nil {
			return Condition{}, err
		}
	}

	r.condition.Expression = strings.Join(parts, " AND ")

	return r.condition, nil
}

// renderer collects the placeholders of a condition.
type renderer struct {
	prefix    string
	names     map[string]string // placeholder of each name
	condition Condition
}

// guard returns the guard as a condition.
func (r *renderer) guard(g Guard, request map[string]any) (string, error) {
	attribute := r.path(g.Attribute)

	switch {
	case g.Op == opExists:
		return "attribute_exists(" + attribute + ")", nil
	case g.Op == opMissing:
		return "attribute_not_exists(" + attribute + ")", nil
	case g.Op == opIn:
		list, _ := g.Value.([]any)

		values := make([]string, len(list))
		for i, v := range list {
			values[i] = r.value(v)
		}

		return attribute + " IN (" + strings.Join(values, ", ") + ")", nil
	case g.Other != "":
		return attribute + " " + string(g.Op) + " " + r.path(g.Other), nil
	}

	v, err := g.operand(request)
	if err != nil {
		return "", err
	}

	return attribute + " " + string(g.Op) + " " + r.value(v), nil
}

// operand returns the value with which the guard compares: Value or, if the guard names
// one, the value of the request. It fails if the request lacks it.
func (g Guard) operand(request map[string]any) (any, error) {
	if g.Request == "" {
		return g.Value, nil
	}

	v, given := request[g.Request]
	if !given {
		return nil, fmt.Errorf("guard %s: the request does not say %s", g.Name, g.Request)
	}

	// The value was not known when the definition was checked, so it gets the check of a constant now.
	v, err := g.comparable(v)
	if err != nil {
		return nil, fmt.Errorf("guard %s: %s: %w", g.Name, g.Request, err)
	}

	return v, nil
}

// value adds the value to the condition and returns its placeholder.
func (r *renderer) value(v any) string {
	placeholder := fmt.Sprintf(":%s%d", r.prefix, len(r.condition.Values))
	r.condition.Values[placeholder] = v

	return placeholder
}

// pathSeparator matches the text between the names of a path: a dot or a list index.
var pathSeparator = regexp.MustCompile(`\.|\[[0-9]+\]`)

// path returns the path with a placeholder for every name, because any name may be a
// reserved word of DynamoDB.
func (r *renderer) path(path string) string {
	inner, sized := strings.CutPrefix(strings.TrimSuffix(path, ")"), "size(")

	var b strings.Builder
	for inner != "" {
		start, end := len(inner), len(inner)
		if at := pathSeparator.FindStringIndex(inner); at != nil {
			start, end = at[0], at[1]
		}

		// Between two indices, as in a[0][1], there is no name.
		if name := inner[:start]; name != "" {
			b.WriteString(r.name(name))
		}

		b.WriteString(inner[start:end])
		inner = inner[end:]
	}

	if sized {
		return "size(" + b.String() + ")"
	}

	return b.String()
}

// name returns the placeholder of a name. A name that occurs again gets the same placeholder.
func (r *renderer) name(name string) string {
	placeholder, known := r.names[name]
	if !known {
		placeholder = fmt.Sprintf("#%s%d", r.prefix, len(r.names))
		r.names[name] = placeholder
		r.condition.Names[placeholder] = name
	}

	return placeholder
}
