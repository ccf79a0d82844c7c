package transitions_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"ratchet/internal/dynamo"
	"ratchet/tests/shop"
	"ratchet/transitions"
	"ratchet/workflow"
)

const trace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"

// fullCause has every field, and text and trace at their bound together.
var fullCause = transitions.Cause{
	Code:   "fraud-check",
	Text:   strings.Repeat("t", 49),
	Actor:  "key:2vq0abcd",
	Source: "api",
	Trace:  trace,
}

// because returns the request with the cause.
func because(c transitions.Cause, r transitions.Request) transitions.Request {
	r.Cause = c
	return r
}

// ringed is the part of fullCause that the ring keeps.
var ringed = transitions.Cause{Code: "fraud-check"}

// TestACauseTravelsWithItsTransition: into the answer, the order, the stream's record and the
// journal. The next transition leaves only the code in the order, and all in the journal.
func TestACauseTravelsWithItsTransition(t *testing.T) {
	inBothModes(t, func(t *testing.T, open maker) {
		s := open(t)
		s.place(t, "o-1")
		placed := s.Item(t, "o-1")

		held := s.want(t, because(fullCause, given("o-1", workflow.Hold, 2)), transitions.Applied)
		after := s.Item(t, "o-1")
		order, _, err := s.Get(t.Context(), "o-1")
		if err != nil {
			t.Fatal(err)
		}

		change, grew, err := transitions.Mapping{}.FromRecord(placed, after)
		if err != nil || !grew {
			t.Fatal(grew, err)
		}

		for what, got := range map[string]transitions.Cause{
			"answer":   held.Transition.Cause,
			"answered": held.Order.Cause,
			"order":    order.Cause,
			"stream":   change.Transition.Cause,
		} {
			if diff := cmp.Diff(fullCause, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", what, diff)
			}
		}

		shop.Record(t, s.Orders, placed, after)
		released := s.want(t, given("o-1", workflow.Release, 3), transitions.Applied)
		shop.Record(t, s.Orders, after, s.Item(t, "o-1"))

		if released.Order.Cause != (transitions.Cause{}) || s.Item(t, "o-1")["cause"] != nil {
			t.Errorf("the order keeps the cause of an older transition: %+v", released.Order.Cause)
		}

		if got := released.Order.Recent()[1].Cause; got != ringed {
			t.Errorf("the ring has %+v", got)
		}

		rows, err := s.History(t.Context(), "o-1", 1, 0)
		if err != nil || len(rows) != 2 || rows[0].Cause != fullCause || rows[1].Cause != (transitions.Cause{}) {
			t.Errorf("journal %+v, %v", rows, err)
		}

		// Facts of the journal, which know more, agree with the ring.
		var facts transitions.Facts
		if err := facts.Rebuild(s.RowsOf(t.Context(), "o-1", 0)); err == nil {
			for id, difference := range facts.RingDifferences(released.Order) {
				t.Errorf("transition %d: %s", id, difference)
			}
		}
	})
}

// TestAnotherCodeIsADifference: the ring and the journal have the code of a cause, and only the journal the rest.
func TestAnotherCodeIsADifference(t *testing.T) {
	s := newOrders(t)
	s.place(t, "o-1")
	placed := s.Item(t, "o-1")
	shop.Record(t, s.Orders, nil, placed)
	held := s.want(t, because(fullCause, given("o-1", workflow.Hold, 2)), transitions.Applied)

	for code, want := range map[string]int{"": 1, "fraud-check": 0, "other": 1} {
		var facts transitions.Facts

		for row, err := range s.RowsOf(t.Context(), "o-1", 0) {
			if err != nil {
				t.Fatal(err)
			}

			if err := facts.Add(row); err != nil {
				t.Fatal(err)
			}
		}

		row := transitions.Row{Transition: held.Transition, PreviousID: 1}
		row.Cause = transitions.Cause{Code: code}

		if err := facts.Add(row); err != nil {
			t.Fatal(err)
		}

		got := 0
		for id, difference := range facts.RingDifferences(held.Order) {
			got++
			t.Logf("%q: transition %d: %s", code, id, difference)
		}

		if got != want {
			t.Errorf("%q: %d differences, want %d", code, got, want)
		}
	}
}

// TestACauseIsNoPartOfTheContent: a retry with another one is the same request, and changes
// nothing.
func TestACauseIsNoPartOfTheContent(t *testing.T) {
	inBothModes(t, func(t *testing.T, open maker) {
		s := open(t)
		s.place(t, "o-1")
		s.want(t, because(fullCause, given("o-1", workflow.Hold, 2)), transitions.Applied)

		other := transitions.Cause{Code: "other", Text: "another text"}

		again := s.want(t, because(other, given("o-1", workflow.Hold, 2)), transitions.Replayed)
		if again.Transition.Cause != fullCause || again.Order.Cause != fullCause {
			t.Errorf("replayed with %+v", again.Transition.Cause)
		}

		s.want(t, because(other, keyed("o-1", workflow.Release, "r-1")), transitions.Applied)
		s.want(t, because(fullCause, keyed("o-1", workflow.Release, "r-1")), transitions.Replayed)
		s.want(t, keyed("o-1", workflow.Release, "r-1"), transitions.Replayed)
	})
}

