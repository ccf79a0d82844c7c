package money

import (
	"context"
	"strings"
	"testing"

	"ratchet/cmd/cli/internal/commandtest"
	"ratchet/cmd/cli/internal/exit"
	"ratchet/payments"
	"ratchet/server"
	"ratchet/transitions"
)

// TestAnOrderIDMeansThePaymentOfItsPresentLife: the plain id names the payment of the present life of
// the order, the id of a payment always that payment.
func TestAnOrderIDMeansThePaymentOfItsPresentLife(t *testing.T) {
	var lives []string

	authorize := func(ctx context.Context, b *server.Backend, id, order string) error {
		accounts, err := payments.OpenOrderAccounts(ctx, b.Ledger, "EUR")
		if err != nil {
			return err
		}
		_, err = b.Payments.Authorize(ctx, payments.NewPayment{ID: id, OrderID: order, Payer: accounts.Payer, Payee: accounts.Payee, Amount: 5, Currency: "EUR"})

		return err
	}

	s := commandtest.OrdersAt(t, func(ctx context.Context, b *server.Backend) error {
		if err := commandtest.PlaceAndPay(ctx, b); err != nil {
			return err
		}

		for range 2 {
			order, _, err := b.Orders.Get(ctx, "o-1")
			if err != nil {
				return err
			}
			lives = append(lives, order.LifeID())

			if err := authorize(ctx, b, payments.IDForOrder(order.LifeID()), "o-1"); err != nil {
				return err
			}

			if len(lives) == 2 {
				break
			}

			if _, err := b.Orders.Renew(ctx, order); err != nil {
				return err
			}
		}

		// A payment whose id is the id of another order.
		if _, err := b.Orders.Create(ctx, transitions.NewOrder{ID: "o-2", Total: transitions.Money{Amount: 5, Currency: "EUR"}}); err != nil {
			return err
		}

		return authorize(ctx, b, "o-2", "o-3")
	})

	for _, test := range []struct {
		args []string
		want string
	}{
		{[]string{"get", "o-1"}, "payment " + lives[1] + " for order o-1 is AUTHORIZED"},
		{[]string{"get", lives[0]}, "payment " + lives[0] + " for order o-1 is AUTHORIZED"},
		{[]string{"capture", "o-1", "c-1", "--amount", "2"}, "payment " + lives[1] + " for order o-1 is PARTIALLY_CAPTURED"},
		{[]string{"refund", "o-1", "r-1", "--amount", "1"}, "payment " + lives[1]},
		{[]string{"void", lives[0]}, "payment " + lives[0] + " for order o-1 is VOIDED"},
		{[]string{"void", "o-2"}, "payment o-2 for order o-3 is VOIDED"},
	} {
		if out, code := commandtest.Ask(t, paymentsCommand(s), test.args...); code != exit.OK || !strings.Contains(out, test.want) {
			t.Errorf("%q: exit status %d, want %s\n%s", test.args, code, test.want, out)
		}
	}

	for _, id := range []string{"o-4", "sha256:0/", "a b"} {
		if out, code := commandtest.Ask(t, paymentsCommand(s), "get", id); code == exit.OK || out != "" {
			t.Errorf("%q: exit status %d\n%s", id, code, out)
		}
	}
}
