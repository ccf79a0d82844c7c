package dynamodb

import (
	"encoding/json"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"

	"ratchet/embedded/internal/attr"
	"ratchet/embedded/internal/expression"
)

// answer builds the JSON object of an answer by hand, because reflection would be a measurable part
// of a call for one item.
type answer struct{ buf []byte }

func newAnswer(size int) *answer {
	return &answer{append(make([]byte, 0, size+64), '{')}
}

// name begins a member. The caller appends its value to buf.
func (a *answer) name(name string) *answer {
	// No value ends with an opening brace or bracket, so this is the first member.
	if last := a.buf[len(a.buf)-1]; last != '{' && last != '[' {
		a.buf = append(a.buf, ',')
	}
	a.buf = append(a.buf, '"')
	a.buf = append(a.buf, name...)
	a.buf = append(a.buf, '"', ':')

	return a
}

func (a *answer) item(name string, item attr.Item) {
	a.name(name).buf = item.AppendJSON(a.buf)
}

// stored adds a stored item, or the parts of it that project selects. Without an item it
// adds nothing.
func (a *answer) stored(name string, raw stored, project *expression.Projection) (err error) {
	if raw != nil {
		a.name(name).buf, err = raw.appendProjected(a.buf, project)
	}

	return err
}

func (a *answer) int(name string, n int) {
	a.name(name).buf = strconv.AppendInt(a.buf, int64(n), 10)
}

func (a *answer) text(name, value string) {
	a.name(name).buf = appendText(a.buf, value)
}

func (a *answer) texts(name string, values []string) {
	a.name(name).buf = append(a.buf, '[')
	for i, v := range values {
		if i > 0 {
			a.buf = append(a.buf, ',')
		}
		a.buf = appendText(a.buf, v)
	}
	a.buf = append(a.buf, ']')
}

func (a *answer) raw(name string, value []byte) {
	a.name(name).buf = append(a.buf, value...)
}

// done ends the object and returns it.
func (a *answer) done() json.RawMessage { return append(a.buf, '}') }

// appendText appends s as a JSON string. Its input comes from JSON, so it is valid UTF-8 and
// quoting cannot fail.
func appendText(dst []byte, s string) []byte {
	dst, _ = jsontext.AppendQuote(dst, s)
	return dst
}
