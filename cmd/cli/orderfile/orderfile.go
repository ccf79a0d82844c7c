// Package orderfile reads files with orders under way: JSON Lines, or CSV with a mapping of its columns.
package orderfile

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"ratchet/cmd/cli/internal/textfile"
	"ratchet/transitions"
	"ratchet/workflow"
)

// ErrFile means that the file as a whole cannot be read. The text says why.
var ErrFile = textfile.ErrFile

// Line is one order of a file, or a line that holds none.
type Line struct {
	// Number is the line's number, from 1: of the first line of a record that has several.
	Number int
	Order  transitions.Import
	// Err says why the line holds no order, nil if it does.
	Err error
}

// Format says how to read a file.
type Format struct {
	// CSV: the file has a header and one record a line. Else each line is a JSON object.
	CSV bool
	// Separator stands between the columns of CSV. Default: a comma.
	Separator rune
	// Columns are the names of columns by the names of fields. A field that is not named has the column of its own name.
	Columns map[string]string
	// States are the definition's states by the words of the file. A word that is not named is the state itself.
	States map[string]workflow.State
}

// Read calls fn for each line of the file that is not blank, with the order or the reason why it holds none, until
// fn returns an error. It keeps one line in memory.
func Read(file io.Reader, f Format, fn func(Line) error) error {
	in, err := textfile.Open(file)
	if err != nil {
		return err
	}

	if f.CSV {
		return f.readCSV(in, fn)
	}

	return f.readJSON(in, fn)
}

// state returns the definition's state for the word of the file.
func (f Format) state(word string) workflow.State {
	if s, named := f.States[word]; named {
		return s
	}

	return workflow.State(word)
}

func (f Format) readJSON(in *bufio.Reader, fn func(Line) error) error {
	return textfile.Lines(in, func(n int, text []byte, err error) error {
		line := Line{Number: n, Err: err}
		if err == nil {
			line.Order, line.Err = f.parseJSON(text)
		}

		return fn(line)
	})
}

func (f Format) parseJSON(text []byte) (transitions.Import, error) {
	var order transitions.Import

	switch err := textfile.JSON(text, "an order", &order); {
	case errors.Is(err, textfile.ErrNoObject):
		return order, fmt.Errorf("%w: for CSV, give the file the ending .csv or set --format csv", err)
	case err != nil:
		return order, err
	}
	order.State = f.state(string(order.State))

	return order, nil
}

// setters put the text of a column into an order.
var setters = map[string]func(*transitions.Import, string) error{
	"orderId":   func(i *transitions.Import, text string) error { i.ID = transitions.OrderID(text); return nil },
	"state":     func(i *transitions.Import, text string) error { i.State = workflow.State(text); return nil },
	"customer":  func(i *transitions.Import, text string) error { i.Customer = text; return nil },
	"reference": func(i *transitions.Import, text string) error { i.Reference = text; return nil },
	"currency":  func(i *transitions.Import, text string) error { i.Total.Currency = text; return nil },
	"createdAt": func(i *transitions.Import, text string) (err error) { i.CreatedAt, err = parseTime(text); return err },
	"enteredAt": func(i *transitions.Import, text string) (err error) { i.EnteredAt, err = parseTime(text); return err },
	"items":     func(i *transitions.Import, text string) (err error) { i.Items, err = parseItems(text); return err },
	"amount": func(i *transitions.Import, text string) (err error) {
		if i.Total.Amount, err = strconv.ParseInt(text, 10, 64); err != nil {
			return fmt.Errorf("%q: a whole number of minor units, as 1250 for 12.50", text)
		}

		return nil
	},
}

// groups are the fields with names of their own behind a dot, such as shippingAddress.city.
var groups = map[string]func(*transitions.Import, string, string){
	"shippingAddress": func(i *transitions.Import, name, text string) { i.Shipping = with(i.Shipping, name, text) },
	"billingAddress":  func(i *transitions.Import, name, text string) { i.Billing = with(i.Billing, name, text) },
	"metadata":        func(i *transitions.Import, name, text string) { i.Metadata = with(i.Metadata, name, text) },
}

func with[M ~map[string]string](m M, name, text string) M {
	if m == nil {
		m = M{}
	}
	m[name] = text

	return m
}

// fields returns the names of the fields that a CSV may have, sorted.
func fields() []string {
	names := slices.Collect(maps.Keys(setters))
	for name := range groups {
		names = append(names, name+".NAME")
	}
	slices.Sort(names)

	return names
}

