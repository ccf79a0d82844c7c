package execution

import (
	"math"
	"slices"
	"strconv"

	"ratchet/embedded/internal/stepfunctions/asl"
	"ratchet/embedded/internal/stepfunctions/rawjson"
)

// Mock is the answer of the Map or Parallel under test, in the place of its flows.
type Mock struct {
	Result []byte
	Failed *CallFailure // nil for a Result
	// Failures is how many iterations of a Map have failed.
	Failures int64
}

// mockParallel ends a Parallel with the mock.
func (t *turn) mockParallel(th *thread, s *asl.State, in *Doc) error {
	// The payload is applied for its failure only: the mock does not use the value.
	if _, err := t.applyPayload(th, s.Parameters, in); err != nil {
		return err
	}

	return t.mocked(th)
}

// mockMap evaluates the fields of a Map and ends it with the mock.
func (t *turn) mockMap(th *thread, s *asl.State, in *Doc) error {
	items, err := t.mockItems(th, s, in)
	if err != nil {
		return err
	}

	limit, err := t.concurrency(th, s, in)
	if err != nil {
		return err
	}

	t.inspectNumber("maxConcurrency", strconv.FormatInt(limit, 10))

	n := rawjson.Len(items.JSON)
	t.inspectNumber("iterations", strconv.Itoa(n))

	exceeded, err := t.mockTolerance(th, s, in, n)
	if err != nil {
		return err
	}

	// The tolerance counts the iterations that the test declares as failed.
	if exceeded && t.env.Mock.Failed == nil {
		f := ToleranceExceeded()
		return &failure{name: f.Name, cause: f.Cause}
	}

	return t.mocked(th)
}

// mockItems returns the items of a Map. It also evaluates the inputs of all iterations, although none
// runs, up to the size of a document: TestState shows no text that is longer.
func (t *turn) mockItems(th *thread, s *asl.State, in *Doc) (items *Doc, err error) {
	if s.JSONata {
		items, err = t.queryItems(th, s, in)
	} else if items, err = t.mapItems(th, s, in); err == nil {
		t.inspect("afterItemsPath", items)
	}

	if err != nil || s.ItemSelector == nil {
		return items, err
	}

	inputs := []byte{'['}
	for c, i := rawjson.Walk(items.JSON), 0; c.Next(); i++ {
		input, err := t.selectItem(th, s, in, itemOf(&c, i))
		if err != nil {
			return nil, err
		}

		if i > 0 {
			inputs = append(inputs, ',')
		}

		if inputs = append(inputs, input.JSON...); len(inputs) >= MaxDocument {
			return items, nil
		}
	}

	t.inspect("afterItemSelector", &Doc{JSON: append(inputs, ']')})

	return items, nil
}

// mockTolerance reports whether more than the tolerated iterations of n have failed. A Map
// without a tolerance of its own tolerates all of them.
// Source: LocalStack's recordings of AWS (test_map_state_failure_count[BASE_MAP_STATE]).
func (t *turn) mockTolerance(th *thread, s *asl.State, in *Doc, n int) (exceeded bool, err error) {
	d, failures := s.Distributed, t.env.Mock.Failures
	if d == nil {
		return false, nil
	}

	count, err := t.mapNumber(th, "ToleratedFailureCount", d.ToleratedCount, in)
	if err != nil {
		return false, err
	}

	if count < 0 {
		return false, t.dataFailure(th, "ToleratedFailureCount", "ToleratedFailureCount cannot be negative.")
	}

	percentage, err := t.percentage(th, "ToleratedFailurePercentage", d.ToleratedPercentage, in)
	if err != nil {
		return false, err
	}

	if d.ToleratedCount.Set {
		t.inspectNumber("toleratedFailureCount", strconv.FormatInt(count, 10))
		exceeded = failures > count
	}

	if percentage > 0 {
		t.inspectNumber("toleratedFailurePercentage", floatText(percentage))
		exceeded = exceeded || float64(failures)*100 > percentage*float64(n)
	}

	return exceeded, nil
}

// floatText writes a number as the service does: a whole one ends with ".0".
func floatText(v float64) string {
	if v == math.Trunc(v) {
		return strconv.FormatFloat(v, 'f', 1, 64)
	}

	return strconv.FormatFloat(v, 'f', -1, 64)
}

// mocked ends the state with the mock.
func (t *turn) mocked(th *thread) error {
	if f := t.env.Mock.Failed; f != nil {
		return &failure{name: f.Name, cause: f.Cause}
	}

	raw, err := t.rawInput(th)
	if err != nil {
		return err
	}

	return t.complete(th, raw, &Doc{JSON: t.env.Mock.Result})
}

// inspectNumber is inspect for a number.
func (t *turn) inspectNumber(field, text string) { t.inspect(field, &Doc{JSON: []byte(text)}) }

// inspectHandler tells which Retry or Catch the failure of a state matches.
func (t *turn) inspectHandler(th *thread, f *failure) {
	if t.env.Inspect == nil {
		return
	}

	s := t.state(th)
	if i := t.matchRetrier(th, f); i >= 0 {
		t.inspectNumber("retryIndex", strconv.Itoa(i))

		if t.findRetrier(th, f) >= 0 {
			t.inspectNumber("retryBackoffIntervalSeconds", strconv.FormatInt(int64(t.interval(th, i)), 10))
			return
		}
	}

	if i := slices.IndexFunc(s.Catch, func(c asl.Catcher) bool { return f.matches(c.ErrorEquals) }); i >= 0 {
		t.inspectNumber("catchIndex", strconv.Itoa(i))
	}
}
