package doctor

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"reflect"
	"slices"
	"strconv"
)

// difference returns the first place where two JSON documents differ in meaning, with the deployed
// and the wanted value. The places are in the order of the members' names. It returns "" if they do
// not differ. Blanks, the order of members and the spelling of texts mean nothing.
func difference(deployed, wanted string) string {
	is, err := parse(deployed)
	if err != nil {
		return "what is deployed is not JSON: " + err.Error()
	}

	want, err := parse(wanted)
	if err != nil {
		return "what is wanted is not JSON: " + err.Error()
	}

	return differ("", is, want)
}

func parse(text string) (value any, err error) {
	d := json.NewDecoder(bytes.NewReader([]byte(text)))
	// Numbers keep their spelling in the finding.
	d.UseNumber()

	if err := d.Decode(&value); err != nil {
		return nil, err
	}

	// A decoder stops behind the first value; a second document must not go unnoticed.
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("something follows the document")
	}

	return value, nil
}

// differ compares two values at a JSON pointer.
func differ(at string, is, want any) string {
	switch want := want.(type) {
	case map[string]any:
		// A value of another type falls out of the switch, to the difference below.
		if is, ok := is.(map[string]any); ok {
			return differMembers(at, is, want)
		}
	case []any:
		if is, ok := is.([]any); ok && len(is) == len(want) {
			for i := range want {
				if d := differ(at+"/"+strconv.Itoa(i), is[i], want[i]); d != "" {
					return d
				}
			}

			return ""
		}
	case json.Number:
		// 1 and 1.0 are the same number.
		if is, ok := is.(json.Number); ok {
			a, errA := is.Float64()
			b, errB := want.Float64()
			if errA == nil && errB == nil && a == b {
				return ""
			}
		}
	default:
		if reflect.DeepEqual(is, want) {
			return ""
		}
	}

	return fmt.Sprintf("at %s it has %s, this program %s", place(at), short(is), short(want))
}

func differMembers(at string, is, want map[string]any) string {
	// Names of both sides, so that a member that only one of them has is found.
	names := maps.Clone(want)
	maps.Copy(names, is)

	for _, name := range slices.Sorted(maps.Keys(names)) {
		got, deployed := is[name]
		wanted, known := want[name]

		switch {
		case !deployed:
			return fmt.Sprintf("it lacks %s, which is %s in this program", place(at+"/"+name), short(wanted))
		case !known:
			return fmt.Sprintf("it has %s (%s), this program does not", place(at+"/"+name), short(got))
		}

		if d := differ(at+"/"+name, got, wanted); d != "" {
			return d
		}
	}

	return ""
}

func place(pointer string) string {
	if pointer == "" {
		return "the beginning"
	}

	return pointer
}

// maxShort is how much of a value is shown, in bytes.
const maxShort = 80

func short(value any) string {
	text, _ := json.Marshal(value) // it came from JSON
	if len(text) > maxShort {
		return string(text[:maxShort]) + "…"
	}

	return string(text)
}
