package execution

import (
	"errors"

	"ratchet/embedded/internal/stepfunctions/asl"
	"ratchet/embedded/internal/stepfunctions/rawjson"
)

// startMapRun lets a distributed Map wait for a new Map Run, which runs its iterations as
// executions of their own.
func (t *turn) startMapRun(th *thread, s *asl.State, in *Doc) error {
	items, err := t.beginMap(th, s, in)
	if err != nil || t.exhausted {
		return err
	}

	run := MapRun{Thread: th.id, Map: th.state, Items: int64(rawjson.Len(items.JSON))}
	if run.Concurrency, err = t.runConcurrency(th, s, in); err != nil {
		return err
	}

	if run.ToleratedCount, err = t.mapNumber(th, "ToleratedFailureCount", s.Distributed.ToleratedCount, in); err != nil {
		return err
	}

	if run.ToleratedCount < 0 {
		return t.dataFailure(th, "ToleratedFailureCount", "ToleratedFailureCount cannot be negative.")
	}

	run.ToleratedPercentage, err = t.percentage(th, "ToleratedFailurePercentage", s.Distributed.ToleratedPercentage, in)
	if err != nil {
		return err
	}

	if run.BatchItems, _, err = t.runBatchLimits(th, s, in); err != nil || t.exhausted {
		return err
	}

	// NewRun comes last, so that a Map that fails takes no number.
	if run.Run, run.Name, err = t.env.NewRun(s); err != nil {
		return err
	}

	t.recordOn(th, Event{Type: MapRunStarted, Worker: run.Name})

	th.phase, th.run, th.runName, th.runRedrives = mapping, run.Run, run.Name, 0
	t.runs = append(t.runs, run)

	return nil
}

// batchLimits returns how many items a child gets at most, and how many bytes of input.
func (t *turn) batchLimits(th *thread, b *asl.Batcher, in *Doc) (items, bytes int64, err error) {
	if b == nil {
		return 1, MaxDocument, nil
	}

	for _, limit := range []struct {
		field string
		from  asl.Seconds
		to    *int64
	}{
		{field: "MaxItemsPerBatch", from: b.Items, to: &items},
		{field: "MaxInputBytesPerBatch", from: b.Bytes, to: &bytes},
	} {
		if *limit.to, err = t.mapNumber(th, limit.field, limit.from, in); err != nil {
			return 0, 0, err
		}

		if limit.from.Set && *limit.to < 1 {
			return 0, 0, t.dataFailure(th, limit.field, "%s must be a positive integer.", limit.field)
		}
	}

	// A limit of 0 is not set. The size of a document always holds.
	if bytes == 0 || bytes > MaxDocument {
		bytes = MaxDocument
	}

	return items, bytes, nil
}

// runConcurrency returns maxConcurrency of a Map that has begun.
func (t *turn) runConcurrency(th *thread, s *asl.State, in *Doc) (int64, error) {
	if s.JSONata {
		return t.preparedNumber(th, "MaxConcurrency")
	}

	return t.concurrency(th, s, in)
}

// runBatchLimits is batchLimits for a Map that has begun.
func (t *turn) runBatchLimits(th *thread, s *asl.State, in *Doc) (items, bytes int64, err error) {
	if !s.JSONata || s.Distributed.Batcher == nil {
		return t.batchLimits(th, s.Distributed.Batcher, in)
	}

	if items, err = t.preparedNumber(th, "MaxItemsPerBatch"); err != nil {
		return 0, 0, err
	}

	bytes, err = t.preparedNumber(th, "MaxInputBytesPerBatch")

	return items, bytes, err
}

// batchInput returns the BatchInput of a Map that has begun, nil for none.
func (t *turn) batchInput(th *thread, s *asl.State, in *Doc) ([]byte, error) {
	switch input := s.Distributed.Batcher.Input; {
	case input == nil:
		return nil, nil
	case s.JSONata:
		return t.prepared(th, "BatchInput")
	default:
		fixed, err := t.applyTemplate(th, input.Path, in)
		if err != nil {
			return nil, err
		}

		return fixed.JSON, nil
	}
}

