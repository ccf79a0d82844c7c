package execution

import (
	"strconv"

	"ratchet/embedded/internal/stepfunctions/asl"
	"ratchet/embedded/internal/stepfunctions/rawjson"
)

// A Map in JSONata evaluates its fields once, when it starts. Their values are a document in the history,
// to which the thread refers. Later steps, also after a crash or a redrive, do not evaluate the fields
// again. The members of the document are:
//
//	Items, maxConcurrency
//	BatchInput, MaxItemsPerBatch, MaxInputBytesPerBatch   with an ItemBatcher
//
// Only ItemSelector is evaluated later, when an iteration starts.

// prepareMap evaluates the fields of a Map in JSONata. It returns the items and the document.
func (t *turn) prepareMap(th *thread, s *asl.State, in *Doc) (items, prepared *Doc, err error) {
	if items, err = t.queryItems(th, s, in); err != nil {
		return nil, nil, err
	}

	limit, err := t.concurrency(th, s, in)
	if err != nil {
		return nil, nil, err
	}

	out := strconv.AppendInt([]byte(`{"MaxConcurrency":`), limit, 10)
	if s.Distributed != nil && s.Distributed.Batcher != nil {
		if out, err = t.appendBatcher(out, th, s.Distributed.Batcher, in); err != nil {
			return nil, nil, err
		}
	}

	out = append(append(out, `,"Items":`...), items.JSON...)

	return items, &Doc{JSON: append(out, '}')}, nil
}

// queryItems returns what a Map in JSONata iterates over.
func (t *turn) queryItems(th *thread, s *asl.State, in *Doc) (*Doc, error) {
	if s.Items == nil {
		if rawjson.KindOf(in.JSON) != rawjson.Array {
			return nil, t.queryError(th, "", "Map state input must be an array but was: %s", in.JSON)
		}

		return in, nil
	}

	scope := t.query(th, in)
	// A distributed Map takes an object, too, and the value decides.
	if s.Distributed != nil {
		items, err := t.evaluate(th, s.Items, scope)
		if err != nil {
			return nil, err
		}

		if rawjson.KindOf(items.JSON) == rawjson.Object {
			return items, nil
		}
	}

	v, err := s.Items.Query.EvaluateTo(rawjson.Array, scope, s.Items.Field)
	if err != nil {
		return nil, t.queryFailure(th, err)
	}

	return t.checkSize(th, v)
}

// appendBatcher appends the values of an ItemBatcher.
func (t *turn) appendBatcher(out []byte, th *thread, b *asl.Batcher, in *Doc) ([]byte, error) {
	items, bytes, err := t.batchLimits(th, b, in)
	if err != nil {
		return nil, err
	}

	out = strconv.AppendInt(append(out, `,"MaxItemsPerBatch":`...), items, 10)
	out = strconv.AppendInt(append(out, `,"MaxInputBytesPerBatch":`...), bytes, 10)

	if b.Input != nil {
		fixed, err := t.evaluate(th, b.Input, t.query(th, in))
		if err != nil {
			return nil, err
		}

		out = append(append(out, `,"BatchInput":`...), fixed.JSON...)
	}

	return out, nil
}

// prepared returns one of the values that a Map in JSONata has evaluated; nil if absent.
func (t *turn) prepared(th *thread, member string) ([]byte, error) {
	text, err := t.document(th.taskInput)
	if err != nil {
		return nil, err
	}

	v, _ := rawjson.Member(text, member)

	return v, nil
}

// preparedNumber is prepared for a number, 0 if absent.
func (t *turn) preparedNumber(th *thread, member string) (int64, error) {
	v, err := t.prepared(th, member)
	if v == nil || err != nil {
		return 0, err
	}

	n, _ := rawjson.Int(v)

	return n, nil
}
