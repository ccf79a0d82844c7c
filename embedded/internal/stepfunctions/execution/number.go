package execution

import (
	"math"
	"strconv"

	"ratchet/embedded/internal/stepfunctions/asl"
	"ratchet/embedded/internal/stepfunctions/rawjson"
)

// number returns an integer from the definition or, with the field's Path form, from the data.
func (t *turn) number(th *thread, field string, f asl.Seconds, in *Doc) (int64, error) {
	return t.integer(th, field, f, in, rawjson.Int)
}

// mapNumber is number for the fields of a Map, where the data may be a number in a string, too.
// Source: LocalStack's recordings of AWS (test_assign_reference_variables).
func (t *turn) mapNumber(th *thread, field string, f asl.Seconds, in *Doc) (int64, error) {
	return t.integer(th, field, f, in, func(v []byte) (int64, bool) { return rawjson.Int(plainText(v)) })
}

func (t *turn) integer(
	th *thread, field string, f asl.Seconds, in *Doc, read func(v []byte) (int64, bool),
) (int64, error) {
	if f.Query != nil {
		return t.queryNumber(th, field, f.Query, in)
	}

	if f.Path == nil {
		return f.Value, nil
	}

	v, err := f.Path.Evaluate(t.scope(th, in.JSON))
	if err != nil {
		return 0, t.invalidPath(th, f.Path, err)
	}

	n, ok := read(v)
	if !ok || n > math.MaxInt32 || n < math.MinInt32 {
		const cause = `The %sPath field refers to value "%s" which is not a valid integer: %s`

		return 0, t.runtimeFailure(th, cause, field, plainText(v), f.Path)
	}

	return n, nil
}

// percentage returns a number from 0 to 100 from the definition or from the data.
func (t *turn) percentage(th *thread, field string, f asl.Percentage, in *Doc) (float64, error) {
	if f.Query != nil {
		return t.queryPercentage(th, field, f.Query, in)
	}

	if f.Path == nil {
		return f.Value, nil
	}

	v, err := f.Path.Evaluate(t.scope(th, in.JSON))
	if err != nil {
		return 0, t.invalidPath(th, f.Path, err)
	}

	n, err := strconv.ParseFloat(string(plainText(v)), 64)
	if err != nil {
		const cause = `The %sPath field refers to value "%s" which is not a valid float: %s`

		return 0, t.runtimeFailure(th, cause, field, plainText(v), f.Path)
	}

	// Written so that NaN fails, too.
	if !(n >= 0 && n <= 100) {
		return 0, t.runtimeFailure(th, "%s must be between 0 and 100.", field)
	}

	return n, nil
}

// limit returns the time limit of a task in seconds, 0 for none.
func (t *turn) limit(th *thread, field string, f asl.Seconds, in *Doc) (int64, error) {
	n, err := t.number(th, field, f, in)
	if err == nil && f.Set && (n < 1 || n > maxWait) {
		return 0, t.dataFailure(th, field, "%s must be an integer from 1 to %d.", field, maxWait)
	}

	return n, err
}

// plainText returns a value in the form in which causes quote it: a string without its quotes.
func plainText(v []byte) []byte {
	if text, ok := rawjson.Text(v); ok {
		return []byte(text)
	}

	return v
}
