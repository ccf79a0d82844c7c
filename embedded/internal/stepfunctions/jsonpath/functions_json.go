package jsonpath

import (
	"errors"

	"ratchet/embedded/internal/stepfunctions/rawjson"
)

func jsonMerge(s *Scope, _ *call, a [][]byte) ([]byte, error) {
	if rawjson.KindOf(a[0]) != rawjson.Object || rawjson.KindOf(a[1]) != rawjson.Object {
		return nil, errors.New("the first two arguments must be objects")
	}

	if rawjson.KindOf(a[2]) != rawjson.Bool || rawjson.True(a[2]) {
		return nil, errors.New("the third argument must be false: only shallow merging is supported")
	}

	// The names of the second object are in a map for a while.
	if !s.Meter.make(2 * len(a[1])) {
		return nil, s.Meter.err
	}

	return rawjson.Merge(a[0], a[1]), nil
}

func jsonToString(_ *Scope, _ *call, a [][]byte) ([]byte, error) {
	return rawjson.AppendBytes(nil, rawjson.AppendCompact(nil, a[0])), nil
}
