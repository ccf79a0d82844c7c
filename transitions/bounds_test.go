package transitions_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"ratchet/embedded/embeddedtest"
	"ratchet/transitions"
	"ratchet/workflow"
)

func limitOf(t *testing.T, err error) string {
	t.Helper()

	var limit *transitions.LimitError
	if !errors.As(err, &limit) || !errors.Is(err, transitions.ErrOrderFull) {
		t.Errorf("%v is no limit", err)
		return ""
	}

	return limit.What
}

// What exceeds a limit of the content is a LimitError, and changes nothing.
func TestTheContentHasLimits(t *testing.T) {
	s := newOrders(t)
	mugs := slices.Repeat([]transitions.Item{{SKU: "mug", Quantity: 1, Price: 1}}, 21)

	if _, err := s.Create(t.Context(), transitions.NewOrder{ID: "o-1", Items: mugs, Total: transitions.Money{Amount: 21, Currency: "EUR"}}); err != nil {
		t.Fatal(err)
	}

	_, err := s.RemoveItem(t.Context(), edit("o-1", "e-1"), "mug")
	if what := limitOf(t, err); !strings.Contains(what, "removed at once") {
		t.Errorf("21 lines: %q", what)
	}

	// Each line is at its bound, and both together are beyond the bound of the total.
	dear := transitions.Item{SKU: "ring", Quantity: 1_000_000, Price: 1_000_000_000}

	_, err = s.AddItems(t.Context(), edit("o-1", "e-2"), dear, dear)
	if what := limitOf(t, err); what != "total.amount" {
		t.Errorf("too much money: %q", what)
	}

	if o, _, err := s.Get(t.Context(), "o-1"); err != nil || len(o.Items) != 21 || o.ContentVersion != 0 {
		t.Errorf("%d lines, version %d, %v", len(o.Items), o.ContentVersion, err)
	}

	shipped := transitions.Item{SKU: "cup", Quantity: 2, Price: 1, Shipped: 1}
	if _, err := s.AddItems(t.Context(), edit("o-1", "e-3"), shipped); !errors.Is(err, transitions.ErrInvalidRequest) || !strings.Contains(err.Error(), "shipped") {
		t.Error(err)
	}
}

// A total falls to 0 at most, and lines may be removed until then.
func TestTheTotalFallsToZero(t *testing.T) {
	s := newOrders(t)
	if _, err := s.Create(t.Context(), transitions.NewOrder{ID: "o-1", Items: []transitions.Item{{SKU: "mug", Quantity: 2, Price: 5}}, Total: transitions.Money{Amount: 10, Currency: "EUR"}}); err != nil {
		t.Fatal(err)
	}

	if r, err := s.RemoveItem(t.Context(), edit("o-1", "e-1"), "mug"); err != nil || r.Verdict != transitions.Applied || r.Order.Total.Amount != 0 {
		t.Errorf("%+v, %v", r, err)
	}

	most := transitions.Item{SKU: "ring", Quantity: 1_000_000, Price: 1_000_000_000}
	if r, err := s.AddItems(t.Context(), edit("o-1", "e-2"), most); err != nil || r.Order.Total.Amount != 1_000_000_000_000_000 {
		t.Errorf("the largest total: %+v, %v", r, err)
	}
}

func TestOrderIDsHaveABound(t *testing.T) {
	for length, valid := range map[int]bool{0: false, 1: true, 256: true, 257: false} {
		if err := transitions.OrderID(strings.Repeat("o", length)).Validate(); valid != (err == nil) {
			t.Errorf("%d bytes: %v", length, err)
		}
	}
}

// Ids consist of the characters that are documented, and of no others.
func TestIDsConsistOfTheirCharacters(t *testing.T) {
	for c := range 256 {
		one := string([]byte{byte(c)})

		// A byte from 128 on is no UTF-8 alone.
		if err := transitions.OrderID("o" + one).Validate(); (c >= 32 && c <= 126) != (err == nil) {
			t.Errorf("an order's id with the byte %d: %v", c, err)
		}

		printable := c >= 32 && c <= 126
		if err := keyed("o-1", workflow.Pay, transitions.RequestID("k"+one)).Validate(); printable != (err == nil) {
			t.Errorf("a request id with the byte %d: %v", c, err)
		}
	}

	for length, valid := range map[int]bool{1: true, 255: true, 256: false} {
		err := keyed("o-1", workflow.Pay, transitions.RequestID(strings.Repeat("k", length))).Validate()
		if valid != (err == nil) || err != nil && !strings.Contains(err.Error(), "requestId") {
			t.Errorf("a request id of %d bytes: %v", length, err)
		}
	}
}

