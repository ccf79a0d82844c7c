package attr

import (
	"encoding/base64"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// decodeSet reads a set and sorts it.
func decodeSet(d *jsontext.Decoder, kind Kind) (Value, error) {
	if err := beginList(d); err != nil {
		return Value{}, err
	}

	var members []string
	message := ""
	for d.PeekKind() != ']' {
		m, why, err := decodeSetMember(d, kind)
		if err != nil {
			return Value{}, err
		}

		if message == "" {
			message = why
		}

		members = append(members, m)
	}

	if _, err := d.ReadToken(); err != nil {
		return Value{}, err
	}

	if message != "" {
		return invalid(message), nil
	}

	return NewSet(kind, members), nil
}

// decodeSetMember reads one member. why is not empty when the member is not data.
func decodeSetMember(d *jsontext.Decoder, kind Kind) (member, why string, err error) {
	if d.PeekKind() == 'n' {
		_, err := d.ReadToken()
		return "", map[Kind]string{SS: msgNullInSS, NS: msgNotNumeric, BS: msgNullInBS}[kind], err
	}

	if kind == BS {
		member, err = decodeBytes(d)
		return member, "", err
	}

	member, err = decodeString(d)
	if err != nil || kind == SS {
		return member, "", err
	}

	member, invalidNumber := ParseNumber(member)
	if invalidNumber != nil {
		return "", invalidNumber.Error(), nil
	}

	return member, "", nil
}

// NewSet builds a set of members in the order in which the request gave them, or an
// Invalid that says why they are no set. Numbers are as ParseNumber returns them. It keeps the
// slice and sorts it.
func NewSet(kind Kind, members []string) Value {
	if len(members) == 0 {
		return invalid(map[Kind]string{SS: msgEmptySS, NS: msgEmptyNS, BS: msgEmptyBS}[kind])
	}

	given := members
	if kind != NS && len(members) > 1 {
		given = slices.Clone(members) // the error lists them in the request's order
	}

	SortSet(kind, members)

	// Equal members are neighbors after the sort.
	for n := 1; n < len(members); n++ {
		if members[n] == members[n-1] {
			return invalid(duplicates(kind, given))
		}
	}

	return NewSortedSet(kind, members)
}

func duplicates(kind Kind, given []string) string {
	switch kind {
	case NS:
		return msgDuplicateNS
	case BS:
		texts := make([]string, len(given))
		for n, m := range given {
			texts[n] = base64.StdEncoding.EncodeToString([]byte(m))
		}

		// The missing space is the service's.
		return "One or more parameter values were invalid: Input collection [" + strings.Join(texts, ", ") + "]of type BS contains duplicates."
	default:
		return "One or more parameter values were invalid: Input collection [" + strings.Join(given, ", ") + "] contains duplicates."
	}
}

// SortSet sorts the members of a set of that kind into the order of a set.
func SortSet(kind Kind, members []string) {
	if kind == NS {
		slices.SortFunc(members, compareNumber)
		return
	}
	slices.Sort(members)
}
