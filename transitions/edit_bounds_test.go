package transitions_test

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"ratchet/transitions"
)

// fields returns an address with so many fields of one byte.
func fields(n int) transitions.Address {
	address := transitions.Address{}
	for i := range n {
		address[fmt.Sprintf("%02d", i)] = "x"
	}

	return address
}

// What an edit and a new order may contain ends exactly at the bounds that are documented. What
// is beyond is refused with the name of the field.
func TestContentEndsAtItsBounds(t *testing.T) {
	s := newOrders(t)
	n := 0
	next := func() transitions.Edit {
		n++
		return edit("o-1", fmt.Sprint("e-", n))
	}
	add := func(sku string, quantity, price int64) error {
		_, err := s.AddItems(t.Context(), next(), transitions.Item{SKU: sku, Quantity: quantity, Price: price})
		return err
	}
	change := func(sku string) error {
		_, err := s.ChangeItem(t.Context(), next(), transitions.Item{SKU: sku, Quantity: 1})
		return err
	}
	address := func(a transitions.Address) error {
		_, err := s.SetAddress(t.Context(), next(), "billing", a)
		return err
	}
	note := func(by, text string) error {
		_, err := s.AddNote(t.Context(), next(), transitions.Note{By: by, Text: text})
		return err
	}
	order := func(lines int, line transitions.Item) error {
		return transitions.NewOrder{ID: "o-2", Items: slices.Repeat([]transitions.Item{line}, lines), Total: transitions.Money{Currency: "EUR"}}.Validate()
	}
	long := func(n int) string { return strings.Repeat("x", n) }
	broad := func(last int) transitions.Address { // 7 fields of 513 bytes and one of last+1, with their names
		a := transitions.Address{"z": long(last)}
		for i := range 7 {
			a[fmt.Sprint(i)] = long(512)
		}

		return a
	}
	s.place(t, "o-1")

	for name, row := range map[string]struct {
		err   error
		field string // "" if it is accepted
	}{
		"free pieces":                 {err: add("cup", 1, 0)},
		"a SKU of 129 bytes":          {add(long(129), 1, 1), "items[0].sku"},
		"a changed SKU with a space":  {change("a b"), "item.sku"},
		"32 fields":                   {err: address(fields(32))},
		"33 fields":                   {address(fields(33)), "33 fields, 1 to 32"},
		"a field of 512 bytes":        {err: address(transitions.Address{"city": long(512)})},
		"a field of 513 bytes":        {address(transitions.Address{"city": long(513)}), "address.city"},
		"a field that is not UTF-8":   {address(transitions.Address{"city": "\xff"}), "address.city"},
		"a field with a wrong name":   {address(transitions.Address{"the city": "x"}), "names of fields"},
		"an address of 4,096 bytes":   {err: address(broad(4096 - 7*513 - 1))},
		"an address of 4,097 bytes":   {address(broad(4096 - 7*513)), "address: 4097 bytes, at most 4096"},
		"a note of 1,001 bytes":       {note("", long(1001)), "note.text"},
		"a note that is not UTF-8":    {note("", "\xff"), "note.text"},
		"an author of 128 bytes":      {err: note(long(128), "x")},
		"an author of 129 bytes":      {note(long(129), "x"), "note.by"},
		"an author that is not UTF-8": {note("\xff", "x"), "note.by"},
		"1,000 lines":                 {err: order(1000, cup)},
		"1,001 lines":                 {order(1001, cup), "items: 1001 lines, at most 1000"},
		"a line with a wrong SKU":     {order(2, transitions.Item{SKU: "a b", Quantity: 1}), "items[0].sku"},
		"a line without pieces":       {order(1, transitions.Item{SKU: "a"}), "items[0].quantity 0"},
		"a free line":                 {err: order(1, transitions.Item{SKU: "a", Quantity: 1})},
		"a line below 0":              {order(1, transitions.Item{SKU: "a", Quantity: 1, Price: -1}), "items[0].price -1"},
		"a total below 0":             {transitions.NewOrder{ID: "o-2", Total: transitions.Money{Amount: -1, Currency: "EUR"}}.Validate(), "total.amount -1"},
		"a wrong currency":            {transitions.NewOrder{ID: "o-2", Total: transitions.Money{Currency: "eur"}}.Validate(), "total.currency"},
	} {
		switch {
		case row.field == "":
			if row.err != nil {
				t.Errorf("%s: %v", name, row.err)
			}
		case !errors.Is(row.err, transitions.ErrInvalidRequest) || !strings.Contains(row.err.Error(), row.field):
			t.Errorf("%s: %v, want an invalid request that names %s", name, row.err, row.field)
		}
	}
}

