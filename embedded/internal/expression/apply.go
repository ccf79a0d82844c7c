package expression

import (
	"errors"
	"maps"
	"slices"

	"ratchet/embedded/internal/attr"
)

// Apply returns the item after the update. It changes neither the item, which may be nil, nor
// anything in it; the two items share the parts that the update does not write. The error is an
// *Error: a path that leads nowhere, a missing attribute, an operand of the wrong type, a number
// out of range.
func (u *Update) Apply(item attr.Item) (attr.Item, error) {
	next := edit{item: make(attr.Item, len(item)+1)}
	maps.Copy(next.item, item)
	return u.apply(item, next)
}

// Create is Apply for an item that does not exist; key has the attributes with which it is created. Here a
// REMOVE may lead nowhere: it removes nothing.
// Source: a suite whose expectations were checked on AWS, with REMOVE of a nested path of a missing item
func (u *Update) Create(key attr.Item) (attr.Item, error) {
	next := edit{item: make(attr.Item, len(key)+1), creates: true}
	maps.Copy(next.item, key)

	return u.apply(key, next)
}

// Change is Apply for an item that the caller does not use afterwards and that shares no part
// with another item: it changes the item in place. After an error the item is undefined.
func (u *Update) Change(item attr.Item) (attr.Item, error) {
	return u.apply(item, edit{item: item, exclusive: true})
}

func (u *Update) apply(item attr.Item, next edit) (attr.Item, error) {
	var room [valuesOnStack]attr.Value

	values, err := u.evaluate(item, room[:0], next.creates)
	if err != nil {
		return nil, err
	}

	// A map or list that is copied within the item would be in two places, and must not be changed
	// in one of them.
	next.exclusive = next.exclusive && !u.sharesParts(values)

	// All writes come before the removals, which shift the elements behind them: an index means a
	// position before the update.
	removes := u.removes
	for _, n := range u.writes {
		if values[n].Kind == attr.Invalid {
			removes = u.insertRemoval(removes, n)
			continue
		}

		if err := next.set(u.actions[n].path, values[n]); err != nil {
			return nil, err
		}
	}

	for _, n := range removes {
		next.remove(u.actions[n].path)
	}

	return next.item, nil
}

// sharesParts reports whether a map or list of the item becomes a value at another place.
func (u *Update) sharesParts(values []attr.Value) bool {
	for n, v := range values {
		if (v.Kind == attr.M || v.Kind == attr.L) && u.actions[n].value.op != opValue {
			return true
		}
	}

	return false
}

// valuesOnStack is the number of actions up to which an update needs no memory from the heap for
// their values.
const valuesOnStack = 8

// evaluate computes the new value of every action, in room if that is enough. As DynamoDB does, it
// reports a path that leads nowhere before an error in a value, and errors in values from the last
// action on. creates is set if there was no item.
func (u *Update) evaluate(item attr.Item, room []attr.Value, creates bool) ([]attr.Value, error) {
	for i := range u.actions {
		if a := &u.actions[i]; !a.path.reachable(item) && !(creates && a.section == kRemove) {
			return nil, errorf(msgInvalidPath)
		}
	}

	values := slices.Grow(room, len(u.actions))[:len(u.actions)]
	for n, a := range slices.Backward(u.actions) {
		v, err := a.evaluate(item)
		if err != nil {
			return nil, u.valueError(err)
		}
		values[n] = v
	}

	return values, nil
}

// valueError returns the error of a value with the message that the update has for it.
func (u *Update) valueError(err error) error {
	mismatch, ok := errors.AsType[*Error](err)
	if u.legacy && ok && mismatch.Message == msgOperandType {
		return errorf(msgTypeMismatch)
	}

	return err
}

// insertRemoval adds a DELETE that took the last member of a set to the removals, in their
// order: DynamoDB has no empty sets.
func (u *Update) insertRemoval(removes []int, n int) []int {
	at, _ := slices.BinarySearchFunc(removes, n, func(a, b int) int {
		return u.actions[b].path.compare(u.actions[a].path)
	})

	// Cloned, because several goroutines may apply the update.
	return slices.Insert(slices.Clone(removes), at, n)
}

// reachable reports whether the item has the map or list that the path's last step is in.
func (p Path) reachable(item attr.Item) bool {
	if len(p) == 1 {
		return true
	}

	holder, ok := p[:len(p)-1].Lookup(item)
	if p[len(p)-1].List {
		return ok && holder.Kind == attr.L
	}

	return ok && holder.Kind == attr.M
}

