package templates

import (
	"cmp"
	"errors"
	"fmt"
	"iter"
	"reflect"
	"slices"
	"strings"
	"text/template/parse"
)

// pipeline returns the value of the last command. Each takes the value of the one before as its last argument.
func (r *run) pipeline(dot any, pipe *parse.PipeNode) (value any, err error) {
	if pipe == nil {
		return nil, nil
	}

	var before []any

	for _, command := range pipe.Cmds {
		if value, err = r.command(dot, command.Args, before); err != nil {
			return nil, err
		}
		before = []any{value}
	}

	// A range gives its variables their values by itself: until then they have the whole.
	for _, v := range pipe.Decl {
		r.declare(v, value, pipe.IsAssign)
	}

	return value, nil
}

// command returns the value of a function or method with its arguments, or of a single operand.
func (r *run) command(dot any, words []parse.Node, last []any) (any, error) {
	if *r.steps++; *r.steps > maxSteps {
		return nil, r.fail(words[0], "%w", errSteps)
	}

	switch first := words[0].(type) {
	case *parse.IdentifierNode:
		if first.Ident == "and" || first.Ident == "or" {
			return r.shortCircuit(dot, first.Ident == "or", words, last)
		}

		return r.call(dot, reflect.ValueOf(r.t.o.Functions[first.Ident]), nil, words, last)
	case *parse.FieldNode:
		return r.chain(dot, dot, first.Ident, words, last)
	case *parse.VariableNode:
		return r.chain(dot, r.variable(first.Ident[0]), first.Ident[1:], words, last)
	case *parse.ChainNode:
		value, err := r.operand(dot, first.Node)
		if err != nil {
			return nil, err
		}

		return r.chain(dot, value, first.Field, words, last)
	}

	if len(words) > 1 || last != nil {
		return nil, r.fail(words[0], "no function, and has arguments")
	}

	if words[0].Type() == parse.NodeNil {
		return nil, r.fail(words[0], "nil is no command")
	}

	return r.operand(dot, words[0])
}

// operand returns the value of an argument.
func (r *run) operand(dot any, node parse.Node) (any, error) {
	switch node := node.(type) {
	case *parse.DotNode:
		return dot, nil
	case *parse.NilNode:
		return nil, nil
	case *parse.BoolNode:
		return node.True, nil
	case *parse.StringNode:
		return node.Text, nil
	case *parse.NumberNode:
		return r.number(node)
	case *parse.PipeNode:
		return r.pipeline(dot, node)
	default:
		return r.command(dot, []parse.Node{node}, nil)
	}
}

// number returns an int if the text is one, else a float64.
func (r *run) number(node *parse.NumberNode) (any, error) {
	switch {
	case node.IsInt && (node.Text[0] == '\'' || isHex(node.Text) || !strings.ContainsAny(node.Text, ".eEpP")):
		return int(node.Int64), nil
	case node.IsFloat:
		return node.Float64, nil
	default:
		return nil, r.fail(node, "no number that fits")
	}
}

func isHex(text string) bool {
	return strings.HasPrefix(strings.ToLower(text), "0x") && !strings.ContainsAny(text, "pP")
}

func (r *run) variable(name string) any {
	for _, v := range slices.Backward(r.variables) {
		if v.name == name {
			return v.value
		}
	}

	return nil // the parser refuses unknown names
}

// shortCircuit returns the first argument that decides an and or an or, else the last one.
func (r *run) shortCircuit(dot any, or bool, words []parse.Node, last []any) (value any, err error) {
	if len(words) == 1 && last == nil {
		return nil, r.fail(words[0], "needs arguments")
	}

	for _, word := range words[1:] {
		if value, err = r.operand(dot, word); err != nil || isTrue(value) == or {
			return value, err
		}
	}

	if last != nil {
		return last[0], nil
	}

	return value, nil
}

// chain follows the names of fields and methods. The last one has the arguments.
func (r *run) chain(dot, value any, names []string, words []parse.Node, last []any) (any, error) {
	for i, name := range names {
		args, before := words[:1], []any(nil)
		if i == len(names)-1 {
			args, before = words, last
		}

		if value == nil && i > 0 {
			return nil, r.fail(words[0], "nothing has the field %s", name)
		}

		var err error
		if value, err = r.field(dot, value, name, args, before); err != nil {
			return nil, err
		}
	}

	if len(names) == 0 && (len(words) > 1 || last != nil) {
		return nil, r.fail(words[0], "no function, and has arguments")
	}

	return value, nil
}

// field returns a method's result, a structure's field, or a map's element.
func (r *run) field(dot, of any, name string, words []parse.Node, last []any) (any, error) {
	v := pointed(of)

	if !v.IsValid() {
		if r.t.o.Strict {
			return nil, r.fail(words[0], "nothing has the field %s", name)
		}

		return nil, nil
	}

	if method, known := r.t.o.method(v.Type(), name); known {
		return r.call(dot, method, []any{v.Interface()}, words, last)
	}

	if len(words) > 1 || last != nil {
		return nil, r.fail(words[0], "%s is no method, and has arguments", name)
	}

	switch v.Kind() {
	case reflect.Struct:
		if field, known := v.Type().FieldByName(name); known && field.IsExported() {
			value, err := v.FieldByIndexErr(field.Index)
			if err != nil {
				return nil, r.fail(words[0], "%w", err)
			}

			return value.Interface(), nil
		}
	case reflect.Map:
		if v.Type().Key() == reflect.TypeFor[string]() {
			return r.entry(v, name, words[0])
		}
	}

	return nil, r.fail(words[0], "can't evaluate field %s in type %T", name, of)
}

