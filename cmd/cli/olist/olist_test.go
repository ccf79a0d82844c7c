package olist_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"ratchet/cmd/cli/internal/textfile"
	"ratchet/cmd/cli/olist"
	"ratchet/workflow"
)

const header = "order_id,customer_id,order_status,order_purchase_timestamp,order_approved_at,order_delivered_carrier_date,order_delivered_customer_date\n"

func TestReadOrdersEventsByTime(t *testing.T) {
	input := header +
		"a,c,delivered,2018-01-01 10:00:00,2018-01-01 11:00:00,2018-01-02 00:00:00,2018-01-03 00:00:00\n" +
		"b,c,delivered,2018-01-01 10:00:00,2018-01-05 00:00:00,2018-01-02 00:00:00,2018-01-03 00:00:00\n" +
		"c,c,canceled,2018-01-01 10:00:00,2018-01-01 11:00:00,,\n" +
		"d,c,delivered,yesterday,,,\n" +
		"e,c,lost,2018-01-01 10:00:00,,,\n" +
		"f,c,delivered\n" +
		"g,c,created,,,,\n"
	got := map[string][]workflow.Event{}
	var bad []string

	err := olist.Read(strings.NewReader(input), func(_ int, h olist.History) error {
		for _, e := range h.Events {
			got[h.OrderID] = append(got[h.OrderID], e.Event)
		}
		return nil
	}, func(line int, reason error) {
		bad = append(bad, strings.Join([]string{string(rune('0' + line)), reason.Error()}, ": "))
	})
	if err != nil {
		t.Fatal(err)
	}

	want := map[string][]workflow.Event{
		"a": {workflow.Place, workflow.Pay, workflow.Ship, workflow.Deliver},
		"b": {workflow.Place, workflow.Ship, workflow.Deliver, workflow.Pay},
		"c": {workflow.Place, workflow.Pay, workflow.Cancel},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}

	wantBad := []string{
		`5: order_purchase_timestamp "yesterday" is not a time like 2018-08-17 12:15:10`,
		`6: order_status "lost" is unknown`,
		"7: 3 columns, and the header has 7",
		"8: order_purchase_timestamp is empty",
	}
	if diff := cmp.Diff(wantBad, bad); diff != "" {
		t.Errorf("bad lines (-want +got):\n%s", diff)
	}
}

// TestAFileThatCannotBeReadSaysWhy: another header, other separators, no text at all.
func TestAFileThatCannotBeReadSaysWhy(t *testing.T) {
	for file, want := range map[string]string{
		"a,b\n1,2\n":                         "no column order_id",
		strings.ReplaceAll(header, ",", ";"): `separated by ";"`,
		"":                                   "it is empty",
		"PK\x03\x04":                         "a spreadsheet",
		header + "a,\"" + strings.Repeat("x", 3<<20): "a quote is not closed",
	} {
		err := olist.Read(strings.NewReader(file), func(int, olist.History) error { return nil }, func(int, error) {})
		if !errors.Is(err, textfile.ErrFile) || !strings.Contains(err.Error(), want) {
			t.Errorf("%.20q: %v; want %s", file, err, want)
		}
	}
}

// TestAByteOrderMarkCostsNothing: neither the header nor the first order.
func TestAByteOrderMarkCostsNothing(t *testing.T) {
	var lines []int

	err := olist.Read(strings.NewReader("\xef\xbb\xbf"+header+"a,c,created,2018-01-01 10:00:00,,,\n"), func(line int, _ olist.History) error {
		lines = append(lines, line)
		return nil
	}, nil)
	if err != nil || !slices.Equal(lines, []int{2}) {
		t.Error(lines, err)
	}
}