// MapCursor is the place of the next item of a distributed Map: its index, and the end of the previous
// item in the JSON of the items.
type MapCursor struct{ Item, At int }

// MapInput is the input of one child of a distributed Map.
type MapInput struct {
	JSON  []byte
	Items int64
	// Next is the place after it.
	Next MapCursor
}

// MapInputs calls yield with the inputs of the children of a Map Run from a place on, until yield returns
// false or no item is left. A repeated call yields the same values unless the ItemSelector reads the time
// or draws random numbers. MapInputs fails with ErrNotScheduled when the state no longer waits for the Map
// Run, and returns the failure of an input that cannot be made.
func (e *Env) MapInputs(
	s *State, id int64, run uint64, redrives int64, from MapCursor, yield func(MapInput) bool,
) (*CallFailure, error) {
	th := s.mapping(id, run, redrives)
	if th == nil {
		return nil, ErrNotScheduled
	}

	t := e.turn(s)
	err := t.mapInputs(th, from, yield)

	var f *failure
	// A failure of the workflow is an answer here. The caller fails the Map Run with it.
	if errors.As(err, &f) {
		return &CallFailure{Name: f.name, Cause: f.cause}, t.err
	}

	return nil, errors.Join(err, t.err)
}

func (t *turn) mapInputs(th *thread, from MapCursor, yield func(MapInput) bool) error {
	s := t.state(th)

	in, items, err := t.mapInput(th)
	if err != nil {
		return err
	}

	b, err := t.newBatch(th, s, in)
	if err != nil {
		return err
	}

	place := from
	// The walk begins at the place itself: the items before it are not read again.
	for c := rawjson.WalkFrom(items.JSON, from.At); c.Next(); {
		selected, err := t.selectItem(th, s, in, itemOf(&c, place.Item))
		if err != nil {
			return err
		}

		if !b.batches {
			place = MapCursor{place.Item + 1, c.Offset()}
			if !yield(MapInput{selected.JSON, 1, place}) {
				return nil
			}

			continue
		}

		// place is the place of this item, with which the next batch begins.
		if b.full(selected.JSON) {
			if !yield(b.close(place)) {
				return nil
			}
		}

		b.add(selected.JSON)
		place = MapCursor{place.Item + 1, c.Offset()}

		// An item may be too large for any batch.
		if _, err := t.checkSize(th, append(b.text, batchEnd...)); err != nil {
			return err
		}
	}

	if b.items > 0 {
		yield(b.close(place))
	}

	return nil
}

// batch is the input of a child that is being filled with items.
type batch struct {
	batches         bool   // false without an ItemBatcher
	begin           string // of each input, up to the first item
	maxItems, bytes int64
	text            []byte
	items           int64
}

func (t *turn) newBatch(th *thread, s *asl.State, in *Doc) (*batch, error) {
	if s.Distributed.Batcher == nil {
		return &batch{}, nil
	}

	b := &batch{batches: true, begin: `{"Items":[`}

	var err error
	if b.maxItems, b.bytes, err = t.runBatchLimits(th, s, in); err != nil {
		return nil, err
	}

	fixed, err := t.batchInput(th, s, in)
	if fixed != nil {
		b.begin = `{"BatchInput":` + string(fixed) + `,"Items":[`
	}

	return b, err
}

// batchEnd ends the input of a child after its last item.
const batchEnd = "]}"

// full reports whether an item has to go into the next batch. A batch has at least one.
func (b *batch) full(item []byte) bool {
	size := int64(len(b.text) + len(",") + len(item) + len(batchEnd))

	return b.items > 0 && (b.items == b.maxItems || size > b.bytes)
}

func (b *batch) add(item []byte) {
	if b.items == 0 {
		b.text = append(b.text, b.begin...)
	} else {
		b.text = append(b.text, ',')
	}

	b.text = append(b.text, item...)
	b.items++
}

// close returns the input with the batch, and begins another one.
func (b *batch) close(next MapCursor) MapInput {
	in := MapInput{JSON: append(b.text, batchEnd...), Items: b.items, Next: next}
	b.text, b.items = nil, 0

	return in
}
