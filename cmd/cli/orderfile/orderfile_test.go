package orderfile_test

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"ratchet/cmd/cli/orderfile"
	"ratchet/workflow"
)

// read returns a line of text for each line of the file.
func read(t *testing.T, f orderfile.Format, file string) (lines []string, err error) {
	t.Helper()

	// A reader of single bytes shows that no line depends on how the file comes.
	err = orderfile.Read(iotest.OneByteReader(strings.NewReader(file)), f, func(l orderfile.Line) error {
		text := fmt.Sprintf("%d %s %s", l.Number, l.Order.ID, l.Order.State)
		if l.Err != nil {
			text = fmt.Sprintf("%d: %v", l.Number, l.Err)
		}
		lines = append(lines, text)

		return nil
	})

	return lines, err
}

// TestEachLineIsAnOrderOrHasAReason, with its number.
func TestEachLineIsAnOrderOrHasAReason(t *testing.T) {
	csv := orderfile.Format{CSV: true}
	for name, row := range map[string]struct {
		format orderfile.Format
		file   string
		want   []string
	}{
		"json":           {orderfile.Format{}, "{\"orderId\":\"o-1\",\"state\":\"SHIPPED\"}\n\n{\"orderId\":\"o-2\",\"state\":\"PENDING\"}", []string{"1 o-1 SHIPPED", "3 o-2 PENDING"}},
		"byte order":     {orderfile.Format{}, "\xef\xbb\xbf{\"orderId\":\"o-1\",\"state\":\"SHIPPED\"}\r\n", []string{"1 o-1 SHIPPED"}},
		"number as id":   {orderfile.Format{}, `{"orderId":17,"state":"SHIPPED"}`, []string{`1: orderId: is a number: write it as text, like "orderId":"17", because numbers lose zeros and digits`}},
		"unknown member": {orderfile.Format{}, `{"orderId":"o-1","status":"SHIPPED"}`, []string{`1: not an order in JSON: unknown field "status"`}},
		"wrong type":     {orderfile.Format{}, `{"orderId":"o-1","customer":{}}`, []string{"1: customer: is of the type object, and must be string"}},
		"an array":       {orderfile.Format{}, `[{"orderId":"o-1"}]`, []string{"1: a JSON array: write one object a line (jq -c '.[]' does it)"}},
		"csv as json":    {orderfile.Format{}, "orderId,state\n", []string{"1: not a JSON object: for CSV, give the file the ending .csv or set --format csv"}},
		"no end":         {orderfile.Format{}, "{\"orderId\":\n\"o-1\"}", []string{"1: the JSON object has no end: each line is one object", "2: not a JSON object: for CSV, give the file the ending .csv or set --format csv"}},
		"too long":       {orderfile.Format{}, strings.Repeat("x", 1<<20+1) + "\n{\"orderId\":\"o-1\",\"state\":\"SHIPPED\"}", []string{"1: longer than 1048576 bytes", "2 o-1 SHIPPED"}},
		"words":          {orderfile.Format{States: map[string]workflow.State{"sent": "SHIPPED"}}, `{"orderId":"o-1","state":"sent"}`, []string{"1 o-1 SHIPPED"}},

		"csv":           {csv, "state,other,orderId\nSHIPPED,x,o-1\n\"PEN\"DING,,o-2\nSHIPPED,\"a\nb\",o-3\nSHIPPED\n", []string{"2 o-1 SHIPPED", `3: extraneous or missing " in quoted-field`, "4 o-3 SHIPPED", "6: 1 column, and the header has 3"}},
		"named columns": {orderfile.Format{CSV: true, Separator: ';', Columns: map[string]string{"orderId": "Bestellung", "state": "Status"}, States: map[string]workflow.State{"verschickt": "SHIPPED"}}, "\xef\xbb\xbfBestellung;Status;state\n0017;verschickt;x\n", []string{"2 0017 SHIPPED"}},
		"bad amount":    {csv, "orderId,state,amount,currency\no-1,SHIPPED,12.50,EUR\n", []string{`2: amount "12.50": a whole number of minor units, as 1250 for 12.50`}},
		"bad time":      {csv, "orderId,state,createdAt\no-1,SHIPPED,21.11.2026\n", []string{`2: createdAt "21.11.2026": a time like 2026-11-21T12:00:00Z, or a day like 2026-11-21`}},
	} {
		if got, err := read(t, row.format, row.file); err != nil || !slices.Equal(got, row.want) {
			t.Errorf("%s: %q, %v; want %q", name, got, err, row.want)
		}
	}
}

