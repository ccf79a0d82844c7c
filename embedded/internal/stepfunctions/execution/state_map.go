package execution

import (
	"ratchet/embedded/internal/stepfunctions/asl"
	"ratchet/embedded/internal/stepfunctions/rawjson"
)

// startMap starts the first iterations of a Map.
func (t *turn) startMap(th *thread, s *asl.State, in *Doc) error {
	items, err := t.mapItems(th, s, in)
	if err != nil {
		return err
	}

	n := rawjson.Len(items.JSON)
	t.recordOn(th, Event{Type: MapStateStarted, Index: n})

	th.phase, th.next, th.running, th.results = joining, 0, 0, make([]Ref, n)
	if n == 0 {
		return t.completeJoin(th, th.last)
	}

	return t.startIterations(th, s, in, items)
}

// startIterations starts iterations up to the state's concurrency.
func (t *turn) startIterations(th *thread, s *asl.State, in, items *Doc) error {
	limit, err := t.seconds(th, s.MaxConcurrency, in, 0)
	if err != nil {
		return err
	}

	if limit == 0 || limit > MaxConcurrency {
		limit = MaxConcurrency
	}

	for th.next < len(th.results) && int64(th.running) < limit && !t.exhausted {
		doc, err := t.iterationInput(th, s, in, items, th.next)
		if err != nil {
			return err
		}

		child := t.spawn(th, th.next, s.Branches[0].Start)
		child.last = t.record(Event{Type: MapIterationStarted, Prev: t.s.LastEvent, State: th.state, Index: th.next})
		t.work = append(t.work, workItem{th: child, doc: doc, enter: true})
		th.next++
		th.running++
	}

	return nil
}

// continueMap starts further iterations after one has ended.
func (t *turn) continueMap(th *thread, s *asl.State) error {
	raw, err := t.rawInput(th)
	if err != nil {
		return err
	}

	in, err := t.selectPath(th, s.InputPath, raw)
	if err != nil {
		return err
	}

	items, err := t.mapItems(th, s, in)
	if err != nil {
		return err
	}

	return t.startIterations(th, s, in, items)
}

// mapItems returns the array over which a Map iterates.
func (t *turn) mapItems(th *thread, s *asl.State, in *Doc) (*Doc, error) {
	items, err := t.selectPath(th, s.ItemsPath, in)
	if err != nil {
		return nil, err
	}

	if rawjson.KindOf(items.JSON) != rawjson.Array {
		return nil, t.runtimeFailure(th, "Reference path \"%s\" must point to array.", pathText(s.ItemsPath))
	}

	return items, nil
}

func pathText(f asl.PathField) string {
	if f.Path == nil {
		return "$"
	}

	return f.Path.String()
}

// iterationInput returns the input of one iteration.
func (t *turn) iterationInput(th *thread, s *asl.State, in, items *Doc, index int) (*Doc, error) {
	value, _ := rawjson.Element(items.JSON, index)
	if s.ItemSelector == nil {
		return &Doc{JSON: value}, nil
	}

	// ItemSelector sees the item in the context object before its thread exists.
	scope := t.scope(th, in.JSON)
	scope.Context = func() []byte { return t.contextWith(th, index, value) }

	v, err := s.ItemSelector.Evaluate(scope)
	if err != nil {
		return nil, t.expressionFailure(th, in, err)
	}

	return t.checkSize(th, v)
}

// mapItem returns the array element of an iteration, for the context object. It computes
// the array again from the Map's input.
func (t *turn) mapItem(th *thread, index int) []byte {
	s := t.state(th)
	raw, err := t.rawInput(th)
	if err == nil {
		var in *Doc
		if in, err = t.selectPath(th, s.InputPath, raw); err == nil {
			if in, err = t.mapItems(th, s, in); err == nil {
				v, _ := rawjson.Element(in.JSON, index)
				return v
			}
		}
	}

	if t.err == nil {
		t.err = err
	}

	return []byte("null")
}
