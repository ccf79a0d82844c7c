// Package textfile reads files that other programs exported: lines of JSON, and CSV. What is wrong with a file is said
// in words, with the line and what to do about it.
package textfile

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
)

// ErrFile means that the file as a whole cannot be read. The text says why.
var ErrFile = errors.New("the file cannot be read")

// ErrNoObject means that a line begins like no JSON object.
var ErrNoObject = errors.New("not a JSON object")

// maxLine is how long a line may be, in bytes.
const maxLine = 1 << 20

// Open returns the file's text after its byte order mark. It fails with ErrFile if the file is empty or no text.
func Open(file io.Reader) (*bufio.Reader, error) {
	in := bufio.NewReaderSize(file, maxLine)

	// Programs on Windows put a byte order mark before a text.
	if mark, _ := in.Peek(3); bytes.Equal(mark, []byte("\xef\xbb\xbf")) {
		_, _ = in.Discard(3)
	}

	switch begin, err := in.Peek(2); {
	case len(begin) == 0 && errors.Is(err, io.EOF):
		return nil, fmt.Errorf("%w: it is empty", ErrFile)
	case len(begin) == 0:
		return nil, err
	case bytes.Equal(begin, []byte("\xff\xfe")), bytes.Equal(begin, []byte("\xfe\xff")):
		return nil, fmt.Errorf("%w: it is in UTF-16: save it as UTF-8", ErrFile)
	case bytes.Equal(begin, []byte("PK")), bytes.Equal(begin, []byte("\x1f\x8b")):
		return nil, fmt.Errorf("%w: it is compressed, or a spreadsheet: export it as text", ErrFile)
	}

	return in, nil
}

// Lines calls fn for each line that is not blank, with its number, from 1, until fn returns an error. A line that is too
// long comes as an error instead of its text. The text is valid until fn returns.
func Lines(in *bufio.Reader, fn func(n int, text []byte, err error) error) error {
	for n := 1; ; n++ {
		text, err := in.ReadSlice('\n')

		var bad error
		// The rest of the line is skipped, so that the next line is read from its beginning.
		if errors.Is(err, bufio.ErrBufferFull) {
			text, bad = nil, fmt.Errorf("longer than %d bytes", maxLine)

			for errors.Is(err, bufio.ErrBufferFull) {
				_, err = in.ReadSlice('\n')
			}
		}

		if text = bytes.TrimSpace(text); len(text) > 0 || bad != nil {
			if err := fn(n, text, bad); err != nil {
				return err
			}
		}

		switch {
		// io.EOF comes together with a last line that has no line feed.
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		}
	}
}

// JSON decodes a line that holds one JSON object. What is the noun with its article that the object is, such as
// "an order".
func JSON(text []byte, what string, into any) error {
	switch {
	// The decoder would replace these bytes, and two ids could become one.
	case !utf8.Valid(text):
		return errors.New("not UTF-8")
	case text[0] == '[':
		return errors.New("a JSON array: write one object a line (jq -c '.[]' does it)")
	case text[0] != '{':
		return ErrNoObject
	}

	d := json.NewDecoder(bytes.NewReader(text))
	// A typo in a name would otherwise be ignored, and the object used without the value.
	d.DisallowUnknownFields()

	if err := d.Decode(into); err != nil {
		return inWords(err, what)
	}

	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return errors.New("more than one JSON value on the line")
	}

	return nil
}

// inWords says what is wrong with a line of JSON.
func inWords(err error, what string) error {
	var kind *json.UnmarshalTypeError

	field := ""
	if errors.As(err, &kind) {
		// Embedded structs, whose names begin with a capital letter, are no members of the JSON.
		names := strings.Split(kind.Field, ".")
		for len(names) > 1 && names[0] != "" && names[0][0] >= 'A' && names[0][0] <= 'Z' {
			names = names[1:]
		}
		field = strings.Join(names, ".")
	}

	switch {
	case field != "" && kind.Value == "number" && kind.Type.Kind().String() == "string":
		return fmt.Errorf(`%s: is a number: write it as text, like %q:"17", because numbers lose zeros and digits`, field, field)
	case field != "":
		return fmt.Errorf("%s: is of the type %s, and must be %s", field, kind.Value, kind.Type.Kind())
	case errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, io.EOF):
		return errors.New("the JSON object has no end: each line is one object")
	}

	return fmt.Errorf("not %s in JSON: %s", what, strings.TrimPrefix(err.Error(), "json: "))
}
