package partiql

import (
	"fmt"
	"strconv"
	"strings"

	"ratchet/embedded/internal/attr"
)

// literal returns the value that an expression without paths is. where names the place within
// the value for messages, from "root" on. Only the value itself may be a parameter, no part of
// it.
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

// typeName names what stands in the place of a struct's key.
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

	set = attr.NewSet(set.Kind, members)

	return set, set.Err()
}