// TestAFileThatCannotBeReadSaysWhy, and what helps.
func TestAFileThatCannotBeReadSaysWhy(t *testing.T) {
	csv := orderfile.Format{CSV: true}
	for want, row := range map[string]struct {
		format orderfile.Format
		file   string
	}{
		"it is empty":                           {orderfile.Format{}, ""},
		"it is empty ":                          {csv, "\xef\xbb\xbf"},
		"in UTF-16":                             {csv, "\xff\xfeo\x00"},
		"or a spreadsheet":                      {csv, "PK\x03\x04"},
		`separated by ";": set --separator ";"`: {csv, "orderId;state\no-1;SHIPPED\n"},
		"needs the columns orderId and state":   {csv, "id,status\no-1,SHIPPED\n"},
		`has no column "nr"`:                    {orderfile.Format{CSV: true, Columns: map[string]string{"orderId": "nr"}}, "id,state\n"},
		"there is no such field":                {orderfile.Format{CSV: true, Columns: map[string]string{"number": "nr"}}, "nr,state\n"},
		"the column holds":                      {orderfile.Format{CSV: true, Columns: map[string]string{"orderId": "nr", "reference": "nr"}}, "nr,state\n"},
	} {
		if _, err := read(t, row.format, row.file); !errors.Is(err, orderfile.ErrFile) || !strings.Contains(err.Error(), strings.TrimSpace(want)) {
			t.Errorf("%s: %v", want, err)
		}
	}
}

// TestWhatCannotBeKeptIsRefused: other encodings, and a quote that takes the rest of the file.
func TestWhatCannotBeKeptIsRefused(t *testing.T) {
	lines, err := read(t, orderfile.Format{}, "{\"orderId\":\"a\xff\",\"state\":\"S\"}\n")
	if err != nil || len(lines) != 1 || !strings.Contains(lines[0], "not UTF-8") {
		t.Errorf("%q, %v", lines, err)
	}

	err = orderfile.Read(strings.NewReader("orderId,state\na,\"S\n"+strings.Repeat("b,S\n", 2<<20)), orderfile.Format{CSV: true}, func(orderfile.Line) error { return nil })
	if !errors.Is(err, orderfile.ErrFile) || !strings.Contains(err.Error(), "a quote is not closed") {
		t.Error(err)
	}
}

// TestAColumnFillsItsField: every field of a CSV is read.
func TestAColumnFillsItsField(t *testing.T) {
	file := "orderId,state,amount,currency,items,customer,reference,createdAt,enteredAt,shippingAddress.city,billingAddress.city,metadata.channel\n" +
		"o-1,SHIPPED,1250,EUR,mug:2:500 a:b:1:250,c-1,r-1,2026-11-20,2026-11-21T12:00:00Z,Ulm,Bonn,web\n"

	err := orderfile.Read(strings.NewReader(file), orderfile.Format{CSV: true}, func(l orderfile.Line) error {
		o := l.Order
		if l.Err != nil || o.Total.Amount != 1250 || len(o.Items) != 2 || o.Items[1].SKU != "a:b" || o.Customer != "c-1" || o.Reference != "r-1" || o.CreatedAt.Day() != 20 ||
			o.EnteredAt.Hour() != 12 || o.Shipping["city"] != "Ulm" || o.Billing["city"] != "Bonn" || o.Metadata["channel"] != "web" {
			t.Errorf("%+v, %v", o, l.Err)
		}

		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

// FuzzRead: no file makes the reader stop or panic, and line numbers grow.
func FuzzRead(f *testing.F) {
	f.Add([]byte("{\"orderId\":\"o-1\",\"state\":\"SHIPPED\"}\n"), false)
	f.Add([]byte("orderId,state\no-1,SHIPPED\n"), true)
	f.Add([]byte("orderId,state\n\"o-1\n,SHIPPED\n"), true)

	f.Fuzz(func(t *testing.T, file []byte, csv bool) {
		last := 0

		err := orderfile.Read(bytes.NewReader(file), orderfile.Format{CSV: csv}, func(l orderfile.Line) error {
			if l.Number <= last {
				t.Errorf("line %d after line %d", l.Number, last)
			}
			last = l.Number

			return nil
		})
		if err != nil && !errors.Is(err, orderfile.ErrFile) {
			t.Error(err)
		}
	})
}
