package transitions

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"log/slog"
	"maps"
	"math/big"
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ratchet/internal/dynamo"
)

// Attributes are attributes of an order's item that are the caller's own: neither the key nor one of Ratchet's
// fields, under the names that they have in the table. Their JSON is DynamoDB's, such as
// {"weight": {"N": "3"}}. They print as "[attributes]", because callers may write anything into them.
type Attributes map[string]types.AttributeValue

func (Attributes) String() string { return "[attributes]" }

// GoString hides the attributes from %#v.
func (Attributes) GoString() string { return "[attributes]" }

// LogValue hides the attributes from slog.
func (Attributes) LogValue() slog.Value { return slog.StringValue("[attributes]") }

// The bounds of own attributes. Values of one request are part of the 400 KB of its order's item.
const (
	maxOwnSet   = 50       // attributes that one request sets
	maxOwnNames = 20       // attributes that it removes, or compares in one way
	maxOwnName  = 255      // characters of a name
	maxOwnBytes = 64 << 10 // names and values of one request
	maxOwnDepth = 16       // lists and maps in each other; DynamoDB allows 32
)

// ownNumber matches a number in plain decimal form with at most 38 digits: each number has one such form.
var ownNumber = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^(0|-?[1-9][0-9]{0,37}|-?(0|[1-9][0-9]{0,18})\.[0-9]{0,18}[1-9])$`)
})

// fault is what is wrong with an attribute, and where: the members that lead to it.
type fault struct {
	path []string
	rule string
}

func (f *fault) in(member string) *fault {
	if f != nil {
		f.path = append([]string{member}, f.path...)
	}

	return f
}

// Pointer returns the place as a JSON pointer.
func (f *fault) Pointer() string {
	var b strings.Builder
	for _, member := range f.path {
		b.WriteString("/" + strings.NewReplacer("~", "~0", "/", "~1").Replace(member))
	}

	return b.String()
}

// Rule returns the rule that is broken.
func (f *fault) Rule() string { return f.rule }

func (f *fault) Error() string { return f.Pointer() + ": " + f.rule }

// checkOwnName returns the rule that the name breaks, "" for none.
func (m Mapping) checkOwnName(name string) string {
	switch {
	case !isName(name):
		return nameOfOwn
	case name == m.partition() || name == m.SortKey:
		return "is the key of the table"
	case m.field(name) != "":
		return "is one of Ratchet's fields: " + m.field(name)
	}

	return ""
}

// nameOfOwn is the rule of the name of an attribute, or of a member of a map.
var nameOfOwn = fmt.Sprintf("a name has 1 to %d characters of UTF-8, without control characters", maxOwnName)

func isName(name string) bool {
	return name != "" && utf8.ValidString(name) && utf8.RuneCountInString(name) <= maxOwnName && !strings.ContainsFunc(name, unicode.IsControl)
}

// isOwn reports whether an attribute of the table is neither the key nor a field.
func (m Mapping) isOwn(name string) bool {
	return name != m.partition() && name != m.SortKey && m.field(name) == ""
}

// ownImage returns the name that an attribute of the caller's own has in an image.
func (m Mapping) ownImage(name string) string {
	if !m.isDefault() && (isField[name] || name == orderIDAttribute || strings.HasPrefix(name, ownMark)) {
		return ownMark + name
	}

	return name
}

// own returns the attributes of an image that are neither the key nor fields, nil for none.
func own(img image) (out Attributes) {
	for name, v := range img {
		if isField[name] || name == orderIDAttribute {
			continue
		}

		if out == nil {
			out = Attributes{}
		}
		out[strings.TrimPrefix(name, ownMark)] = v
	}

	return out
}

// checkValue returns what is wrong with a value that the caller wants to write or to compare, nil for nothing.
func checkValue(v types.AttributeValue, depth int) *fault {
	if depth > maxOwnDepth {
		return &fault{rule: fmt.Sprintf("at most %d lists and maps in each other", maxOwnDepth)}
	}

	switch v := v.(type) {
	case *types.AttributeValueMemberS:
		return wrongIf(!utf8.ValidString(v.Value), "S", "a text of UTF-8")
	case *types.AttributeValueMemberN:
		return wrongIf(!ownNumber().MatchString(v.Value), "N", numberRule)
	case *types.AttributeValueMemberB:
		// The SDK sends nil as null, which is no value.
		return wrongIf(v.Value == nil, "B", "bytes, and not nil")
	case *types.AttributeValueMemberBOOL:
		return nil
	case *types.AttributeValueMemberNULL:
		return wrongIf(!v.Value, "NULL", "true")
	case *types.AttributeValueMemberSS:
		return wrongIf(!isSet(v.Value, func(s string) (string, bool) { return s, utf8.ValidString(s) }), "SS", setRule+"texts of UTF-8")
	case *types.AttributeValueMemberNS:
		return wrongIf(!isSet(v.Value, func(s string) (string, bool) { return s, ownNumber().MatchString(s) }), "NS", setRule+"numbers, each "+numberRule)
	case *types.AttributeValueMemberBS:
		return wrongIf(!isSet(v.Value, func(b []byte) (string, bool) { return string(b), b != nil }), "BS", setRule+"bytes, and not nil")
	case *types.AttributeValueMemberL:
		for i, member := range v.Value {
			if f := checkValue(member, depth+1); f != nil {
				return f.in(fmt.Sprint(i)).in("L")
			}
		}

		return nil
	case *types.AttributeValueMemberM:
		for _, name := range slices.Sorted(maps.Keys(v.Value)) {
			f := checkValue(v.Value[name], depth+1)
			if !isName(name) {
				f = &fault{rule: nameOfOwn}
			}

			if f != nil {
				return f.in(name).in("M")
			}
		}

		return nil
	}

	return &fault{rule: "a value of DynamoDB with one type of S, N, B, BOOL, NULL, SS, NS, BS, L, M"}
}

const (
	numberRule = "a number in plain decimal form with at most 38 digits and no needless zero"
	setRule    = "one or more different "
)

func wrongIf(wrong bool, member, rule string) *fault {
	if !wrong {
		return nil
	}

	return &fault{path: []string{member}, rule: rule}
}

// isSet reports whether the members, of which there is at least one, are valid and differ.
func isSet[T any](members []T, key func(T) (string, bool)) bool {
	seen := map[string]bool{}
	for _, m := range members {
		text, valid := key(m)
		if !valid || seen[text] {
			return false
		}
		seen[text] = true
	}

	return len(seen) > 0
}

// flat returns the value as texts for a digest. Two values that DynamoDB takes for equal have the same texts, if
// both were checked.
func flat(v types.AttributeValue) []string {
	list := func(kind string, members []string) []string {
		return append([]string{kind, fmt.Sprint(len(members))}, members...)
	}

	switch v := v.(type) {
	case *types.AttributeValueMemberS:
		return []string{"S", v.Value}
	case *types.AttributeValueMemberN:
		return []string{"N", v.Value}
	case *types.AttributeValueMemberB:
		return []string{"B", string(v.Value)}
	case *types.AttributeValueMemberBOOL:
		return []string{"BOOL", fmt.Sprint(v.Value)}
	case *types.AttributeValueMemberSS:
		return list("SS", slices.Sorted(slices.Values(v.Value)))
	case *types.AttributeValueMemberNS:
		return list("NS", slices.Sorted(slices.Values(v.Value)))
	case *types.AttributeValueMemberBS:
		texts := make([]string, len(v.Value))
		for i, b := range v.Value {
			texts[i] = string(b)
		}

		return list("BS", slices.Sorted(slices.Values(texts)))
	case *types.AttributeValueMemberL:
		texts := []string{"L", fmt.Sprint(len(v.Value))}
		for _, member := range v.Value {
			texts = append(texts, flat(member)...)
		}

		return texts
	case *types.AttributeValueMemberM:
		return append([]string{"M"}, Attributes(v.Value).flat()...)
	}

	return []string{"NULL"}
}

func (a Attributes) flat() []string {
	texts := []string{fmt.Sprint(len(a))}
	for _, name := range slices.Sorted(maps.Keys(a)) {
		texts = append(append(texts, name), flat(a[name])...)
	}

	return texts
}

// equal reports whether DynamoDB takes the values for equal: numbers by their size, sets in any order.
func equal(a, b types.AttributeValue) bool {
	switch a := a.(type) {
	case *types.AttributeValueMemberN:
		b, same := b.(*types.AttributeValueMemberN)
		return same && equalNumbers(a.Value, b.Value)
	case *types.AttributeValueMemberNS:
		b, same := b.(*types.AttributeValueMemberNS)
		return same && equalSets(a.Value, b.Value, equalNumbers)
	case *types.AttributeValueMemberSS:
		b, same := b.(*types.AttributeValueMemberSS)
		return same && equalSets(a.Value, b.Value, func(x, y string) bool { return x == y })
	case *types.AttributeValueMemberBS:
		b, same := b.(*types.AttributeValueMemberBS)
		return same && equalSets(a.Value, b.Value, bytes.Equal)
	case *types.AttributeValueMemberL:
		b, same := b.(*types.AttributeValueMemberL)
		return same && slices.EqualFunc(a.Value, b.Value, equal)
	case *types.AttributeValueMemberM:
		b, same := b.(*types.AttributeValueMemberM)
		return same && maps.EqualFunc(a.Value, b.Value, equal)
	}

	return b != nil && slices.Equal(flat(a), flat(b))
}

func equalNumbers(a, b string) bool {
	if a == b {
		return true
	}

	x, xOK := new(big.Rat).SetString(a)
	y, yOK := new(big.Rat).SetString(b)

	return xOK && yOK && x.Cmp(y) == 0
}

func equalSets[T any](a, b []T, same func(T, T) bool) bool {
	return len(a) == len(b) && !slices.ContainsFunc(a, func(x T) bool {
		return !slices.ContainsFunc(b, func(y T) bool { return same(x, y) })
	})
}

// size is how many bytes the value takes of an item, about.
func size(v types.AttributeValue) int {
	n := 1
	for _, text := range flat(v) {
		n += len(text)
	}

	return n
}

// MarshalJSON writes the attributes as DynamoDB does.
func (a Attributes) MarshalJSON() ([]byte, error) {
	if a == nil {
		return []byte("{}"), nil
	}

	members, err := dynamo.JSON(a)
	if err != nil {
		return nil, err
	}

	return json.Marshal(members)
}

// UnmarshalJSON reads attributes in DynamoDB's JSON. Its error names the place as a JSON pointer, and not the text
// that is there.
func (a *Attributes) UnmarshalJSON(text []byte) error {
	members, f := valuesFrom(text, 1)
	if f != nil {
		return f
	}
	*a = members

	return nil
}

// valuesFrom reads a map of values.
func valuesFrom(text []byte, depth int) (map[string]types.AttributeValue, *fault) {
	members, ok := read[map[string]json.RawMessage](text)
	if !ok {
		return nil, &fault{rule: "an object of attributes"}
	}

	out := make(map[string]types.AttributeValue, len(members))
	for _, name := range slices.Sorted(maps.Keys(members)) {
		v, f := valueFrom(members[name], depth)
		if f != nil {
			return nil, f.in(name)
		}
		out[name] = v
	}

	return out, nil
}

// valueFrom reads a value. It is not checked yet (see checkValue).
func valueFrom(text []byte, depth int) (types.AttributeValue, *fault) {
	members, ok := read[map[string]json.RawMessage](text)
	if !ok || len(members) != 1 || depth > 2*maxOwnDepth { // what is stored may be another program's
		return nil, checkValue(nil, 1)
	}

	for kind, member := range members {
		v, f := memberFrom(kind, member, depth)
		if f != nil && f.rule == "" {
			f.rule = "has another form than " + kind
		}

		return v, f.in(kind)
	}

	return nil, nil // there is one member
}

func memberFrom(kind string, text []byte, depth int) (types.AttributeValue, *fault) {
	switch kind {
	case "S":
		s, ok := read[string](text)
		return &types.AttributeValueMemberS{Value: s}, wrongForm(ok)
	case "N":
		s, ok := read[string](text)
		return &types.AttributeValueMemberN{Value: s}, wrongForm(ok)
	case "B":
		s, isText := read[string](text)
		b, ok := fromBase64(s)

		return &types.AttributeValueMemberB{Value: b}, wrongForm(isText && ok)
	case "BOOL":
		b, ok := read[bool](text)
		return &types.AttributeValueMemberBOOL{Value: b}, wrongForm(ok)
	case "NULL":
		b, ok := read[bool](text)
		return &types.AttributeValueMemberNULL{Value: b}, wrongForm(ok)
	case "SS":
		list, ok := textsFrom(text)
		return &types.AttributeValueMemberSS{Value: list}, wrongForm(ok)
	case "NS":
		list, ok := textsFrom(text)
		return &types.AttributeValueMemberNS{Value: list}, wrongForm(ok)
	case "BS":
		list, ok := textsFrom(text)
		members := make([][]byte, len(list))
		for i, s := range list {
			b, valid := fromBase64(s)
			members[i], ok = b, ok && valid
		}

		return &types.AttributeValueMemberBS{Value: members}, wrongForm(ok)
	case "L":
		return listFrom(text, depth)
	case "M":
		members, f := valuesFrom(text, depth+1)
		return &types.AttributeValueMemberM{Value: members}, f
	}

	return nil, checkValue(nil, 1)
}

func listFrom(text []byte, depth int) (types.AttributeValue, *fault) {
	list, ok := read[[]json.RawMessage](text)
	if !ok {
		return nil, wrongForm(false)
	}

	values := make([]types.AttributeValue, len(list))
	for i, member := range list {
		v, f := valueFrom(member, depth+1)
		if f != nil {
			return nil, f.in(fmt.Sprint(i))
		}
		values[i] = v
	}

	return &types.AttributeValueMemberL{Value: values}, nil
}

func wrongForm(ok bool) *fault {
	if ok {
		return nil
	}

	return &fault{}
}

// read reads a JSON value of one type. Unlike encoding/json, it does not take null for an absent value.
func read[T any](text []byte) (v T, ok bool) {
	err := json.Unmarshal(text, &v)

	return v, err == nil && !bytes.Equal(bytes.TrimSpace(text), []byte("null"))
}

func textsFrom(text []byte) ([]string, bool) {
	list, ok := read[[]json.RawMessage](text)

	texts := make([]string, len(list))
	for i, member := range list {
		s, isText := read[string](member)
		texts[i], ok = s, ok && isText
	}

	return texts, ok
}

// fromBase64 reads the one spelling that bytes have: the library also takes line ends and needless bits.
func fromBase64(s string) ([]byte, bool) {
	b, err := base64.StdEncoding.DecodeString(s)

	return b, err == nil && base64.StdEncoding.EncodeToString(b) == s
}