// evaluate computes the action's new value from the item before the update. An Invalid value
// means that there is none: for REMOVE, or a DELETE that leaves nothing.
func (a action) evaluate(item attr.Item) (attr.Value, error) {
	switch a.section {
	case kSet:
		v, ok, err := a.value.updateOperand(item)
		if err == nil && !ok {
			err = errorf(msgNoAttribute)
		}

		// The value stands at the depth of its path.
		if err == nil && len(a.path)-1+v.Depth() > attr.MaxDepth {
			err = errorf(msgTooDeep)
		}

		if err != nil {
			return attr.Value{}, err
		}

		return v, nil
	case kAdd:
		return a.add(item)
	case kDelete:
		return a.deleteMembers(item)
	default:
		return attr.Value{}, nil
	}
}

// updateOperand evaluates the right side of a SET. ok is false for a path at which the item
// has no value.
func (n *node) updateOperand(item attr.Item) (v attr.Value, ok bool, err *Error) {
	switch n.op {
	case opPath:
		v, ok = n.path.Lookup(item)
		return v, ok, nil
	case opValue:
		return n.value, true, nil
	}

	left, ok, err := n.args[0].updateOperand(item)
	if err != nil {
		return left, false, err
	}

	if functionOf(n.text) == fnIfNotExists {
		// The second argument must have a value even if it is not needed.
		right, found, err := n.args[1].updateOperand(item)
		switch {
		case err != nil:
			return right, false, err
		case !found:
			return right, false, errorf(msgNoAttribute)
		case ok:
			return left, true, nil
		default:
			return right, true, nil
		}
	}

	want := attr.N
	if n.op == opCall {
		want = attr.L
	}

	if err := checkOperandKind(left, ok, want); err != nil {
		return left, false, err
	}

	right, ok, err := n.args[1].updateOperand(item)
	if err == nil {
		err = checkOperandKind(right, ok, want)
	}

	if err != nil {
		return right, false, err
	}

	if n.op == opCall {
		return attr.NewList(slices.Concat(left.List(), right.List())), true, nil
	}
	v, err = calculate(n.op, left, right)

	return v, true, err
}

func checkOperandKind(v attr.Value, ok bool, want attr.Kind) *Error {
	switch {
	case !ok:
		return errorf(msgNoAttribute)
	case v.Kind != want:
		return errorf(msgOperandType)
	default:
		return nil
	}
}

// calculate adds or subtracts two numbers.
func calculate(op op, a, b attr.Value) (attr.Value, *Error) {
	compute := attr.AddNumber
	if op == opMinus {
		compute = attr.SubNumber
	}

	text, err := compute(a.Str, b.Str)
	if err != nil {
		return a, &Error{err.Error()}
	}

	return attr.Value{Kind: attr.N, Str: text}, nil
}

// add computes the value of ADD: a sum, the union of two sets, or a longer list.
func (a action) add(item attr.Item) (attr.Value, error) {
	old, ok := a.path.Lookup(item)
	switch {
	case !ok:
		// A missing attribute counts as 0, or as an empty set or list.
		return a.value.value, nil
	case old.Kind != a.value.value.Kind:
		return old, errorf(msgOperandType)
	case old.Kind == attr.N:
		v, err := calculate(opPlus, old, a.value.value)
		if err != nil {
			return old, err
		}

		return v, nil
	case old.Kind == attr.L: // in AttributeUpdates only
		return attr.NewList(slices.Concat(old.List(), a.value.value.List())), nil
	}
	set := slices.Concat(old.Set(), a.value.value.Set())
	attr.SortSet(old.Kind, set)

	return attr.NewSortedSet(old.Kind, slices.Compact(set)), nil
}

// deleteMembers computes the value of DELETE: a set without the members of another.
func (a action) deleteMembers(item attr.Item) (attr.Value, error) {
	old, ok := a.path.Lookup(item)
	if !ok {
		return attr.Value{}, nil
	}

	if old.Kind != a.value.value.Kind {
		return old, errorf(msgOperandType)
	}
	gone := a.value.value.Set()

	left := slices.DeleteFunc(slices.Clone(old.Set()), func(m string) bool { return slices.Contains(gone, m) })
	if len(left) == 0 {
		return attr.Value{}, nil
	}

	return attr.NewSortedSet(old.Kind, left), nil
}