// entry returns an element of a map.
func (r *run) entry(v reflect.Value, key string, at parse.Node) (any, error) {
	value := v.MapIndex(reflect.ValueOf(key))
	if value.IsValid() {
		return value.Interface(), nil
	}

	if r.t.o.Strict {
		return nil, r.fail(at, "the map has no entry %q", key)
	}

	return reflect.Zero(v.Type().Elem()).Interface(), nil
}

// call calls a function with the receiver, if it is a method, the arguments, and the value of the command before.
func (r *run) call(dot any, function reflect.Value, args []any, words []parse.Node, last []any) (any, error) {
	for _, word := range words[1:] {
		value, err := r.operand(dot, word)
		if err != nil {
			return nil, err
		}
		args = append(args, value)
	}
	args = append(args, last...)

	if err := r.charge(args...); err != nil {
		return nil, r.fail(words[0], "%w", err)
	}

	in, err := arguments(function.Type(), args)
	if err != nil {
		return nil, r.fail(words[0], "%w", err)
	}

	value, err := safely(function, in)
	if err != nil {
		return nil, r.fail(words[0], "%w", err)
	}

	if err := r.charge(value); err != nil {
		return nil, r.fail(words[0], "%w", err)
	}

	return value, nil
}

// charge counts the size of texts as steps, because a function copies them, and refuses what doubles without an end.
func (r *run) charge(values ...any) error {
	size := 0

	for _, value := range values {
		if text, is := value.(string); is {
			size += len(text)
		}
	}
	*r.steps += size / 64

	if size > maxText {
		return errText
	}

	return nil
}

// safely calls a function. A panic, as of a format's argument, is an error.
func safely(function reflect.Value, in []reflect.Value) (value any, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v", p)
		}
	}()

	out := function.Call(in)
	if len(out) == 2 && !out[1].IsNil() {
		return nil, out[1].Interface().(error) //nolint:forcetypeassert // Options.Functions: the second one is an error
	}

	return out[0].Interface(), nil
}

// arguments returns values as a function takes them.
func arguments(of reflect.Type, args []any) ([]reflect.Value, error) {
	fixed := of.NumIn()
	if of.IsVariadic() {
		fixed--
	}

	if len(args) < fixed || len(args) > fixed && !of.IsVariadic() {
		return nil, fmt.Errorf("%d arguments, wants %d", len(args), fixed)
	}

	in := make([]reflect.Value, len(args))

	for i, arg := range args {
		want := of.In(min(i, of.NumIn()-1))
		if i >= fixed {
			want = want.Elem()
		}

		var err error
		if in[i], err = argument(arg, want); err != nil {
			return nil, err
		}
	}

	return in, nil
}

func argument(value any, want reflect.Type) (reflect.Value, error) {
	v := reflect.ValueOf(value)
	// A value may stand where its pointer's value is wanted.
	if v.Kind() == reflect.Pointer && !v.IsNil() && !v.Type().AssignableTo(want) {
		v = v.Elem()
	}

	switch {
	case !v.IsValid() && (want.Kind() == reflect.Interface || want.Kind() == reflect.Pointer || want.Kind() == reflect.Map || want.Kind() == reflect.Slice):
		return reflect.Zero(want), nil
	case !v.IsValid():
		return v, fmt.Errorf("nothing, wants %s", want)
	case v.Type().AssignableTo(want):
		return v, nil
	// The number of a template has a type of its own.
	case v.Type() == reflect.TypeFor[int]() && (want.ConvertibleTo(v.Type()) && want.Kind() != reflect.String):
		return v.Convert(want), nil
	default:
		return v, fmt.Errorf("a value of type %s, wants %s", v.Type(), want)
	}
}

// elements returns the keys and elements of a value, those of maps in the order of their keys. An error is a key.
func elements(value any) iter.Seq2[any, any] {
	v := pointed(value)

	return func(yield func(any, any) bool) {
		switch {
		case !v.IsValid():
		case v.CanInt():
			for i := range v.Int() {
				if !yield(nil, reflect.ValueOf(i).Convert(v.Type()).Interface()) {
					return
				}
			}
		case v.CanUint():
			for i := range v.Uint() {
				if !yield(nil, reflect.ValueOf(i).Convert(v.Type()).Interface()) {
					return
				}
			}
		case v.Kind() == reflect.Slice || v.Kind() == reflect.Array:
			for i := range v.Len() {
				if !yield(i, v.Index(i).Interface()) {
					return
				}
			}
		case v.Kind() == reflect.Map && v.Type().Key().Kind() == reflect.String:
			keys := slices.SortedFunc(slices.Values(v.MapKeys()), func(a, b reflect.Value) int { return cmp.Compare(a.String(), b.String()) })
			for _, key := range keys {
				if !yield(key.Interface(), v.MapIndex(key).Interface()) {
					return
				}
			}
		default:
			yield(fmt.Errorf("can't range over a value of type %s", v.Type()), nil)
		}
	}
}

// printed returns the text of a value.
func printed(value any) (string, error) {
	v := pointed(value)

	switch v.Kind() {
	case reflect.Invalid:
		return "<no value>", nil
	case reflect.Func, reflect.Chan:
		return "", errors.New("can't print a value of type " + v.Type().String())
	default:
		return fmt.Sprint(v.Interface()), nil
	}
}

// pointed returns what a value points to, in the end.
func pointed(value any) reflect.Value {
	v := reflect.ValueOf(value)
	for (v.Kind() == reflect.Pointer || v.Kind() == reflect.Interface) && !v.IsNil() {
		v = v.Elem()
	}

	return v
}
