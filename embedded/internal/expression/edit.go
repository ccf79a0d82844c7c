package expression

import (
	"maps"
	"slices"

	"ratchet/embedded/internal/attr"
)

// edit changes an item. The maps and lists in the item may be shared with the item before
// the update; the edit copies each of them once, before it first writes to it.
type edit struct {
	item      attr.Item
	exclusive bool   // nothing is shared
	creates   bool   // there was no item
	copied    []Path // to the maps and lists that were copied
}

// claim reports whether the edit may write to the map or list at the path. If not, the
// caller must copy it, and later calls report true.
func (e *edit) claim(p Path) bool {
	if e.exclusive || slices.ContainsFunc(e.copied, p.equal) {
		return true
	}
	e.copied = append(e.copied, p)

	return false
}

// set sets the value at the path. An index beyond the end of a list appends.
func (e *edit) set(p Path, v attr.Value) error {
	if len(p) == 1 {
		e.item[p[0].Name] = v
		return nil
	}

	held, ok := e.setIn(e.item[p[0].Name], p, 1, v)
	if !ok {
		return errorf(msgInvalidPath)
	}
	e.item[p[0].Name] = held

	return nil
}

// setIn sets v at the path and returns the new holder. holder is the value at the first n steps of
// the path.
func (e *edit) setIn(holder attr.Value, p Path, n int, v attr.Value) (attr.Value, bool) {
	step := p[n]
	if n+1 < len(p) {
		child, ok := step.child(holder)
		if !ok {
			return holder, false
		}

		if v, ok = e.setIn(child, p, n+1, v); !ok {
			return holder, false
		}
	}

	switch {
	case !step.List && holder.Kind == attr.M:
		if !e.claim(p[:n]) {
			holder.Map = maps.Clone(holder.Map)
		}

		// An empty map may be nil, and then its clone is nil, too.
		if holder.Map == nil {
			holder.Map = attr.Item{}
		}
		holder.Map[step.Name] = v
	case step.List && holder.Kind == attr.L && step.Index < len(holder.List()):
		if !e.claim(p[:n]) {
			holder = attr.NewList(slices.Clone(holder.List()))
		}
		holder.List()[step.Index] = v
	case step.List && holder.Kind == attr.L:
		// No claim is needed: Clip leaves append no room, so that append copies the list.
		holder = attr.NewList(append(slices.Clip(holder.List()), v))
	default:
		return holder, false
	}

	return holder, true
}

// remove removes the value at the path, if there is one.
func (e *edit) remove(p Path) {
	if len(p) == 1 {
		delete(e.item, p[0].Name)
		return
	}

	if held, ok := e.item[p[0].Name]; ok {
		e.item[p[0].Name] = e.removeIn(held, p, 1)
	}
}

// removeIn removes the value at the path and returns the new holder. holder is the value at the
// first n steps of the path.
func (e *edit) removeIn(holder attr.Value, p Path, n int) attr.Value {
	step := p[n]

	child, ok := step.child(holder)
	if !ok {
		return holder
	}

	switch {
	case n+1 < len(p):
		// The changed child takes its own place in the holder.
		if next, ok := e.setIn(holder, p[:n+1], n, e.removeIn(child, p, n+1)); ok {
			return next
		}
	case step.List:
		list := holder.List()
		if !e.claim(p[:n]) {
			list = slices.Clone(list)
		}
		holder = attr.NewList(slices.Delete(list, step.Index, step.Index+1))
	default:
		if !e.claim(p[:n]) {
			holder.Map = maps.Clone(holder.Map)
		}
		delete(holder.Map, step.Name)
	}

	return holder
}
