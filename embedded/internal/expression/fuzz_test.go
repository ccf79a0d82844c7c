package expression

import (
	"bytes"
	"errors"
	"fmt"
	"testing"

	"ratchet/embedded/internal/attr"
)

// seeds gives the fuzzer the recorded expressions to start from.
func seeds(f *testing.F) vendorAnswers {
	f.Helper()

	var all vendorAnswers
	for _, file := range []string{"conditions.json", "updates.json", "projections.json", "keyconditions.json"} {
		all = readAnswers(f, file)
		for n, row := range all.Rows {
			if n%5 == 0 {
				f.Add(row.Expression)
			}
		}
	}
	// A value that is copied to a second place must not change at both.
	f.Add("SET b = m, m.x = :s")
	all = readAnswers(f, "updates.json")

	return all
}

// FuzzParse feeds every parser. No parser may panic, every refusal is an *Error, and everything
// that parses can be evaluated without a change of the item.
func FuzzParse(f *testing.F) {
	v := seeds(f)
	before := string(attr.AppendBinary(nil, v.Item))
	f.Fuzz(func(t *testing.T, src string) {
		again(t, v, src)

		if c, err := ParseCondition("FilterExpression", src, v.params(src)); parsed(t, err) {
			if _, err := c.Match(v.Item); err != nil {
				t.Fatal(err)
			}
		}

		if u, err := ParseUpdate(src, v.params(src)); parsed(t, err) {
			given, err := attr.DecodeBinary([]byte(before))
			if err != nil {
				t.Fatal(err)
			}

			changed, changeErr := u.Change(given)
			next, err := u.Apply(v.Item)
			if (err == nil) != (changeErr == nil) {
				t.Fatalf("%q: Apply says %v, Change says %v", src, err, changeErr)
			}

			if parsed(t, err) {
				u.Project(next)

				stored := attr.AppendBinary(nil, next)
				if _, err := attr.DecodeBinary(stored); err != nil {
					t.Fatalf("%q makes an item that cannot be stored: %v", src, err)
				}

				if !bytes.Equal(stored, attr.AppendBinary(nil, changed)) {
					t.Fatalf("%q: Change makes another item than Apply", src)
				}
			}
		}

		if p, err := ParseProjection(src, v.params(src)); parsed(t, err) {
			p.Apply(v.Item)
		}
		_, err := keyCondition(src, v.params(src))
		parsed(t, err)

		if string(attr.AppendBinary(nil, v.Item)) != before {
			t.Fatalf("%q changed the item it was given", src)
		}
	})
}

// again parses what is kept by then, which has the result of the first time.
func again(t *testing.T, v vendorAnswers, src string) {
	t.Helper()

	first, err := ParseCondition("FilterExpression", src, v.params(src))
	second, errAgain := ParseCondition("FilterExpression", src, v.params(src))

	if fmt.Sprint(err) != fmt.Sprint(errAgain) || err == nil && first.root.match(v.Item) != second.root.match(v.Item) {
		t.Fatalf("%q: %v, then %v", src, err, errAgain)
	}

	one, err := ParseUpdate(src, v.params(src))
	two, errAgain := ParseUpdate(src, v.params(src))

	if fmt.Sprint(err) != fmt.Sprint(errAgain) {
		t.Fatalf("%q: %v, then %v", src, err, errAgain)
	}

	if err != nil {
		return
	}

	next, err := one.Apply(v.Item)
	nextAgain, errAgain := two.Apply(v.Item)

	if fmt.Sprint(err) != fmt.Sprint(errAgain) || !bytes.Equal(attr.AppendBinary(nil, next), attr.AppendBinary(nil, nextAgain)) {
		t.Fatalf("%q: %v, %v, then %v, %v", src, next, err, nextAgain, errAgain)
	}
}

// parsed reports whether there is no error; any error must be an *Error with a text.
func parsed(t *testing.T, err error) bool {
	t.Helper()

	var e *Error
	if err != nil && (!errors.As(err, &e) || e == nil || e.Message == "") {
		t.Fatalf("got an error of type %T: %v", err, err)
	}

	return err == nil
}
