// Package olist reads the orders of the public Olist data set as histories of
// Ratchet's events: purchase is place, approval is pay, the carrier's date is ship,
// the customer's date is deliver, and the statuses canceled and unavailable end in a
// cancel that has no date and so comes last.
//
// It is the small adapter that turns somebody's own export into transition requests;
// `ratchet replay --orders` uses it.
package olist

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"ratchet/workflow"
)

// History is one order as the data set tells it.
type History struct {
	OrderID string
	// Events in the order of their time stamps.
	Events []Event
	// Ends is where the data set's status says the order has ended.
	Ends workflow.State
}

// Event is something that happened to an order. At is zero for a cancellation.
type Event struct {
	Event workflow.Event
	At    time.Time
}

// ends says what each status of the data set means.
var ends = map[string]workflow.State{
	"created": workflow.Pending, "approved": workflow.PaymentReceived, "processing": workflow.PaymentReceived,
	"invoiced": workflow.PaymentReceived, "shipped": workflow.Shipped, "delivered": workflow.Delivered,
	"canceled": workflow.Cancelled, "unavailable": workflow.Cancelled,
}

// columns that a row needs, and the event that each date means.
var dates = []struct {
	column string
	event  workflow.Event
}{
	{"order_purchase_timestamp", workflow.Place},
	{"order_approved_at", workflow.Pay},
	{"order_delivered_carrier_date", workflow.Ship},
	{"order_delivered_customer_date", workflow.Deliver},
}

// Read calls order for each row and bad for each row that it cannot use, with the
// line's number from 1. It fails when the input is no such file at all.
func Read(r io.Reader, order func(History) error, bad func(line int, reason error)) error {
	rows := csv.NewReader(r)
	rows.ReuseRecord, rows.FieldsPerRecord = true, -1

	header, err := rows.Read()
	if err != nil {
		return fmt.Errorf("read the header: %w", err)
	}
	header = slices.Clone(header)

	need := []string{"order_id", "order_status"}
	for _, d := range dates {
		need = append(need, d.column)
	}

	at := map[string]int{}
	for _, name := range need {
		i := slices.Index(header, name)
		if i < 0 {
			return fmt.Errorf("the header has no column %s", name)
		}
		at[name] = i
	}

	for {
		row, err := rows.Read()
		line, _ := rows.FieldPos(0)
		var syntax *csv.ParseError
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case errors.As(err, &syntax):
			bad(syntax.StartLine, syntax.Err)
			continue
		case err != nil:
			return err
		case len(row) != len(header):
			bad(line, fmt.Errorf("%d columns, the header has %d", len(row), len(header)))
			continue
		}

		h, err := history(row, at)
		if err != nil {
			bad(line, err)
			continue
		}

		if err := order(h); err != nil {
			return err
		}
	}
}

// history reads one row.
func history(row []string, at map[string]int) (History, error) {
	h := History{OrderID: row[at["order_id"]]}
	status := row[at["order_status"]]
	var ok bool
	if h.Ends, ok = ends[status]; !ok {
		return h, fmt.Errorf("order_status %q is unknown", status)
	}

	for _, d := range dates {
		text := row[at[d.column]]
		if text == "" {
			continue
		}

		when, err := time.Parse(time.DateTime, text)
		if err != nil {
			return h, fmt.Errorf("%s %q is no time like 2018-08-17 12:15:10", d.column, text)
		}
		h.Events = append(h.Events, Event{d.event, when})
	}

	if len(h.Events) == 0 || row[at["order_purchase_timestamp"]] == "" {
		return h, errors.New("order_purchase_timestamp is empty")
	}
	slices.SortStableFunc(h.Events, func(a, b Event) int { return a.At.Compare(b.At) })

	if h.Ends == workflow.Cancelled {
		h.Events = append(h.Events, Event{Event: workflow.Cancel})
	}

	return h, nil
}
