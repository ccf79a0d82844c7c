package reactions_test

import (
	"errors"
	"strings"
	"testing"

	"ratchet/once/inventory"
	"ratchet/payments"
	"ratchet/streams"
	"ratchet/streams/reactions"
	"ratchet/transitions"
	"ratchet/workflow"
)

func TestTheStockOfAShippedOrderIsCommitted(t *testing.T) {
	for _, test := range []struct {
		name      string
		prepare   func(t *testing.T, s *orderSystem) error
		events    []workflow.Event
		permanent bool
		want      inventory.Level
	}{
		{
			name:    "reserved",
			prepare: func(t *testing.T, s *orderSystem) error { return s.reserve(t) },
			want:    inventory.Level{SKU: "mug", Available: 8, Committed: 2},
		},
		{
			name:    "shipped in parts",
			prepare: func(t *testing.T, s *orderSystem) error { return s.reserve(t) },
			events:  []workflow.Event{workflow.ShipPart, workflow.ShipPart},
			want:    inventory.Level{SKU: "mug", Available: 8, Committed: 2},
		},
		{
			name: "committed before, by the execution",
			prepare: func(t *testing.T, s *orderSystem) error {
				return errors.Join(s.reserve(t), s.stock.Commit(t.Context(), life))
			},
			want: inventory.Level{SKU: "mug", Available: 8, Committed: 2},
		},
		{
			name:    "never reserved: another caller paid and shipped it before its execution began",
			prepare: func(*testing.T, *orderSystem) error { return nil },
			want:    inventory.Level{SKU: "mug", Available: 8, Committed: 2},
		},
		{
			name: "given back before",
			prepare: func(t *testing.T, s *orderSystem) error {
				return errors.Join(s.reserve(t), s.stock.Release(t.Context(), life))
			},
			permanent: true,
			want:      inventory.Level{SKU: "mug", Available: 10},
		},
	} {
		s := newOrderSystem(t)
		orders, handlers := s.at(t, 1)

		if err := errors.Join(s.stock.Set(t.Context(), "mug", 10), test.prepare(t, s)); err != nil {
			t.Fatal(err)
		}
		placeAndPay(t, orders)

		for _, event := range append(test.events, workflow.Ship) {
			record := s.move(t, orders, event)
			for range 2 {
				if err := handlers[reactions.StockHandler](t.Context(), record); streams.IsPermanent(err) != test.permanent || (err != nil) != test.permanent {
					t.Errorf("%s: %v", test.name, err)
				}
			}
		}
		handle(t, handlers[reactions.StockHandler], s.move(t, orders, workflow.Deliver))

		if level, _, err := s.stock.Level(t.Context(), "mug"); err != nil || level != test.want {
			t.Errorf("%s: %+v, %v, want %+v", test.name, level, err, test.want)
		}
	}
}

// TestAnEditedOrderIsSoldAsItWasShipped: it was edited, paid and shipped by others before its
// execution could reserve the added lines.
func TestAnEditedOrderIsSoldAsItWasShipped(t *testing.T) {
	s := newOrderSystem(t)
	orders, handlers := s.at(t, 1)

	if err := errors.Join(s.stock.Set(t.Context(), "mug", 10), s.reserve(t)); err != nil {
		t.Fatal(err)
	}
	place(t, orders)

	edit := transitions.Edit{OrderID: "o-1", EventID: "e-1"}
	if r, err := orders.ChangeItem(t.Context(), edit, transitions.Item{SKU: "mug", Quantity: 5, Price: total / 5}); err != nil || !r.Verdict.Done() {
		t.Fatal(r, err)
	}
	s.move(t, orders, workflow.Pay)
	record := s.move(t, orders, workflow.Ship)

	for range 2 {
		handle(t, handlers[reactions.StockHandler], record)
	}

	if level, _, err := s.stock.Level(t.Context(), "mug"); err != nil || level.Available != 5 || level.Committed != 5 {
		t.Errorf("%+v, %v", level, err)
	}
}

func (s *orderSystem) reserve(t *testing.T) error {
	return s.stock.Reserve(t.Context(), life, []inventory.Line{{SKU: "mug", Quantity: 2}})
}

// TestAuthorizedMoneyIsCapturedAtShipment goes through what a payment may be when its order
// is shipped.
func TestAuthorizedMoneyIsCapturedAtShipment(t *testing.T) {
	for _, test := range []struct {
		name     string
		open     func(t *testing.T, s *orderSystem, n payments.NewPayment) error
		captures error // the bank's answer
		refused  string
		fails    bool // for now
		captured int64
	}{
		{name: "authorized", open: authorize, captured: total},
		{name: "charged at once", captured: total, open: func(t *testing.T, s *orderSystem, n payments.NewPayment) error {
			_, err := s.payments.Charge(t.Context(), n)
			return err
		}},
		{name: "paid elsewhere", open: func(*testing.T, *orderSystem, payments.NewPayment) error { return nil }},
		{name: "paid elsewhere, and canceled here", open: func(t *testing.T, s *orderSystem, n payments.NewPayment) error {
			_, err := s.payments.Cancel(t.Context(), n.ID)
			return err
		}},
		{name: "captured by a person", captured: total, open: func(t *testing.T, s *orderSystem, n payments.NewPayment) error {
			_, err := s.payments.Capture(t.Context(), n.ID, payments.StepRequest{ID: "by-hand", Amount: n.Amount})
			return errors.Join(authorize(t, s, n), err)
		}},
		{name: "declined", open: authorize, captures: payments.ErrDeclined, refused: "declined"},
		{name: "expired at the bank", open: authorize, captures: payments.ErrExpired, refused: "expired"},
		{name: "the bank is down", open: authorize, captures: errUnavailable, fails: true},
		{name: "another amount", refused: "more than the payment allows", open: func(t *testing.T, s *orderSystem, n payments.NewPayment) error {
			n.Amount--
			return authorize(t, s, n)
		}},
	} {
		s := newOrderSystem(t)
		orders, handlers := s.at(t, 1)
		placeAndPay(t, orders)

		accounts, err := payments.OpenOrderAccounts(t.Context(), s.ledger, "EUR")
		if err != nil {
			t.Fatal(err)
		}

		n := payments.NewPayment{
			ID: payments.IDForOrder(life), OrderID: "o-1", Payer: accounts.Payer, Payee: accounts.Payee, Amount: total, Currency: "EUR",
		}
		if test.name == "captured by a person" {
			err = authorize(t, s, n)
		}

		if err = errors.Join(err, test.open(t, s, n)); err != nil {
			t.Fatalf("%s: %v", test.name, err)
		}
		s.bank.captures = test.captures

		record := s.move(t, orders, workflow.Ship)
		for range 2 {
			err := handlers[reactions.PaymentHandler](t.Context(), record)
			switch {
			case test.fails:
				if err == nil || streams.IsPermanent(err) {
					t.Errorf("%s: %v", test.name, err)
				}
			case (err != nil) != (test.refused != "") || err != nil && (!streams.IsPermanent(err) || !strings.Contains(err.Error(), test.refused)):
				t.Errorf("%s: %v, want %q", test.name, err, test.refused)
			}
		}

		if p, err := s.payments.Get(t.Context(), n.ID); err == nil && p.Captured != test.captured {
			t.Errorf("%s: captured %d, want %d", test.name, p.Captured, test.captured)
		}
	}
}

func authorize(t *testing.T, s *orderSystem, n payments.NewPayment) error {
	t.Helper()
	_, err := s.payments.Authorize(t.Context(), n)

	return err
}
