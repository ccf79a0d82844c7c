package execution

import (
	"errors"

	"ratchet/embedded/internal/stepfunctions/asl"
	"ratchet/embedded/internal/stepfunctions/rawjson"
)

// fork starts the branches of a Parallel.
func (t *turn) fork(th *thread, s *asl.State, in *Doc) error {
	input, err := t.fill(th, s.Parameters, in)
	if err != nil {
		return err
	}
	t.on(th, Event{Type: ParallelStateStarted})

	n := len(s.Branches)
	th.phase, th.next, th.running, th.results = joining, n, n, make([]Ref, n)
	for i, branch := range s.Branches {
		t.work = append(t.work, item{t.spawn(th, i, branch.Start), input, true})
	}

	return nil
}

// mapOut starts the first iterations of a Map.
func (t *turn) mapOut(th *thread, s *asl.State, in *Doc) error {
	items, err := t.items(th, s, in)
	if err != nil {
		return err
	}
	n := rawjson.Len(items.JSON)
	t.on(th, Event{Type: MapStateStarted, Index: n})

	th.phase, th.next, th.running, th.results = joining, 0, 0, make([]Ref, n)
	if n == 0 {
		return t.joined(th, th.last)
	}

	return t.iterate(th, s, in, items)
}

// iterate starts iterations as far as the concurrency allows.
func (t *turn) iterate(th *thread, s *asl.State, in, items *Doc) error {
	limit, err := t.seconds(th, s.MaxConcurrency, in, 0)
	if err != nil {
		return err
	}

	if limit == 0 || limit > MaxConcurrency {
		limit = MaxConcurrency
	}

	for th.next < len(th.results) && int64(th.running) < limit && !t.exhausted {
		doc, err := t.iteration(th, s, in, items, th.next)
		if err != nil {
			return err
		}
		child := t.spawn(th, th.next, s.Branches[0].Start)
		child.last = t.record(Event{Type: MapIterationStarted, Prev: th.last, State: th.state, Index: th.next})
		t.work = append(t.work, item{child, doc, true})
		th.next++
		th.running++
	}

	return nil
}

// items is the array that a Map goes through.
func (t *turn) items(th *thread, s *asl.State, in *Doc) (*Doc, error) {
	items, err := t.pick(th, s.ItemsPath, in)
	if err != nil {
		return nil, err
	}

	if rawjson.KindOf(items.JSON) != rawjson.Array {
		return nil, t.fault(th, "Reference path \"%s\" must point to array.", pathText(s.ItemsPath))
	}

	return items, nil
}

func pathText(f asl.PathField) string {
	if f.Path == nil {
		return "$"
	}
	return f.Path.String()
}

// iteration is the input of one iteration.
func (t *turn) iteration(th *thread, s *asl.State, in, items *Doc, index int) (*Doc, error) {
	value, _ := rawjson.Element(items.JSON, index)
	if s.ItemSelector == nil {
		return &Doc{JSON: value}, nil
	}
	scope := t.scope(th, in.JSON)
	scope.Context = func() []byte { return t.contextWith(th, index, value) }

	v, err := s.ItemSelector.Evaluate(scope)
	if err != nil {
		return nil, t.templateFault(th, in, err)
	}

	return t.bounded(th, v)
}

// childInput computes again what a branch or iteration starts with.
func (t *turn) childInput(th *thread, index int) (*Doc, error) {
	s := t.state(th)

	raw, err := t.raw(th)
	if err != nil {
		return nil, err
	}

	in, err := t.pick(th, s.InputPath, raw)
	if err != nil {
		return nil, err
	}

	if s.Kind == asl.Parallel {
		return t.fill(th, s.Parameters, in)
	}

	items, err := t.items(th, s, in)
	if err != nil {
		return nil, err
	}

	return t.iteration(th, s, in, items, index)
}

// join ends a branch or iteration and, with the last one, its parent's state.
func (t *turn) join(child *thread, out *Doc) error {
	parent := t.s.thread(child.parent)
	s := t.state(parent)
	parent.results[child.index] = out.Ref
	parent.running--
	last := child.last
	t.remove(child)

	if s.Kind == asl.Map {
		last = t.record(Event{Type: MapIterationSucceeded, Prev: last, State: parent.state, Index: child.index})
	}

	var err error
	switch {
	case parent.next < len(parent.results):
		err = t.more(parent, s)
	case parent.running == 0:
		err = t.joined(parent, last)
	}

	var f *failure
	if errors.As(err, &f) {
		t.fail(parent, f) // the parent's failure, not the child's
		return nil
	}

	return err
}

// more starts further iterations after one has ended.
func (t *turn) more(th *thread, s *asl.State) error {
	raw, err := t.raw(th)
	if err != nil {
		return err
	}

	in, err := t.pick(th, s.InputPath, raw)
	if err != nil {
		return err
	}

	items, err := t.items(th, s, in)
	if err != nil {
		return err
	}

	return t.iterate(th, s, in, items)
}

// joined gathers the outputs of a Parallel or Map and completes it.
func (t *turn) joined(th *thread, last int64) error {
	out := []byte{'['}
	for i, ref := range th.results {
		v, err := t.document(ref)
		if err != nil {
			return err
		}

		if i > 0 {
			out = append(out, ',')
		}
		out = append(out, v...)
	}

	result, err := t.bounded(th, append(out, ']'))
	if err != nil {
		return err
	}

	raw, err := t.raw(th)
	if err != nil {
		return err
	}

	th.last = last
	event := ParallelStateSucceeded
	if t.state(th).Kind == asl.Map {
		event = MapStateSucceeded
	}
	t.on(th, Event{Type: event})

	return t.complete(th, raw, result)
}
