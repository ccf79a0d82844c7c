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

	"ratchet/ledger"
)

// maxLine bounds a line of the file, in bytes.
const maxLine = 64 << 10

// record is one line of one of the lists.
type record struct {
	key, kind, currency, state string
	amount                     int64
	line                       int // of the file
}

// columns are the positions of the named columns in the file.
type columns struct{ key, kind, amount, currency, state int }

// reader reads the processor's file line by line.
type reader struct {
	lines *bufio.Reader
	line  int
	cols  columns
	width int // how many columns a line must have at least
}

// errLine marks a line that cannot be used; the rest can.
var errLine = errors.New("bad line")

// ErrHeader: the file's first line does not name the columns.
var ErrHeader = errors.New("header")

// open reads the header.
func open(file io.Reader) (*reader, error) {
	r := &reader{lines: bufio.NewReaderSize(file, maxLine)}

	names, err := r.fields()
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrHeader, err)
	}

	names[0] = strings.TrimPrefix(names[0], "\ufeff")
	for name, at := range map[string]*int{"key": &r.cols.key, "kind": &r.cols.kind, "amount": &r.cols.amount, "currency": &r.cols.currency, "state": &r.cols.state} {
		if *at = slices.Index(names, name); *at < 0 {
			return nil, fmt.Errorf("%w: column %q is missing: key, kind, amount, currency, state", ErrHeader, name)
		}
		r.width = max(r.width, *at+1)
	}

	return r, nil
}

// next returns the next record; io.EOF at the end, errLine for a line that cannot be
// used.
func (r *reader) next() (record, error) {
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
	keyRule      = regexp.MustCompile(`^[A-Za-z0-9._:/-]{1,100}$`)
	currencyRule = regexp.MustCompile(`^[A-Z]{3}$`)
)

func (r *reader) record(fields []string) (rec record, err error) {
	if len(fields) < r.width {
		return rec, fmt.Errorf("%d columns, at least %d", len(fields), r.width)
	}

	rec = record{key: fields[r.cols.key], kind: fields[r.cols.kind], currency: fields[r.cols.currency], state: fields[r.cols.state]}
	rec.amount, err = strconv.ParseInt(fields[r.cols.amount], 10, 64)
	switch {
	case !keyRule.MatchString(rec.key):
		return rec, errors.New("key: paymentId/stepId, 1 to 100 of A-Z a-z 0-9 . _ : / -")
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

// fields reads one line and takes it apart. A line that is too long is passed over
// whole, however long it is.
func (r *reader) fields() ([]string, error) {
	text, err := r.lines.ReadSlice('\n')
	r.line++
	if errors.Is(err, bufio.ErrBufferFull) {
		for errors.Is(err, bufio.ErrBufferFull) {
			_, err = r.lines.ReadSlice('\n')
		}

		if err != nil && !errors.Is(err, io.EOF) {
			return nil, err
		}

		return nil, fmt.Errorf("%w: more than %d bytes", errLine, maxLine)
	}

	if err != nil && (!errors.Is(err, io.EOF) || len(text) == 0) {
		return nil, err
	}

	line := strings.TrimRight(string(text), "\r\n")
	if !strings.Contains(line, `"`) {
		return strings.Split(line, ","), nil
	}
	quoted := csv.NewReader(strings.NewReader(line))

	fields, err := quoted.Read()
	if err != nil {
		return nil, fmt.Errorf("%w: quotes: %w", errLine, errors.Unwrap(err))
	}

	return fields, nil
}
