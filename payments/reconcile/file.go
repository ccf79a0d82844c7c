package reconcile

import (
	"bufio"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"ratchet/once/ledger"
)

// maxLine bounds a line of the file, in bytes.
const maxLine = 64 << 10

// record is one record of a list.
type record struct {
	key, kind, currency, state string
	amount                     int64 // in minor units
	line                       int   // of the file, 0 for the other lists
	young                      bool  // from Until or later: the other lists may not have it yet
}

// columns are the positions of the named columns in the file.
type columns struct{ key, kind, amount, currency, state int }

// fileReader reads the processor's file line by line.
type fileReader struct {
	lines    *bufio.Reader
	line     int
	columns  columns
	minWidth int // columns that a line needs
}

// errLine means that a line cannot be used. The next line can be read.
var errLine = errors.New("bad line")

// ErrHeader means that the first line of the file does not name the columns.
var ErrHeader = errors.New("header")

// openFile reads the header.
func openFile(file io.Reader) (*fileReader, error) {
	r := &fileReader{lines: bufio.NewReaderSize(file, maxLine)}

	names, err := r.fields()
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrHeader, err)
	}

	names[0] = strings.TrimPrefix(names[0], "\ufeff") // a byte order mark

	for name, at := range map[string]*int{
		"key":      &r.columns.key,
		"kind":     &r.columns.kind,
		"amount":   &r.columns.amount,
		"currency": &r.columns.currency,
		"state":    &r.columns.state,
	} {
		if *at = slices.Index(names, name); *at < 0 {
			return nil, fmt.Errorf("%w: column %q is missing: key, kind, amount, currency, state", ErrHeader, name)
		}

		r.minWidth = max(r.minWidth, *at+1)
	}

	return r, nil
}

// next returns the next record. It returns io.EOF at the end, and errLine with the line's
// number for a line that cannot be used.
func (r *fileReader) next() (record, error) {
	for {
		fields, err := r.fields()
		if err != nil {
			return record{line: r.line}, err
		}

		if len(fields) == 1 && fields[0] == "" {
			continue // an empty line
		}

		rec, err := r.record(fields)
		if err != nil {
			err = fmt.Errorf("%w: %w", errLine, err)
		}

		rec.line = r.line

		return rec, err
	}
}

var (
	// The refund of a returned capture has the capture's key and "/return".
	keyRule      = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z0-9._:/-]{1,128}(/return)?$`) })
	currencyRule = regexp.MustCompile(`^[A-Z]{3}$`)
)

// record checks the fields of a line.
func (r *fileReader) record(fields []string) (rec record, err error) {
	if len(fields) < r.minWidth {
		return rec, fmt.Errorf("%d columns, at least %d", len(fields), r.minWidth)
	}

	rec = record{
		key:      fields[r.columns.key],
		kind:     fields[r.columns.kind],
		currency: fields[r.columns.currency],
		state:    fields[r.columns.state],
	}
	rec.amount, err = strconv.ParseInt(fields[r.columns.amount], 10, 64)
	switch {
	case !keyRule().MatchString(rec.key):
		return rec, errors.New("key: paymentId/stepId, 1 to 128 of A-Z a-z 0-9 . _ : / -, and /return")
	case !slices.Contains(kinds, rec.kind):
		return rec, fmt.Errorf("kind: one of %v", kinds)
	case err != nil || rec.amount < 1 || rec.amount > ledger.MaxAmount:
		return rec, fmt.Errorf("amount: minor units, 1 to %d", int64(ledger.MaxAmount))
	case !currencyRule.MatchString(rec.currency):
		return rec, errors.New("currency: three capitals of ISO 4217")
	case !slices.Contains(states, rec.state):
		return rec, fmt.Errorf("state: one of %v", states)
	}

	return rec, nil
}

// fields reads one line and splits it. A line that is too long is skipped as a whole.
func (r *fileReader) fields() ([]string, error) {
	text, err := r.lines.ReadSlice('\n')
	r.line++
	if errors.Is(err, bufio.ErrBufferFull) {
		// The rest of the long line is read here, so that it is not taken for further lines.
		for errors.Is(err, bufio.ErrBufferFull) {
			_, err = r.lines.ReadSlice('\n')
		}

		if err != nil && !errors.Is(err, io.EOF) {
			return nil, err
		}

		return nil, fmt.Errorf("%w: more than %d bytes", errLine, maxLine)
	}

	// The last line may lack its newline.
	if err != nil && (!errors.Is(err, io.EOF) || len(text) == 0) {
		return nil, err
	}

	line := strings.TrimRight(string(text), "\r\n")
	if !strings.Contains(line, `"`) { // the common case is fast
		return strings.Split(line, ","), nil
	}

	// Each line has its own reader, so that a quote that is never closed spoils one line only.
	quoted := csv.NewReader(strings.NewReader(line))

	fields, err := quoted.Read()
	if err != nil {
		return nil, fmt.Errorf("%w: quotes: %w", errLine, errors.Unwrap(err))
	}

	return fields, nil
}
