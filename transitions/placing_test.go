package transitions_test

import (
	"errors"
	"fmt"
	"maps"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"ratchet/transitions"
	"ratchet/workflow"
)

// full is an order with every part.
func full(id transitions.OrderID) transitions.NewOrder {
	return transitions.NewOrder{
		ID:        id,
		Items:     []transitions.Item{{SKU: "mug", Quantity: 1, Price: 5}},
		Total:     transitions.Money{Amount: 5, Currency: "EUR"},
		Customer:  "c-1",
		Reference: "R-2026-17",
		Shipping:  transitions.Address{"name": "Ada", "city": "Bonn"},
		Billing:   transitions.Address{"name": "Ada", "city": "Berlin"},
		Metadata:  transitions.Metadata{"channel": "app", "campaign": "may"},
	}
}

// TestAnOrderIsPlacedWithAllItsParts, keeps them, and a repeat must have the same.
func TestAnOrderIsPlacedWithAllItsParts(t *testing.T) {
	inBothModes(t, func(t *testing.T, open maker) {
		s := open(t)

		placed, err := s.Create(t.Context(), full("o-1"))
		if err != nil || placed.Verdict != transitions.Applied {
			t.Fatal(placed.Verdict, err)
		}

		moved, err := s.Apply(t.Context(), transitions.Request{OrderID: "o-1", Event: workflow.Hold, TransitionID: 2})
		if err != nil {
			t.Fatal(err)
		}

		for _, o := range []*transitions.Order{placed.Order, moved.Order} {
			if diff := cmp.Diff(full("o-1"), o.Content()); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		}

		if r, err := s.Create(t.Context(), full("o-1")); err != nil || r.Verdict != transitions.Replayed {
			t.Errorf("again: %v %v", r.Verdict, err)
		}

		for name, change := range map[string]func(*transitions.NewOrder){
			"another reference":            func(n *transitions.NewOrder) { n.Reference = "R-2026-18" },
			"no reference":                 func(n *transitions.NewOrder) { n.Reference = "" },
			"another shipping address":     func(n *transitions.NewOrder) { n.Shipping = transitions.Address{"city": "Bonn"} },
			"addresses the other way":      func(n *transitions.NewOrder) { n.Shipping, n.Billing = n.Billing, n.Shipping },
			"other metadata":               func(n *transitions.NewOrder) { n.Metadata = transitions.Metadata{"channel": "web", "campaign": "may"} },
			"metadata as a second address": func(n *transitions.NewOrder) { n.Metadata, n.Billing = nil, transitions.Address(n.Metadata) },
			"none of them": func(n *transitions.NewOrder) {
				n.Reference, n.Shipping, n.Billing, n.Metadata = "", nil, nil, nil
			},
		} {
			other := full("o-1")
			change(&other)

			if r, err := s.Create(t.Context(), other); err != nil || r.Verdict != transitions.Conflict {
				t.Errorf("%s: %v %v, want Conflict", name, r.Verdict, err)
			}
		}
	})
}

// TestEachPartOfAPlacingIsCompared, also without a reference, and however many members the parts have.
func TestEachPartOfAPlacingIsCompared(t *testing.T) {
	s := newOrders(t)

	for i, changes := range [][2]func(*transitions.NewOrder){
		{
			func(n *transitions.NewOrder) {
				n.Shipping, n.Billing = transitions.Address{"city": "Bonn"}, transitions.Address{"city": "Bonn"}
			},
			func(n *transitions.NewOrder) { n.Billing = transitions.Address{"city": "Berlin"} },
		},
		{
			func(n *transitions.NewOrder) {
				n.Shipping, n.Metadata = transitions.Address{"city": "Bonn"}, transitions.Metadata{"channel": "app"}
			},
			func(n *transitions.NewOrder) { n.Metadata = transitions.Metadata{"channel": "web"} },
		},
		{
			func(n *transitions.NewOrder) {
				n.Billing, n.Metadata = transitions.Address{"city": "Bonn"}, transitions.Metadata{"channel": "app"}
			},
			func(n *transitions.NewOrder) { n.Billing = transitions.Address{"city": "Berlin"} },
		},
		{func(n *transitions.NewOrder) {}, func(n *transitions.NewOrder) { n.Reference = "R-1" }},
	} {
		n := transitions.NewOrder{ID: transitions.OrderID(fmt.Sprint("o-", i)), Total: transitions.Money{Amount: 5, Currency: "EUR"}}
		changes[0](&n)

		for _, want := range []transitions.Verdict{transitions.Applied, transitions.Replayed} {
			if r, err := s.Create(t.Context(), n); err != nil || r.Verdict != want {
				t.Errorf("order %d: %v %v, want %v", i, r.Verdict, err, want)
			}
		}
		changes[1](&n)

		if r, err := s.Create(t.Context(), n); err != nil || r.Verdict != transitions.Conflict {
			t.Errorf("order %d with another part: %v %v", i, r.Verdict, err)
		}
	}
}