// setter returns what puts a field's text into an order, nil for an unknown field.
func setter(field string) func(*transitions.Import, string) error {
	if set := setters[field]; set != nil {
		return set
	}

	group, name, _ := strings.Cut(field, ".")
	if set := groups[group]; set != nil && name != "" {
		return func(i *transitions.Import, text string) error { set(i, name, text); return nil }
	}

	return nil
}

func parseTime(text string) (time.Time, error) {
	for _, layout := range []string{time.RFC3339, time.DateTime, time.DateOnly} {
		if at, err := time.Parse(layout, text); err == nil {
			return at, nil
		}
	}

	return time.Time{}, fmt.Errorf("%q: a time like 2026-11-21T12:00:00Z, or a day like 2026-11-21", text)
}

// parseItems reads SKU:QUANTITY:PRICE, several with spaces between them.
func parseItems(text string) (items []transitions.Item, err error) {
	for _, word := range strings.Fields(text) {
		parts := strings.Split(word, ":")
		if len(parts) < 3 {
			return nil, fmt.Errorf("%q: SKU:QUANTITY:PRICE, several with spaces between them", word)
		}

		item := transitions.Item{SKU: strings.Join(parts[:len(parts)-2], ":")}

		var err1, err2 error
		item.Quantity, err1 = strconv.ParseInt(parts[len(parts)-2], 10, 32)
		item.Price, err2 = strconv.ParseInt(parts[len(parts)-1], 10, 32)

		if errors.Join(err1, err2) != nil {
			return nil, fmt.Errorf("%q: quantity and price are whole numbers", word)
		}
		items = append(items, item)
	}

	return items, nil
}

// column is a column of the file that holds a field.
type column struct {
	field string
	set   func(*transitions.Import, string) error
}

func (f Format) readCSV(in *bufio.Reader, fn func(Line) error) error {
	file, err := textfile.OpenCSV(in, cmp.Or(f.Separator, ','))
	if err != nil {
		return err
	}

	columns, err := f.columns(file)
	if err != nil {
		return err
	}

	for {
		var record []string
		line := Line{}

		line.Number, record, line.Err, err = file.Next()
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		case line.Err == nil:
			line.Order, line.Err = f.parseRecord(record, columns)
		}

		if err := fn(line); err != nil {
			return err
		}
	}
}

// columns finds the fields of the header.
func (f Format) columns(file *textfile.CSV) ([]column, error) {
	header, byColumn := file.Header, map[string]string{}
	for field, name := range f.Columns {
		if setter(field) == nil {
			return nil, fmt.Errorf("%w: --column %s=%s: there is no such field: one of %s", ErrFile, field, name, strings.Join(fields(), ", "))
		}

		if byColumn[name] != "" {
			return nil, fmt.Errorf("%w: --column %s=%s: the column holds %s, too", ErrFile, field, name, byColumn[name])
		}
		byColumn[name] = field
	}

	columns := make([]column, len(header))
	found := map[string]bool{}

	for i, name := range header {
		name = strings.TrimSpace(name)

		field := byColumn[name]
		if field == "" && f.Columns[name] == "" {
			field = name
		}

		// Other columns are ignored.
		if set := setter(field); set != nil && !found[field] {
			columns[i], found[field] = column{field, set}, true
		}
	}

	for field, name := range f.Columns {
		if !found[field] {
			return nil, fmt.Errorf("%w: its header has no column %q (--column %s=%s); it has %q", ErrFile, name, field, name, header)
		}
	}

	if found["orderId"] && found["state"] {
		return columns, nil
	}

	if other := file.Separator(); other != "" {
		return nil, fmt.Errorf("%w: its columns are separated by %q: set --separator %q", ErrFile, other, other)
	}

	return nil, fmt.Errorf("%w: it needs the columns orderId and state; its header has %q (--column orderId=NAME says which it is)", ErrFile, header)
}

func (f Format) parseRecord(record []string, columns []column) (order transitions.Import, err error) {
	for i, text := range record {
		c := columns[i]
		if text = strings.TrimSpace(text); c.set == nil || text == "" {
			continue
		}

		if !utf8.ValidString(text) {
			return order, fmt.Errorf("%s: is not UTF-8", c.field)
		}

		// With ReuseRecord, the text would change with the next record.
		if err := c.set(&order, strings.Clone(text)); err != nil {
			return order, fmt.Errorf("%s %w", c.field, err)
		}
	}
	order.State = f.state(string(order.State))

	return order, nil
}
