package reports_test

import (
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"ratchet/shipping/reports"
	"ratchet/transitions"
)

// TestTheAmountOfAParcel states the rules for discounts, charges and prices.
func TestTheAmountOfAParcel(t *testing.T) {
	mug, cup := transitions.Item{SKU: "mug", Quantity: 3, Price: 100}, transitions.Item{SKU: "cup", Quantity: 1, Price: 50}
	dearMug := transitions.Item{SKU: "mug", Quantity: 1, Price: 120}
	line := func(sku string, n int64) transitions.ParcelLine { return transitions.ParcelLine{SKU: sku, Quantity: n} }

	for name, test := range map[string]struct {
		items   []transitions.Item
		total   int64
		lines   []transitions.ParcelLine
		want    int64
		unknown string
	}{
		"the sum of the prices":               {[]transitions.Item{mug, cup}, 350, []transitions.ParcelLine{line("mug", 2), line("cup", 1)}, 250, ""},
		"shipping was paid beside":            {[]transitions.Item{mug, cup}, 400, []transitions.ParcelLine{line("mug", 3), line("cup", 1)}, 350, ""},
		"a discount is spread by price":       {[]transitions.Item{mug, cup}, 175, []transitions.ParcelLine{line("mug", 1), line("cup", 1)}, 75, ""},
		"and rounded down":                    {[]transitions.Item{mug}, 200, []transitions.ParcelLine{line("mug", 1)}, 66, ""},
		"nothing was paid":                    {[]transitions.Item{mug}, 0, []transitions.ParcelLine{line("mug", 1)}, 0, ""},
		"one price on two lines":              {[]transitions.Item{mug, mug}, 600, []transitions.ParcelLine{line("mug", 4)}, 400, ""},
		"several prices":                      {[]transitions.Item{mug, dearMug}, 420, []transitions.ParcelLine{line("mug", 1)}, 0, "mug at several prices"},
		"several prices, the dearest between": {[]transitions.Item{dearMug, mug, dearMug}, 540, []transitions.ParcelLine{line("mug", 1)}, 0, "mug at several prices"},
		"several prices, all in the parcel":   {[]transitions.Item{mug, dearMug}, 420, []transitions.ParcelLine{line("mug", 4)}, 420, ""},
		"no lines":                            {[]transitions.Item{mug}, 300, nil, 0, "not known"},
		"large prices": {[]transitions.Item{{SKU: "ship", Quantity: 1000, Price: 1e15}}, 1e15,
			[]transitions.ParcelLine{line("ship", 999)}, 999e12, ""},
	} {
		order := &transitions.Order{Items: test.items, Total: transitions.Money{Amount: test.total, Currency: "EUR"}}

		got, unknown := reports.ParcelAmount(order, test.lines)
		if got != test.want || (unknown == "") != (test.unknown == "") || !strings.Contains(unknown, test.unknown) {
			t.Errorf("%s: %d, %q; want %d, %q", name, got, unknown, test.want, test.unknown)
		}
	}
}

// TestParcelsNeverCostMoreThanTheirOrder, however an order is split into parcels.
func TestParcelsNeverCostMoreThanTheirOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		order := &transitions.Order{Total: transitions.Money{Amount: rapid.Int64Range(0, 5000).Draw(t, "total"), Currency: "EUR"}}

		parcels := make([][]transitions.ParcelLine, rapid.IntRange(1, 5).Draw(t, "parcels"))
		for i := range rapid.IntRange(1, 4).Draw(t, "lines") {
			item := transitions.Item{
				SKU: fmt.Sprint("sku-", i), Quantity: rapid.Int64Range(1, 5).Draw(t, "quantity"), Price: rapid.Int64Range(0, 500).Draw(t, "price"),
			}
			order.Items = append(order.Items, item)

			for range item.Quantity {
				p := rapid.IntRange(0, len(parcels)-1).Draw(t, "parcel")
				parcels[p] = append(parcels[p], transitions.ParcelLine{SKU: item.SKU, Quantity: 1})
			}
		}

		var sum int64
		for _, lines := range parcels {
			amount, _ := reports.ParcelAmount(order, lines)
			if amount < 0 {
				t.Fatalf("%v costs %d", lines, amount)
			}
			sum += amount
		}

		if sum > order.Total.Amount {
			t.Fatalf("the parcels cost %d, the order %d", sum, order.Total.Amount)
		}
	})
}