func TestWhatAnOrderIsPlacedWithHasBounds(t *testing.T) {
	members := func(n, size int) map[string]string {
		m := map[string]string{}
		for i := range n {
			m[fmt.Sprintf("m%02d", i)] = strings.Repeat("x", size)
		}

		return m
	}

	for want, change := range map[string]func(*transitions.NewOrder){
		"reference: 1 to 100 of A-Z a-z 0-9 . _ : -":    func(n *transitions.NewOrder) { n.Reference = "R 17" },
		"reference: 1 to 100":                           func(n *transitions.NewOrder) { n.Reference = strings.Repeat("r", 101) },
		"shippingAddress.city: UTF-8, at most 512":      func(n *transitions.NewOrder) { n.Shipping = transitions.Address{"city": strings.Repeat("x", 513)} },
		"billingAddress: names of fields":               func(n *transitions.NewOrder) { n.Billing = transitions.Address{"a b": "x"} },
		"metadata: 21 members, at most 20":              func(n *transitions.NewOrder) { n.Metadata = members(21, 1) },
		"metadata: names have 1 to 40 characters":       func(n *transitions.NewOrder) { n.Metadata = transitions.Metadata{strings.Repeat("n", 41): "x"} },
		"metadata.m00: UTF-8, at most 200 bytes":        func(n *transitions.NewOrder) { n.Metadata = members(1, 201) },
		"metadata: 2060 bytes, at most 2048":            func(n *transitions.NewOrder) { n.Metadata = members(20, 100) },
		"metadata.channel: UTF-8, at most 200 bytes":    func(n *transitions.NewOrder) { n.Metadata = transitions.Metadata{"channel": "\xff"} },
		"metadata: names have 1 to 40 characters of A-": func(n *transitions.NewOrder) { n.Metadata = transitions.Metadata{"": "x"} },
	} {
		n := full("o-1")
		change(&n)

		if err := n.Validate(); !errors.Is(err, transitions.ErrInvalidRequest) || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want one with %q", err, want)
		}
	}

	// 20 members, one text of 200 bytes, 2,048 bytes together.
	n := full("o-1")
	n.Metadata, n.Reference = members(20, 94), strings.Repeat("r", 100)
	n.Metadata["m00"], n.Metadata["m01"] = strings.Repeat("x", 200), strings.Repeat("x", 96)

	if err := n.Validate(); err != nil {
		t.Errorf("at the bounds: %v", err)
	}
	n.Metadata["m01"] += "x"

	if err := n.Validate(); err == nil || !strings.Contains(err.Error(), "metadata: 2049 bytes") {
		t.Errorf("above the bounds: %v", err)
	}
}

// TestWhatAPersonIsCalledIsNotPrinted: by no verb, and by no error.
func TestWhatAPersonIsCalledIsNotPrinted(t *testing.T) {
	n := full("o-1")
	for _, text := range []string{fmt.Sprint(n), fmt.Sprintf("%+v", n), fmt.Sprintf("%#v", n), n.Metadata.LogValue().String()} {
		for _, secret := range []string{"Ada", "Bonn", "campaign", "may"} {
			if strings.Contains(text, secret) {
				t.Errorf("%s prints %s", text, secret)
			}
		}
	}

	n.Metadata = maps.Clone(n.Metadata)
	n.Metadata["bad name of Ada"] = "x"

	if err := n.Validate(); err == nil || strings.Contains(err.Error(), "Ada") {
		t.Errorf("the error shows the name: %v", err)
	}
}