// What a request has seen is an id that an order may have had, and that another id may follow.
func TestTheSeenIDHasBounds(t *testing.T) {
	const largest = 1<<53 - 2
	for id, valid := range map[transitions.TransitionID]bool{-1: false, 0: true, largest: true, largest + 1: false} {
		r := keyed("o-1", workflow.Pay, "k")
		r.IfMatch = &id

		err := r.Validate()
		if valid != (err == nil) || err != nil && !strings.Contains(err.Error(), fmt.Sprintf("ifMatch %d: 0 to %d", id, largest)) {
			t.Errorf("%d: %v", id, err)
		}
	}
}

// An error repeats 64 bytes of a text from outside, and not more.
func TestErrorsRepeatTheBeginningOfAText(t *testing.T) {
	for length, want := range map[int]string{64: strings.Repeat("/", 63) + `\n"`, 65: strings.Repeat("/", 63) + `\n..."`} {
		if err := transitions.OrderID(strings.Repeat("/", 63) + "\n" + strings.Repeat("/", length-64)).Validate(); err == nil || !strings.Contains(err.Error(), want+":") {
			t.Errorf("%d bytes: %v", length, err)
		}
	}
}

func TestIDsOfExecutionsAndCarriersAreReserved(t *testing.T) {
	for id, want := range map[transitions.RequestID]bool{
		"payment/paid": true, "payment/declined": true, "accept/out-of-stock": true, "refund/returned": true, "carrier/any": true, "carrier/": true,
		"payment": false, "payment/other": false, "carrier": false, "": false,
	} {
		if got := id.IsReserved(); got != want {
			t.Errorf("%q: %v", id, got)
		}
	}
}

func TestVerdictsAreTexts(t *testing.T) {
	for i, want := range []string{"Applied", "Replayed", "Superseded", "WrongState", "Conflict", "NotFound", "Illegal"} {
		v := transitions.Verdicts()[i]

		got, err := v.MarshalText()
		if err != nil || string(got) != want || v.String() != want {
			t.Errorf("%q, want %q, %v", got, want, err)
		}

		var read transitions.Verdict
		if err := read.UnmarshalText(got); err != nil || read != v {
			t.Errorf("%q is read as %s, %v", got, read, err)
		}
	}

	for v, want := range map[transitions.Verdict]string{0: "Verdict(0)", 8: "Verdict(8)", 255: "Verdict(255)"} {
		var read transitions.Verdict
		if err := read.UnmarshalText([]byte(v.String())); v.String() != want || err == nil || read != 0 {
			t.Errorf("%q is read as %s, %v", v, read, err)
		}
	}
}

// An error of a call names the event and the order.
func TestErrorsNameTheRequest(t *testing.T) {
	s := newOrders(t)
	s.Wire.Inject(embeddedtest.Answer("AccessDeniedException"))

	for want, r := range map[string]transitions.Request{
		"apply transition 2 (pay) to order o-1: ": given("o-1", workflow.Pay, 2),
		"apply pay to order o-1: ":                keyed("o-1", workflow.Pay, "k"),
	} {
		if _, err := s.Apply(t.Context(), r); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%v, want one that begins with %q", err, want)
		}
	}

	if _, _, err := s.Get(t.Context(), "a\nb"); !errors.Is(err, transitions.ErrInvalidRequest) {
		t.Errorf("get an order whose id is invalid: %v", err)
	}
}

// An order has reached its state, and every state that it entered after the given id.
func TestAnOrderHasReachedItsNewestStates(t *testing.T) {
	s := newOrders(t)
	n := transitions.NewOrder{ID: "o-1", Total: transitions.Money{Amount: 5, Currency: "EUR"}}

	if _, err := s.Create(t.Context(), n); err != nil {
		t.Fatal(err)
	}

	var o *transitions.Order
	for i, event := range []workflow.Event{workflow.Hold, workflow.Release, workflow.Pay} {
		r, err := s.Apply(t.Context(), transitions.Request{OrderID: "o-1", Event: event, TransitionID: transitions.TransitionID(i + 2)})
		if err != nil || r.Verdict != transitions.Applied {
			t.Fatal(r.Verdict, err)
		}
		o = r.Order
	}

	for _, row := range []struct {
		state workflow.State
		since transitions.TransitionID
		want  bool
	}{
		{workflow.PaymentReceived, 4, true}, // it is there
		{workflow.OnHold, 0, true},
		{workflow.OnHold, 1, true},
		{workflow.OnHold, 2, false},
		{workflow.Pending, 2, true}, // released by 3
		{workflow.Pending, 3, false},
		{workflow.Shipped, 0, false},
	} {
		if got := o.Reached(row.state, row.since); got != row.want {
			t.Errorf("%s since %d: %v", row.state, row.since, got)
		}
	}
}
