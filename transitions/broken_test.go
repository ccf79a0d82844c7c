package transitions_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ratchet/embedded/embeddedtest"
	"ratchet/transitions"
	"ratchet/workflow"
)

// An order that cannot be read is an error of each call that gets to see it, whether or not the
// condition of its write refuses it.
func TestAnOrderThatCannotBeReadIsAnError(t *testing.T) {
	note := func(s *orders) error {
		_, err := s.AddNote(t.Context(), edit("o-1", "e"), transitions.Note{Text: "x"})
		return err
	}
	hold := func(s *orders) error {
		_, err := s.Apply(t.Context(), given("o-1", workflow.Hold, 2))
		return err
	}
	for name, row := range map[string]struct {
		attribute string // is no number
		state     workflow.State
		call      func(*orders) error
	}{
		"placed again":              {"transitionId", workflow.Pending, func(s *orders) error { _, err := s.Create(t.Context(), s.newOrder("o-1", 5)); return err }},
		"read":                      {"transitionId", workflow.Pending, func(s *orders) error { _, _, err := s.Get(t.Context(), "o-1"); return err }},
		"edited":                    {"transitionId", workflow.Pending, note},
		"not edited, for its state": {"transitionId", workflow.Shipped, note},
		"edited in a transaction":   {"transitionId", workflow.Shipped, func(s *orders) error { return s.addIn(t, edit("o-1", "e"), cup) }},
		"moved":                     {"transitionId", workflow.Pending, hold},
		"not moved, for its state":  {"transitionId", workflow.Shipped, hold},
		"a parcel of it is reported": {"transitionId", workflow.PaymentReceived, func(s *orders) error {
			_, err := s.ShipParcel(t.Context(), parcel("p", transitions.ParcelLine{SKU: "mug", Quantity: 1}))
			return err
		}},
		"restored":                  {"transitionId", workflow.Pending, func(s *orders) error { _, err := s.Restore(t.Context(), "o-1", false); return err }},
		"its journal is closed":     {"transitionId", workflow.Pending, func(s *orders) error { _, err := s.CloseJournal(t.Context(), s.Item(t, "o-1")); return err }},
		"its transitions are asked": {"transitionId", workflow.Pending, func(s *orders) error { _, _, err := s.Journaled(t.Context(), s.Item(t, "o-1")); return err }},
		"its ring is asked":         {"transitionId", workflow.Pending, func(s *orders) error { _, _, err := transitions.Mapping{}.Provable(s.Item(t, "o-1")); return err }},
	} {
		s := newOrders(t)
		s.place(t, "o-1")
		s.put(t, "orderState", text(string(row.state)))
		s.put(t, row.attribute, text("x"))

		if err := row.call(s); err == nil || !strings.Contains(err.Error(), "attribute "+row.attribute+" is not a number") || transitions.Retryable(err) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// An attribute that every decision needs, of another type than this package writes, is an error that
// names it.
func TestAttributesHaveTheirTypes(t *testing.T) {
	number := func(text string) types.AttributeValue { return &types.AttributeValueMemberN{Value: text} }

	for name, row := range map[string]struct {
		value types.AttributeValue
		want  string // "" if it is valid
	}{
		"orderState":   {number("1"), "a string"},
		"transitionId": {number("1.5"), "a whole number"},
		"updatedAt":    {number("0"), ""},
	} {
		s := newOrders(t)
		s.place(t, "o-1")
		s.put(t, name, row.value)

		_, _, err := s.Get(t.Context(), "o-1")
		if row.want == "" && err != nil || row.want != "" && (err == nil || err.Error() != `read order "o-1": the order cannot be read: attribute `+name+" is not "+row.want) {
			t.Errorf("%s: %v, want %q", name, err, row.want)
		}
	}
}

// An attribute or a member of the ring that this version does not know is no fault, and stays in the order.
func TestUnknownAttributesAreIgnored(t *testing.T) {
	s := newOrders(t)
	s.place(t, "o-1")

	s.put(t, "later", &types.AttributeValueMemberM{Value: map[string]types.AttributeValue{"v": text("2")}})
	recent := s.Item(t, "o-1")["recent"].(*types.AttributeValueMemberM)
	recent.Value["x1"] = text("a part of slot 1")
	s.put(t, "recent", recent)

	if o, found, err := s.Get(t.Context(), "o-1"); err != nil || !found || o.State != workflow.Pending {
		t.Errorf("%+v, %v", o, err)
	}
	s.want(t, given("o-1", workflow.Hold, 2), transitions.Applied)
	s.want(t, given("o-1", workflow.Release, 3), transitions.Applied)
	edited(t, transitions.Applied)(s.AddItems(t.Context(), edit("o-1", "e"), cup))

	item := s.Item(t, "o-1")
	if item["later"] == nil || item["recent"].(*types.AttributeValueMemberM).Value["x1"] == nil {
		t.Errorf("a write has removed what it does not know: %v", item)
	}

	if _, moved, err := (transitions.Mapping{}).FromRecord(nil, item); !moved || err != nil {
		t.Errorf("moved %t, %v", moved, err)
	}
}

// An order that the caller has seen cannot refuse an edit. The order that is read then is gone,
// cannot be read, or moves again.
func TestAnEditOfAnOrderThatWasSeenLooksAgain(t *testing.T) {
	seen := func() (*orders, transitions.Edit) {
		s := newOrders(t)
		s.place(t, "o-1")
		s.withoutRetries(t, 1)

		order, _, err := s.Get(t.Context(), "o-1")
		if err != nil {
			t.Fatal(err)
		}
		e := edit("o-1", "e")
		e.Seen = order

		return s, e
	}

	s, e := seen()
	s.remove(t, "o-1")
	edited(t, transitions.NotFound)(s.RemoveItem(t.Context(), e, "cup"))

	s, e = seen()
	s.Wire.Inject(embeddedtest.Answer("ServiceUnavailable", "GetItem"))

	if r, err := s.RemoveItem(t.Context(), e, "cup"); !errors.Is(err, transitions.ErrUnavailable) {
		t.Errorf("without an answer: %s, %v", r.Verdict, err)
	}

	s, e = seen()
	edited(t, transitions.Applied)(s.AddItems(t.Context(), edit("o-1", "other"), cup))

	if r, err := s.RemoveItem(t.Context(), e, "mug"); !errors.Is(err, transitions.ErrContended) || !transitions.Retryable(err) {
		t.Errorf("one attempt, and the order has changed: %s, %v", r.Verdict, err)
	}

	_, e = seen()
	e.OrderID = "o-2"

	if _, err := s.AddItems(t.Context(), e, cup); !errors.Is(err, transitions.ErrInvalidRequest) || !strings.Contains(err.Error(), "seen: is order o-1") {
		t.Errorf("another order: %v", err)
	}
}

// An item that other programs have filled has no room for an edit.
func TestAnItemThatOthersHaveFilledIsFull(t *testing.T) {
	s := newOrders(t)
	s.place(t, "o-1")
	s.put(t, "attachment", &types.AttributeValueMemberB{Value: make([]byte, 398<<10)})

	if _, err := s.AddNote(t.Context(), edit("o-1", "e"), transitions.Note{Text: strings.Repeat("x", 1000)}); err != nil {
		t.Fatal(err) // it still has room for one
	}

	var limit *transitions.LimitError
	if _, err := s.AddNote(t.Context(), edit("o-1", "f"), transitions.Note{Text: strings.Repeat("x", 1000)}); !errors.As(err, &limit) || limit.What != "item bytes" || limit.Limit != 400<<10 {
		t.Errorf("%v, want a LimitError of the item's bytes", err)
	}
}

// An edit in a transaction is not judged by the definition of another version.
func TestAnEditOfAnUnknownVersionIsRefused(t *testing.T) {
	s := newOrders(t)
	s.place(t, "o-1")
	s.put(t, "definitionVersion", num(7))

	if err := s.addIn(t, edit("o-1", "e"), cup); !errors.Is(err, transitions.ErrUnknownVersion) {
		t.Errorf("in a transaction: %v", err)
	}

	if _, err := s.AddItems(t.Context(), edit("o-1", "e"), cup); !errors.Is(err, transitions.ErrUnknownVersion) {
		t.Error(err)
	}
}