func TestAParcelAndAPlacingHaveACause(t *testing.T) {
	inBothModes(t, func(t *testing.T, open maker) {
		s := open(t)
		n := full("o-1")
		n.Items[0].Quantity, n.Cause = 2, fullCause

		placed, err := s.Create(t.Context(), n)
		if err != nil || placed.Order.Cause != fullCause || placed.Transition.Cause != fullCause {
			t.Fatalf("%+v %v", placed.Order.Cause, err)
		}

		n.Cause = transitions.Cause{}
		if again, err := s.Create(t.Context(), n); err != nil || again.Verdict != transitions.Replayed || again.Order.Cause != fullCause {
			t.Errorf("placed again: %v %+v %v", again.Verdict, again.Order.Cause, err)
		}
		s.want(t, given("o-1", workflow.Pay, 2), transitions.Applied)

		for parcel, cause := range map[string]transitions.Cause{"p-1": fullCause, "p-2": {}} {
			result, err := s.ShipParcel(t.Context(), transitions.Parcel{
				OrderID: "o-1", ID: parcel, Lines: []transitions.ParcelLine{{SKU: "mug", Quantity: 1}}, Cause: cause,
			})
			if err != nil || result.Verdict != transitions.Applied || result.Order.Cause != cause {
				t.Errorf("%s: %v %+v %v", parcel, result.Verdict, result.Order, err)
			}
		}

		if o, _, err := s.Get(t.Context(), "o-1"); err != nil || o.State != workflow.Shipped || o.Items[0].Shipped != 2 {
			t.Errorf("%+v %v", o, err)
		}
	})
}

// TestATextIsCutAtACharacter, so that text and trace have at most 104 bytes together.
func TestATextIsCutAtACharacter(t *testing.T) {
	s := newOrders(t)
	s.place(t, "o-1")

	rows := []struct{ text, trace, want string }{
		{strings.Repeat("t", 104), "", strings.Repeat("t", 104)},
		{strings.Repeat("t", 105), "", strings.Repeat("t", 101) + "…"},
		{strings.Repeat("t", 49), trace, strings.Repeat("t", 49)},
		{strings.Repeat("t", 50), trace, strings.Repeat("t", 46) + "…"},
		{strings.Repeat("ü", 53), "", strings.Repeat("ü", 50) + "…"},
		{"t" + strings.Repeat("ü", 52), "", "t" + strings.Repeat("ü", 50) + "…"},
		{strings.Repeat("t", 1000), "", strings.Repeat("t", 101) + "…"},
	}
	for i, row := range rows {
		event := []workflow.Event{workflow.Hold, workflow.Release}[i%2]
		cause := transitions.Cause{Text: row.text, Trace: row.trace}

		got := s.want(t, because(cause, given("o-1", event, transitions.TransitionID(i+2))), transitions.Applied).Order.Cause
		if got.Text != row.want || got.Trace != row.trace || len(got.Text)+len(got.Trace) > 104 {
			t.Errorf("%d bytes with trace %q: %q, want %q", len(row.text), row.trace, got.Text, row.want)
		}
	}
}

func TestACauseHasRules(t *testing.T) {
	for want, c := range map[string]transitions.Cause{
		"cause.code: 1 to 32":          {Code: "out of stock"},
		"cause.code: 1 to 32 ":         {Code: strings.Repeat("c", 33)},
		"cause.text: at most 1000":     {Text: strings.Repeat("t", 1001)},
		"cause.text: at most":          {Text: "two\nlines"},
		"cause.text:":                  {Text: "\xff"},
		"cause.actor: 1 to 64":         {Actor: "Ada Lovelace"},
		"cause.actor: 1 to 64 printab": {Actor: strings.Repeat("a", 65)},
		"cause.source: 1 to 16":        {Source: strings.Repeat("s", 17)},
		"cause.trace: a W3C":           {Trace: "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331"},
		"cause.trace: a W3C trace":     {Trace: "01" + trace[2:]},
		"cause.trace: a W3C tracep":    {Trace: "00-" + strings.Repeat("0", 32) + trace[35:]},
		"cause.trace: a W3C tracepa":   {Trace: trace[:36] + strings.Repeat("0", 16) + "-01"},
	} {
		r := because(c, given("o-1", workflow.Hold, 2))
		if err := r.Validate(); !errors.Is(err, transitions.ErrInvalidRequest) || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: error %v, want %s", c, err, want)
		}
	}

	longest := transitions.Cause{
		Code: strings.Repeat("c", 32), Text: strings.Repeat("t", 1000), Actor: strings.Repeat("a", 64), Source: strings.Repeat("s", 16), Trace: trace,
	}
	if err := longest.Validate(); err != nil {
		t.Error(err)
	}

	for _, c := range "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.-" {
		if err := (transitions.Cause{Code: string(c), Source: string(c)}).Validate(); err != nil {
			t.Errorf("%c: %v", c, err)
		}
	}

	for c := byte(0); c < 0x80; c++ {
		err := transitions.Cause{Actor: string(rune(c))}.Validate()
		if printable := c >= '!' && c <= '~'; (err == nil) != printable {
			t.Errorf("an actor %q: %v", c, err)
		}
	}

	id := transitions.OrderID(strings.Repeat("o", 128))
	if err := because(transitions.Cause{Actor: "execution:" + string(id)}, given(id, workflow.Hold, 2)).Validate(); err != nil {
		t.Errorf("the order's own execution: %v", err)
	}
}

