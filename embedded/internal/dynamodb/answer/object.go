package answer

import (
	"encoding/json"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"

	"ratchet/embedded/internal/attr"
	"ratchet/embedded/internal/dynamodb/stored"
	"ratchet/embedded/internal/expression"
)

// Object is the JSON object of an answer, begun in Buf. A caller may append to Buf what is a whole value.
type Object struct{ Buf []byte }

// New begins an object. size is the room for its members.
func New(size int) *Object {
	return &Object{append(make([]byte, 0, size+64), '{')}
}

// Name begins a member. The caller appends its value to Buf.
func (a *Object) Name(name string) *Object {
	// No value ends with an opening brace or bracket, so this is the first member.
	if last := a.Buf[len(a.Buf)-1]; last != '{' && last != '[' {
		a.Buf = append(a.Buf, ',')
	}
	a.Buf = append(a.Buf, '"')
	a.Buf = append(a.Buf, name...)
	a.Buf = append(a.Buf, '"', ':')

	return a
}

// Item adds an item as AWS JSON.
func (a *Object) Item(name string, item attr.Item) {
	a.Name(name).Buf = item.AppendJSON(a.Buf)
}

// Stored adds a stored item, or the parts of it that project selects. Without an item it
// adds nothing.
func (a *Object) Stored(name string, raw stored.Item, project *expression.Projection) (err error) {
	if raw != nil {
		a.Name(name).Buf, err = raw.AppendProjected(a.Buf, project)
	}

	return err
}

// Int adds a number.
func (a *Object) Int(name string, n int) {
	a.Name(name).Buf = strconv.AppendInt(a.Buf, int64(n), 10)
}

// Text adds a text.
func (a *Object) Text(name, value string) {
	a.Name(name).Buf = AppendText(a.Buf, value)
}

// Texts adds a list of texts.
func (a *Object) Texts(name string, values []string) {
	a.Name(name).Buf = append(a.Buf, '[')
	for i, v := range values {
		if i > 0 {
			a.Buf = append(a.Buf, ',')
		}
		a.Buf = AppendText(a.Buf, v)
	}
	a.Buf = append(a.Buf, ']')
}

// Raw adds a value that is JSON already.
func (a *Object) Raw(name string, value []byte) {
	a.Name(name).Buf = append(a.Buf, value...)
}

// Done ends the object and returns it.
func (a *Object) Done() json.RawMessage { return append(a.Buf, '}') }

// AppendText appends s as a JSON string. Its input comes from JSON, so it is valid UTF-8 and
// quoting cannot fail.
func AppendText(dst []byte, s string) []byte {
	dst, _ = jsontext.AppendQuote(dst, s)
	return dst
}
