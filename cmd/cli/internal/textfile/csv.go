package textfile

import (
	"bufio"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"ratchet/internal/plural"
)

// maxRecord is more than the longest record of a CSV file, with what its reader has read ahead.
const maxRecord = 2 * maxLine

// CSV reads the records of a CSV file.
type CSV struct {
	// Header are the names of the columns.
	Header []string

	comma  rune
	source *bounded
	in     *csv.Reader
}

// OpenCSV reads the header of a CSV file. It fails with ErrFile if there is none.
func OpenCSV(in *bufio.Reader, comma rune) (*CSV, error) {
	source := &bounded{in: in, left: maxRecord}
	r := csv.NewReader(source)
	r.Comma, r.ReuseRecord = comma, true

	header, err := r.Read()
	if err != nil {
		return nil, fmt.Errorf("%w: its header: %w", ErrFile, err)
	}

	// The next record overwrites the slice.
	return &CSV{Header: slices.Clone(header), comma: comma, source: source, in: r}, nil
}

// Separator returns what separates the columns where the whole header was read as one column, and "" if the header has
// several or no other separator is in it.
func (c *CSV) Separator() string {
	if len(c.Header) > 1 {
		return ""
	}

	for _, other := range ";\t|," {
		if other != c.comma && strings.ContainsRune(c.Header[0], other) {
			return string(other)
		}
	}

	return ""
}

// Next returns the next record and the number of its first line. A record that cannot be read, such as one with another
// number of columns than the header, has a reason, and the next one can be read. The error is io.EOF at the end. The
// record is valid until the next call.
func (c *CSV) Next() (line int, record []string, reason, err error) {
	c.source.left = maxRecord

	record, err = c.in.Read()
	bad := (*csv.ParseError)(nil)

	switch {
	case errors.As(err, &bad) && errors.Is(bad.Err, csv.ErrFieldCount):
		return bad.StartLine, nil, fmt.Errorf("%s, and the header has %d", plural.Of(len(record), "column"), len(c.Header)), nil
	case errors.As(err, &bad):
		return bad.StartLine, nil, bad.Err, nil
	case err != nil:
		return 0, nil, nil, err
	}
	line, _ = c.in.FieldPos(0)

	return line, record, nil, nil
}

// bounded reads at most left bytes: a quote that is not closed would otherwise take the whole file into memory.
type bounded struct {
	in   io.Reader
	left int
}

func (b *bounded) Read(p []byte) (int, error) {
	if b.left <= 0 {
		return 0, fmt.Errorf("%w: a record has more than %d bytes; perhaps a quote is not closed", ErrFile, maxRecord)
	}

	n, err := b.in.Read(p[:min(len(p), b.left)])
	b.left -= n

	return n, err
}
