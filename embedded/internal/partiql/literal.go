package partiql

import (
	"fmt"
	"strconv"
	"strings"

	"ratchet/embedded/internal/attr"
)

// literal returns the value of an expression without paths. where names the place within the value
// for messages, and begins with "root". Only the whole value may be a parameter, not a part of it.
func literal(src string, e *Expr, where string) (attr.Value, error) {
	switch e.op {
	case opValue:
		return scalar(e, where)
	case opList:
		return list(src, e, where)
	case opStruct:
		return structure(src, e, where)
	case opBag:
		return bag(src, e, where)
	default:
		return attr.Value{}, unsupported(src, e, where)
	}
}

func unsupported(src string, e *Expr, where string) error {
	what := src[e.at.start:e.at.end]

	// The messages write root[0] as root.0 here.
	key := strings.NewReplacer("[", ".", "]", "").Replace(where)

	switch {
	case e.op == opPath && len(e.path) > 1 && where != "root":
		return errorf("Unsupported data type: Path under key %s", key)
	case (e.op == opOperator || e.op == opCall) && where != "root":
		what = "NAry"
	case e.op == opIs && where != "root":
		what = "Typed"
	case e.op == opMissing:
		what = "MISSING"
	case e.op == opCall:
		what = e.text
	case e.op == opPath && where != "root":
		what = "VariableReference"
	case e.parameter:
		what = "Parameter"
	}

	return errorf("Unsupported data type: %s under key %s at %s", what, key, position(src, e.at))
}

// scalar returns the value of a literal that has no parts, or of a parameter.
func scalar(e *Expr, where string) (attr.Value, error) {
	// A parameter was decoded with the request. A literal number is still a text: its sign may come
	// from factor.
	if e.value.Kind != attr.N || e.parameter {
		return e.value, nil
	}

	text, err := attr.ParseNumber(e.text)
	if err != nil {
		return e.value, errorf("%v under %s", err, where)
	}

	return attr.Value{Kind: attr.N, Str: text}, nil
}

func list(src string, e *Expr, where string) (attr.Value, error) {
	elements := make([]attr.Value, len(e.args))

	// v keeps the slice, which is filled below.
	v := attr.NewList(elements)

	for i, a := range e.args {
		at := where + "[" + strconv.Itoa(i) + "]"
		if a.parameter {
			return v, unsupported(src, a, at)
		}

		var err error
		if elements[i], err = literal(src, a, at); err != nil {
			return v, err
		}
	}

	return v, checkDepth(v)
}

func structure(src string, e *Expr, where string) (attr.Value, error) {
	v := attr.Value{Kind: attr.M, Map: attr.Item{}}

	err := eachMember(src, e, where, func(name string, member *Expr) (err error) {
		if member.parameter {
			return unsupported(src, member, where+"."+name)
		}
		v.Map[name], err = literal(src, member, where+"."+name)

		return err
	})
	if err != nil {
		return v, err
	}

	return v, checkDepth(v)
}

func checkDepth(v attr.Value) error {
	if v.Depth() > attr.MaxDepth {
		return errorf("Nesting Levels have exceeded supported limits")
	}

	return nil
}

// eachMember calls visit for the members of a struct, whose names must be texts.
func eachMember(src string, e *Expr, where string, visit func(name string, member *Expr) error) error {
	seen := map[string]bool{}
	for i, key := range e.keys {
		if key.op != opValue || key.value.Kind != attr.S || key.parameter {
			return errorf("Tuple keys must be of type String. Actual type: %s under %s at %s", typeName(key), where, position(src, key.at))
		}

		name := key.value.Str
		switch {
		case name == "":
			return errorf(msgEmptyName)
		case len(name) > attr.MaxNameLength:
			return errorf("Attribute name is too large, must be less than 65536 bytes")
		case seen[name]:
			return errorf("Duplicate keys in tuple. Key: %s under %s at %s", name, where, position(src, key.at))
		}
		seen[name] = true

		if err := visit(name, e.args[i]); err != nil {
			return err
		}
	}

	return nil
}

// typeName names the type of an expression in the place of a struct's key.
func typeName(e *Expr) string {
	switch {
	case e.op == opPath:
		return "VariableReference"
	case e.parameter:
		return "Parameter"
	case e.op == opValue && e.value.Kind == attr.N:
		return "INT"
	default:
		return fmt.Sprint(e.value.Kind)
	}
}

// bag returns the set of a <<...>>: texts or numbers, each once.
func bag(src string, e *Expr, where string) (attr.Value, error) {
	if len(e.args) == 0 {
		return attr.Value{}, errorf("Empty bags are not supported at %s", position(src, e.at))
	}

	kinds := map[attr.Kind]attr.Kind{attr.S: attr.SS, attr.N: attr.NS}

	// The kind is Invalid if the first member can be in no set, which the loop reports.
	set := attr.Value{Kind: kinds[e.args[0].value.Kind]}

	var members []string
	for _, a := range e.args {
		kind, allowed := kinds[a.value.Kind]
		if a.op != opValue || a.parameter || !allowed {
			return set, errorf("%s at %s", msgBag, position(src, a.at))
		}

		if kind != set.Kind {
			return set, errorf(msgBag)
		}

		v, err := scalar(a, where)
		if err != nil {
			return set, err
		}
		members = append(members, v.Str)
	}

	// A set with duplicates becomes an Invalid value, whose error is returned.
	set = attr.NewSet(set.Kind, members)

	return set, set.Err()
}