// TestTheOwnExecutionIsStoredInShort: every transition of an execution has it.
func TestTheOwnExecutionIsStoredInShort(t *testing.T) {
	s := newOrders(t)
	s.place(t, "o-1")

	cause := transitions.Cause{Actor: "execution:o-1", Source: "execution"}
	result := s.want(t, because(cause, given("o-1", workflow.Hold, 2)), transitions.Applied)

	if stored := dynamo.Text(s.Item(t, "o-1"), "cause"); stored != "2 execution execution: - " || result.Order.Cause != cause {
		t.Errorf("%q, read as %+v", stored, result.Order.Cause)
	}

	// A code stands in the ring only.
	s.want(t, because(ringed, given("o-1", workflow.Release, 3)), transitions.Applied)

	if s.Item(t, "o-1")["cause"] != nil {
		t.Error("a code is stored twice")
	}
}

// TestATransitionThatTheRingDoesNotHoldHasNoCause: another program has made it.
func TestATransitionThatTheRingDoesNotHoldHasNoCause(t *testing.T) {
	s := newOrders(t)
	s.place(t, "o-1")
	s.want(t, because(fullCause, given("o-1", workflow.Hold, 2)), transitions.Applied)

	update := dynamo.NewUpdate(shop.OrdersTable, dynamo.Item{"orderId": dynamo.S("o-1")}).SetValue("transitionId", dynamo.N(10))
	if _, err := s.DB.UpdateItem(t.Context(), update.Input()); err != nil {
		t.Fatal(err)
	}

	if o, _, err := s.Get(t.Context(), "o-1"); err != nil || o.Cause != (transitions.Cause{}) {
		t.Errorf("%+v, %v", o, err)
	}
}

// TestAnEarlierVersionHasNoLaterCause.
func TestAnEarlierVersionHasNoLaterCause(t *testing.T) {
	s := newOrders(t)
	s.place(t, "o-1")
	s.want(t, given("o-1", workflow.Hold, 2), transitions.Applied)
	s.want(t, because(fullCause, given("o-1", workflow.Release, 3)), transitions.Applied)

	versions, complete, err := transitions.Mapping{}.Provable(s.Item(t, "o-1"))
	if err != nil || !complete || len(versions) != 3 {
		t.Fatalf("%d versions, complete %t, %v", len(versions), complete, err)
	}

	for i, v := range versions {
		if has := v.New["cause"] != nil; has != (i == 2) {
			t.Errorf("version %d has a cause: %t", i+1, has)
		}
	}
}

// TestACauseCostsNoUnitAndNoRead: with text and trace at their bound, and codes in three slots, an order with one line stays
// within one write unit for its whole life, and each transition is one UpdateItem.
func TestACauseCostsNoUnitAndNoRead(t *testing.T) {
	const id = "8f14e45f-ceea-467f-a1d3-c1b5d1e7a7c2"
	s, consumed := meteredOrders(t, transitions.JournalByStream)
	s.place(t, id)
	consumed(units{transitions.Applied, 0, 1})

	cause := transitions.Cause{Text: strings.Repeat("t", 49), Actor: "execution:" + id, Source: "execution", Trace: trace}

	events := []workflow.Event{workflow.Pay, workflow.Ship, workflow.Deliver}
	for range 4 {
		events = append(events, workflow.RequestReturn, workflow.RejectReturn)
	}

	for i, event := range events {
		s.Wire.Reset()

		if cause.Code = ""; i%3 == 2 { // in three slots of the ring
			cause.Code = "out-of-stock"
		}
		s.want(t, because(cause, given(id, event, transitions.TransitionID(i+2))), transitions.Applied)
		consumed(units{transitions.Applied, 0, 1})

		if calls := s.Wire.Calls(); len(calls) != 1 || calls[0] != "UpdateItem" {
			t.Errorf("transition %d: %v", i+2, calls)
		}
	}

	size := itemSize(s.Item(t, id))
	t.Logf("with text at its bound and a full ring: %d bytes", size)

	if size > 1024 {
		t.Errorf("%d bytes", size)
	}
}
