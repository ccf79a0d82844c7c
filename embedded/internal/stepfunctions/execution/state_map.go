package execution

import (
	"fmt"
	"strings"
	"time"

	"ratchet/embedded/internal/stepfunctions/asl"
	"ratchet/embedded/internal/stepfunctions/rawjson"
)

// startMap starts the first iterations of a Map.
func (t *turn) startMap(th *thread, s *asl.State, in *Doc) error {
	items, err := t.beginMap(th, s, in)
	if err != nil || t.exhausted {
		return err
	}

	n := len(th.results)

	th.phase, th.next, th.running = joining, 0, 0
	if n == 0 {
		return t.completeJoin(th, th.last)
	}

	return t.startIterations(th, s, in, items, th.last)
}

// beginMap records the start of a Map with its items and makes room for their results.
func (t *turn) beginMap(th *thread, s *asl.State, in *Doc) (items *Doc, err error) {
	var prepared *Doc
	if s.JSONata {
		items, prepared, err = t.prepareMap(th, s, in)
	} else {
		items, err = t.mapItems(th, s, in)
		if err == nil {
			// concurrency is called for its failure only: a bad maxConcurrency must fail the
			// Map before it starts.
			_, err = t.concurrency(th, s, in)
		}
	}

	if err != nil {
		return nil, err
	}

	n := rawjson.Len(items.JSON)
	t.recordOn(th, Event{Type: MapStateStarted, Index: n, Doc: prepared})

	if prepared != nil {
		th.taskInput = prepared.Ref
	}

	// The results of a distributed Map are the outputs of its child executions.
	if s.Distributed == nil {
		th.results = make([]Ref, n)
	}

	return items, nil
}

// startIterations starts iterations up to the state's concurrency. prev is the event that they
// follow: the Map's start, or the last one of the iteration whose place they take.
// Source: LocalStack's recordings of AWS (test_assign_reference_variables, test_base_scenarios).
func (t *turn) startIterations(th *thread, s *asl.State, in, items *Doc, prev int64) error {
	limit, err := t.mapConcurrency(th, s, in)
	if err != nil {
		return err
	}

	// Without a place in the history, an iteration could not record its start.
	for th.next < len(th.results) && int64(th.running) < limit && !t.exhausted {
		doc, err := t.iterationInput(th, s, in, items, th.next)
		if err != nil {
			return err
		}

		child := t.spawn(th, th.next, s.Branches[0].Start)
		child.last = t.record(Event{Type: MapIterationStarted, Prev: prev, State: th.state, Index: th.next})
		t.work = append(t.work, workItem{th: child, doc: doc, enter: true})
		th.next++
		th.running++
	}

	return nil
}

// concurrency returns maxConcurrency, 0 for the default.
func (t *turn) concurrency(th *thread, s *asl.State, in *Doc) (int64, error) {
	limit, err := t.mapNumber(th, "MaxConcurrency", s.MaxConcurrency, in)
	if err == nil && limit < 0 {
		return 0, t.dataFailure(th, "MaxConcurrency", "MaxConcurrency cannot be negative.")
	}

	return limit, err
}

// mapConcurrency returns how many iterations of an inline Map run at a time.
func (t *turn) mapConcurrency(th *thread, s *asl.State, in *Doc) (int64, error) {
	limit, err := int64(0), error(nil)
	if s.JSONata {
		limit, err = t.preparedNumber(th, "MaxConcurrency")
	} else {
		limit, err = t.concurrency(th, s, in)
	}

	if limit == 0 || limit > maxConcurrency {
		limit = maxConcurrency
	}

	return limit, err
}

// continueMap starts further iterations after one has ended. prev
// is the last event of the ended iteration.
func (t *turn) continueMap(th *thread, s *asl.State, prev int64) error {
	in, items, err := t.mapInput(th)
	if err != nil {
		return err
	}

	return t.startIterations(th, s, in, items, prev)
}