// placeLines places o-1 with the lines and a total, which may differ from the cost of the lines.
func (s *orders) placeLines(t *testing.T, total int64, lines ...transitions.Item) *transitions.Order {
	t.Helper()

	r, err := s.Create(t.Context(), transitions.NewOrder{ID: "o-1", Items: lines, Total: transitions.Money{Amount: total, Currency: "EUR"}})
	if err != nil || r.Verdict != transitions.Applied {
		t.Fatal(r.Verdict, err)
	}

	return r.Order
}

// mostMoney is the largest total of an edited order.
const mostMoney = 1_000_000_000_000_000

// An order may be placed with lines that cost more than any edited order. They can be neither
// changed nor removed. A line that costs just as much can.
func TestALineBeyondTheLargestTotalCannotBeEdited(t *testing.T) {
	for _, price := range []int64{1, 2, 4} {
		s := newOrders(t)
		s.placeLines(t, mostMoney, transitions.Item{SKU: "mug", Quantity: mostMoney/price + 1, Price: price})

		if _, err := s.RemoveItem(t.Context(), edit("o-1", "e"), "mug"); limitOf(t, err) != "total.amount" {
			t.Errorf("removed at %d: %v", price, err)
		}

		if _, err := s.ChangeItem(t.Context(), edit("o-1", "e"), mug); limitOf(t, err) != "total.amount" {
			t.Errorf("changed at %d: %v", price, err)
		}

		s = newOrders(t)
		s.placeLines(t, mostMoney, transitions.Item{SKU: "mug", Quantity: mostMoney / price, Price: price})

		if r := edited(t, transitions.Applied)(s.RemoveItem(t.Context(), edit("o-1", "e"), "mug")); r.Order.Total.Amount != 0 {
			t.Errorf("the total is %d", r.Order.Total.Amount)
		}
	}
}

// An edit that costs nothing needs no room in the total, but a total.
func TestAnEditThatCostsNothingLeavesTheTotal(t *testing.T) {
	s := newOrders(t)
	e := edit("o-1", "a")
	e.Seen = s.placeLines(t, math.MaxInt64, mug)

	same := transitions.Item{SKU: mug.SKU, Quantity: 1, Price: mug.Price * mug.Quantity}
	if r := edited(t, transitions.Applied)(s.ChangeItem(t.Context(), e, same)); r.Order.Total.Amount != math.MaxInt64 {
		t.Errorf("the total is %d", r.Order.Total.Amount)
	}

	s.foreign(t, "o-2", "PENDING")

	free := transitions.Item{SKU: "gift", Quantity: 1}
	if r := edited(t, transitions.WrongState)(s.AddItems(t.Context(), edit("o-2", "e"), free)); !strings.Contains(r.Reason, "no total") {
		t.Errorf("reason %q", r.Reason)
	}
}

// The largest total is reached also by an edit of an order that was read.
func TestAnEditMayReachTheLargestTotal(t *testing.T) {
	s := newOrders(t)
	order := s.placeLines(t, mostMoney-1)

	e := edit("o-1", "two")
	e.Seen = order
	if _, err := s.AddItems(t.Context(), e, transitions.Item{SKU: "cup", Quantity: 1, Price: 2}); limitOf(t, err) != "total.amount" {
		t.Error(err)
	}

	e = edit("o-1", "one")
	e.Seen = order
	s.Wire.Reset()

	if r := edited(t, transitions.Applied)(s.AddItems(t.Context(), e, transitions.Item{SKU: "cup", Quantity: 1, Price: 1})); r.Order.Total.Amount != mostMoney || len(s.Wire.Calls()) != 1 {
		t.Errorf("the total is %d, calls %v", r.Order.Total.Amount, s.Wire.Calls())
	}
}

func TestTwentyLinesAreRemovedAtOnce(t *testing.T) {
	s := newOrders(t)
	s.placeLines(t, 20, slices.Repeat([]transitions.Item{{SKU: "mug", Quantity: 1, Price: 1}}, 20)...)

	if r := edited(t, transitions.Applied)(s.RemoveItem(t.Context(), edit("o-1", "e"), "mug")); len(r.Order.Items) != 0 || r.Order.Total.Amount != 0 {
		t.Errorf("%+v", r.Order)
	}
}

// Lines are added, and addresses and notes are set, by one write and no read.
func TestEditsThatNeedNoReadMakeNone(t *testing.T) {
	s := newOrders(t)
	s.place(t, "o-1")

	for _, kind := range []string{"add_items", "set_address", "add_note"} {
		s.Wire.Reset()
		edited(t, transitions.Applied)(kinds(s, t)[kind][0](edit("o-1", kind)))

		if calls := s.Wire.Calls(); !slices.Equal(calls, []string{"UpdateItem"}) {
			t.Errorf("%s: %v", kind, calls)
		}
	}
}
