package document

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/go-json-experiment/json/jsontext"
)

// jsonReader reads the tokens of a JSON text and counts lines on the way.
type jsonReader struct {
	file    string
	data    []byte
	decoder *jsontext.Decoder
	counted int // offset up to which line has been counted
	line    int
}

func readJSON(file string, data []byte) (*Node, error) {
	r := &jsonReader{
		file:    file,
		data:    data,
		decoder: jsontext.NewDecoder(bytes.NewReader(data)),
		line:    1,
	}

	n, err := r.read(0)
	if err != nil {
		return nil, err
	}

	// After the value only white space may follow.
	if _, err := r.decoder.ReadToken(); !errors.Is(err, io.EOF) {
		return nil, &Error{file, r.lineAt(r.decoder.InputOffset()), errors.New("text after the document's end")}
	}

	return n, nil
}

// lineAt returns the line of an offset. Offsets must not decrease from call to call.
func (r *jsonReader) lineAt(offset int64) int {
	end := min(int(offset), len(r.data))
	if end > r.counted {
		r.line += bytes.Count(r.data[r.counted:end], []byte("\n"))
		r.counted = end
	}

	return r.line
}

// token reads the next token. The end of the text inside a value is an error.
func (r *jsonReader) token() (jsontext.Token, error) {
	t, err := r.decoder.ReadToken()
	if err == nil {
		return t, nil
	}

	// The offset of the last good token, unless the decoder knows better.
	offset := r.decoder.InputOffset()

	var syntax *jsontext.SyntacticError
	if errors.As(err, &syntax) {
		offset = syntax.ByteOffset
		err = syntax.Err
	}

	// The text has ended inside a value.
	if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}

	return t, &Error{r.file, r.lineAt(offset), err}
}

// read reads one value at the given depth.
func (r *jsonReader) read(depth int) (*Node, error) {
	t, err := r.token()
	if err != nil {
		return nil, err
	}

	n := &Node{Line: r.lineAt(r.decoder.InputOffset())}
	// Before the value is read, so that a hostile file cannot nest any deeper.
	if depth > MaxDepth {
		return nil, &Error{r.file, n.Line, fmt.Errorf("nested more than %d levels deep", MaxDepth)}
	}

	switch t.Kind() {
	case 'n':
		n.Kind = Null
	case 't', 'f':
		n.Kind, n.Text = Bool, t.String()
	case '0':
		n.Kind, n.Text = Number, t.String()
	case '"':
		n.Kind, n.Text = String, t.String()
	case '[':
		n.Kind = List
		err = r.readItems(n, depth)
	case '{':
		n.Kind = Map
		err = r.readMembers(n, depth)
	}

	return n, err
}

func (r *jsonReader) readItems(n *Node, depth int) error {
	// PeekKind also ends at a fault, which the next read reports.
	for r.decoder.PeekKind() != ']' {
		item, err := r.read(depth + 1)
		if err != nil {
			return err
		}

		n.Items = append(n.Items, item)
	}

	_, err := r.token() // the bracket

	return err
}

// readMembers relies on the decoder to refuse duplicate names.
func (r *jsonReader) readMembers(n *Node, depth int) error {
	for r.decoder.PeekKind() != '}' {
		t, err := r.token()
		if err != nil {
			return err
		}

		m := Member{Name: t.String(), Line: r.lineAt(r.decoder.InputOffset())}
		if m.Value, err = r.read(depth + 1); err != nil {
			return err
		}

		n.Members = append(n.Members, m)
	}

	_, err := r.token() // the brace

	return err
}
