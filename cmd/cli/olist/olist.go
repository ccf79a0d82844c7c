// Package olist reads the orders of the public Olist data set as histories of Ratchet's
// events. The purchase becomes place, the approval pay, the carrier's date ship and the
// customer's date deliver. The statuses canceled and unavailable become a cancel, which
// has no date and comes last.
//
// `ratchet replay --orders` uses it. It is an example of an adapter that turns an export
// of another system into transition requests.
package olist

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"ratchet/cmd/cli/internal/textfile"
	"ratchet/workflow"
)

// History is one order of the data set.
type History struct {
	OrderID string
	// Events are in the order of their times.
	Events []Event
	// Ends is the final state, according to the data set's status.
	Ends workflow.State
}

// Event is one event of an order. At is zero for a cancellation.
type Event struct {
	Event workflow.Event
	At    time.Time
}

// ends maps the data set's statuses to states.
var ends = map[string]workflow.State{
	"created":     workflow.Pending,
	"approved":    workflow.PaymentReceived,
	"processing":  workflow.PaymentReceived,
	"invoiced":    workflow.PaymentReceived,
	"shipped":     workflow.Shipped,
	"delivered":   workflow.Delivered,
	"canceled":    workflow.Cancelled,
	"unavailable": workflow.Cancelled,
}

// dates maps the date columns, all of which the header must have, to events.
var dates = []struct {
	column string
	event  workflow.Event
}{
	{"order_purchase_timestamp", workflow.Place},
	{"order_approved_at", workflow.Pay},
	{"order_delivered_carrier_date", workflow.Ship},
	{"order_delivered_customer_date", workflow.Deliver},
}

// Read calls order for each row, with the number of its line, from 1. For a row that it cannot use, it calls bad. It
// fails with a reason in words if the file is empty or its header lacks a column, if the input cannot be read, or with
// the error of order.
func Read(r io.Reader, order func(line int, h History) error, bad func(line int, reason error)) error {
	text, err := textfile.Open(r)
	if err != nil {
		return err
	}

	file, err := textfile.OpenCSV(text, ',')
	if err != nil {
		return err
	}

	columns, err := find(file)
	if err != nil {
		return err
	}

	for {
		line, row, reason, err := file.Next()

		var h History
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		case reason == nil:
			h, reason = history(row, columns)
		}

		// A row that is broken does not end the file.
		if reason != nil {
			bad(line, reason)
			continue
		}

		if err := order(line, h); err != nil {
			return err
		}
	}
}

// find returns the positions of the columns by their names.
func find(file *textfile.CSV) (map[string]int, error) {
	need := []string{"order_id", "order_status"}
	for _, d := range dates {
		need = append(need, d.column)
	}

	if other := file.Separator(); other != "" {
		return nil, fmt.Errorf("%w: its columns are separated by %q: the data set has commas", textfile.ErrFile, other)
	}

	columns := map[string]int{}
	for _, name := range need {
		i := slices.Index(file.Header, name)
		if i < 0 {
			return nil, fmt.Errorf("%w: its header has no column %s; it has %q", textfile.ErrFile, name, file.Header)
		}
		columns[name] = i
	}

	return columns, nil
}

// history parses one row. columns maps names to positions.
func history(row []string, columns map[string]int) (History, error) {
	// The next row overwrites the texts.
	h := History{OrderID: strings.Clone(row[columns["order_id"]])}
	status := row[columns["order_status"]]

	var ok bool
	if h.Ends, ok = ends[status]; !ok {
		return h, fmt.Errorf("order_status %q is unknown", status)
	}

	for _, d := range dates {
		text := row[columns[d.column]]
		// An order that was not shipped has no date.
		if text == "" {
			continue
		}

		when, err := time.Parse(time.DateTime, text)
		if err != nil {
			return h, fmt.Errorf("%s %q is not a time like 2018-08-17 12:15:10", d.column, text)
		}
		h.Events = append(h.Events, Event{d.event, when})
	}

	if len(h.Events) == 0 || row[columns["order_purchase_timestamp"]] == "" {
		return h, errors.New("order_purchase_timestamp is empty")
	}
	// The file can have an approval after the shipment; Ratchet needs the events in order. Stable,
	// because dates have no more than seconds.
	slices.SortStableFunc(h.Events, func(a, b Event) int { return a.At.Compare(b.At) })

	// A cancellation has no date in the file.
	if h.Ends == workflow.Cancelled {
		h.Events = append(h.Events, Event{Event: workflow.Cancel})
	}

	return h, nil
}