// mapInput computes once more the input of a Map, as its InputPath selects it, and the items in it.
func (t *turn) mapInput(th *thread) (in, items *Doc, err error) {
	if in, err = t.effectiveInput(th); err != nil {
		return nil, nil, err
	}

	if s := t.state(th); !s.JSONata {
		items, err = t.mapItems(th, s, in)
		return in, items, err
	}

	v, err := t.prepared(th, "Items")

	return in, &Doc{JSON: v}, err
}

// mapItems returns the array over which a Map iterates. A distributed one takes an object, too.
// Source: https://docs.aws.amazon.com/step-functions/latest/dg/state-map-distributed.html
func (t *turn) mapItems(th *thread, s *asl.State, in *Doc) (*Doc, error) {
	items, err := t.selectPath(th, s.ItemsPath, in)
	if err != nil {
		return nil, err
	}

	kind := rawjson.KindOf(items.JSON)
	if kind != rawjson.Array && (s.Distributed == nil || kind != rawjson.Object) {
		return nil, t.notAnArray(th, pathText(s.ItemsPath))
	}

	return items, nil
}

// notAnArray is the failure of an ItemsPath. TestState leaves out where the state was entered,
// and one $ of a path into the context object.
// Source: LocalStack's recordings of AWS (test_state_map_context_object).
func (t *turn) notAnArray(th *thread, path string) *failure {
	const text = "Reference path \"%s\" must point to array."
	if t.env.Inspect == nil {
		return t.runtimeFailure(th, text, path)
	}

	if strings.HasPrefix(path, "$$") {
		path = path[1:]
	}

	return &failure{name: runtimeError, cause: fmt.Sprintf(text, path)}
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

	return t.selectItem(th, s, in, item{index: index, value: value})
}

// item is one item over which a Map iterates.
type item struct {
	index int
	key   []byte // quoted; nil in an array
	value []byte
}

// itemOf returns the item under a cursor.
func itemOf(c *rawjson.Cursor, index int) item { return item{index, c.Key, c.Value} }

// document returns the input of an iteration without an ItemSelector: the item without spaces.
// Source: LocalStack's recordings of AWS (test_base_scenarios, test_map_state_nested and
// test_map_state_config_inline_parameters).
func (i item) document() []byte {
	if i.key == nil {
		return rawjson.AppendCompact(nil, i.value)
	}

	out := append([]byte(`{"Key":`), i.key...)
	out = rawjson.AppendCompact(append(out, `,"Value":`...), i.value)

	return append(out, '}')
}

// selectItem returns the input of the iteration of an item.
func (t *turn) selectItem(th *thread, s *asl.State, in *Doc, i item) (*Doc, error) {
	if s.ItemSelector == nil {
		return &Doc{JSON: i.document()}, nil
	}

	// The selectors of a Map's items run in one turn, and each has the time of a field.
	if time.Since(t.began) > maxSelection {
		return nil, t.dataFailure(th, "ItemSelector", "The items of the state take longer than %v to select.", maxSelection)
	}

	// ItemSelector sees the item in the context object before its thread exists.
	context := func() []byte { return t.contextWith(th, &i) }
	if s.JSONata {
		scope := t.query(th, in)
		scope.Context = context

		return t.evaluate(th, s.ItemSelector, scope)
	}

	scope := t.scope(th, in.JSON)
	scope.Context = context

	v, err := s.ItemSelector.Path.Evaluate(scope)
	if err != nil {
		return nil, t.expressionFailure(th, in, err)
	}

	return t.checkSize(th, rawjson.AppendCompact(nil, v))
}

// mapItem returns the array element of an iteration, for the context object. It computes
// the array again from the Map's input.
func (t *turn) mapItem(th *thread, index int) []byte {
	_, items, err := t.mapInput(th)
	if err == nil {
		v, _ := rawjson.Element(items.JSON, index)
		return v
	}

	// As in input: the error waits in the turn.
	if t.err == nil {
		t.err = err
	}

	return []byte("null")
}
