package expression

import (
	"maps"
	"slices"

	"ratchet/embedded/internal/attr"
)

// edit is an item that is being changed. The maps and lists below it may be shared
// with the item as it was; each is then copied before it is written to, once.
type edit struct {
	item   attr.Item
	given  bool   // nothing is shared
	copied []Path // to the maps and lists that are the edit's own
}

// own reports whether what the path leads to is the edit's own, and takes it for that
// from now on.
func (e *edit) own(p Path) bool {
	if e.given || slices.ContainsFunc(e.copied, p.equal) {
		return true
	}
	e.copied = append(e.copied, p)

	return false
}

// set puts v at the path. An index behind the end of a list appends.
func (e *edit) set(p Path, v attr.Value) error {
	if len(p) == 1 {
		e.item[p[0].Name] = v
		return nil
	}

	held, ok := e.put(e.item[p[0].Name], p, 1, v)
	if !ok {
		return errorf(msgInvalidPath)
	}
	e.item[p[0].Name] = held

	return nil
}

// put returns holder, which the first n steps of the path lead to, with v where the
// rest of the path leads.
func (e *edit) put(holder attr.Value, p Path, n int, v attr.Value) (attr.Value, bool) {
	step := p[n]
	if n+1 < len(p) {
		child, ok := step.child(holder)
		if !ok {
			return holder, false
		}

		if v, ok = e.put(child, p, n+1, v); !ok {
			return holder, false
		}
	}

	switch {
	case !step.List && holder.Kind == attr.M:
		if !e.own(p[:n]) {
			holder.Map = maps.Clone(holder.Map)
		}

		if holder.Map == nil {
			holder.Map = attr.Item{}
		}
		holder.Map[step.Name] = v
	case step.List && holder.Kind == attr.L && step.Index < len(holder.List):
		if !e.own(p[:n]) {
			holder.List = slices.Clone(holder.List)
		}
		holder.List[step.Index] = v
	case step.List && holder.Kind == attr.L:
		holder.List = append(slices.Clip(holder.List), v)
	default:
		return holder, false
	}

	return holder, true
}

// remove takes away what is at the path, if anything is.
func (e *edit) remove(p Path) {
	if len(p) == 1 {
		delete(e.item, p[0].Name)
		return
	}

	if held, ok := e.item[p[0].Name]; ok {
		e.item[p[0].Name] = e.without(held, p, 1)
	}
}

// without returns holder, which the first n steps of the path lead to, without what
// the rest of the path leads to.
func (e *edit) without(holder attr.Value, p Path, n int) attr.Value {
	step := p[n]

	child, ok := step.child(holder)
	if !ok {
		return holder
	}

	switch {
	case n+1 < len(p):
		if next, ok := e.put(holder, p[:n+1], n, e.without(child, p, n+1)); ok {
			return next
		}
	case step.List:
		if !e.own(p[:n]) {
			holder.List = slices.Clone(holder.List)
		}
		holder.List = slices.Delete(holder.List, step.Index, step.Index+1)
	default:
		if !e.own(p[:n]) {
			holder.Map = maps.Clone(holder.Map)
		}
		delete(holder.Map, step.Name)
	}

	return holder
}
