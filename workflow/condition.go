package workflow

import (
	"fmt"
	"regexp"
	"strings"
)

// Condition is a part of a DynamoDB ConditionExpression with its placeholders. The
// values are strings, int64 and bool.
type Condition struct {
	Expression string
	Names      map[string]string
	Values     map[string]any
}

// RenderGuards renders guards as one condition, which is empty without guards. The
// prefix, of letters and digits, starts every placeholder after # and :, so that the
// condition can be combined with others. The request holds the values that guards name
// in it; a missing one or one of a wrong type is an error.
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

// value returns a placeholder for the value.
func (r *renderer) value(v any) string {
	placeholder := fmt.Sprintf(":%s%d", r.prefix, len(r.condition.Values))
	r.condition.Values[placeholder] = v

	return placeholder
}

// pathSeparator matches what stands between the names of a path, and a list index.
var pathSeparator = regexp.MustCompile(`\.|\[[0-9]+\]`)

// path replaces every name of a path by a placeholder, because any name may be a reserved
// word of DynamoDB.
func (r *renderer) path(path string) string {
	inner, sized := strings.CutPrefix(strings.TrimSuffix(path, ")"), "size(")

	var b strings.Builder
	for inner != "" {
		start, end := len(inner), len(inner)
		if at := pathSeparator.FindStringIndex(inner); at != nil {
			start, end = at[0], at[1]
		}

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

// name returns the placeholder of a name, the same for the same name.
func (r *renderer) name(name string) string {
	placeholder, known := r.names[name]
	if !known {
		placeholder = fmt.Sprintf("#%s%d", r.prefix, len(r.names))
		r.names[name] = placeholder
		r.condition.Names[placeholder] = name
	}

	return placeholder
}
