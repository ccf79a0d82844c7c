package steps_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"ratchet"
	"ratchet/embedded/embeddedtest"
	"ratchet/payments"
	banksandbox "ratchet/payments/sandbox"
	carriersandbox "ratchet/shipping/sandbox"
	"ratchet/tests/shop"
	"ratchet/workflow"
)

// TestWorkerPoint28_TheIdOfATransitionComesFromTheStateData: a retry, a redrive and another worker get
// the same one. Nothing of the attempt is in it: no token, no clock, no RetryCount.
func TestWorkerPoint28_TheIdOfATransitionComesFromTheStateData(t *testing.T) {
	var machine struct {
		States map[string]struct{ Parameters map[string]any }
	}
	if err := json.Unmarshal([]byte(ratchet.StateMachine), &machine); err != nil {
		t.Fatal(err)
	}

	ids := 0
	for name, state := range machine.States {
		for parameter, value := range state.Parameters {
			if !strings.HasPrefix(parameter, "transitionId") {
				continue
			}

			if ids++; parameter != "transitionId.$" || value != "States.MathAdd($.run.order.transitionId, 1)" {
				t.Errorf("%s: %s is %v", name, parameter, value)
			}
		}
	}

	if ids != 1 {
		t.Errorf("%d states name the id of a transition, want Pay alone", ids)
	}
}

// witness is a bank that looks around while it is asked. It sells even if the caller has gone.
type witness struct {
	*banksandbox.Bank

	look func(r payments.Request)
}

func (w *witness) Sale(ctx context.Context, r payments.Request) (string, error) {
	w.look(r)

	return w.Bank.Sale(context.WithoutCancel(ctx), r)
}

// TestWorkerPoint32_AChargeIsIntendedBeforeAndRecordedAfter: the charge is stored before the bank is asked,
// under a key that every attempt uses, and its outcome after. A worker that dies while the bank is asked
// leaves the intent, and the next attempt finds out what became of it: the customer pays once.
func TestWorkerPoint32_AChargeIsIntendedBeforeAndRecordedAfter(t *testing.T) {
	w := &witness{}
	s := newOrderSteps(t, newKit(t), 1, func(far *sides) { w.Bank, far.process = far.bank, w })
	s.accept(t)

	ctx, die := context.WithCancel(t.Context())
	keys := map[string]bool{}
	w.look = func(r payments.Request) {
		keys[r.Key] = true

		p, err := s.payments.Get(t.Context(), s.life(t))
		if err != nil || p.Pending == nil || p.Captured != 0 {
			t.Errorf("when the bank is asked, the payment is %+v, %v", p, err)
		}
		die()
	}

	if _, err := s.runIn(ctx, t, "pay", paying); err == nil {
		t.Fatal("the worker died, and pay has no error")
	}
	s.wantOrder(t, workflow.Pending, 1)

	if p, err := s.payments.Get(t.Context(), s.life(t)); err != nil || p.Pending == nil {
		t.Errorf("after the crash, the payment is %+v, %v", p, err)
	}

	for range 2 {
		if _, err := s.run(t, "pay", paying); err != nil {
			t.Error(err)
		}
	}
	s.wantBalance(t, 500)

	if p, err := s.payments.Get(t.Context(), s.life(t)); err != nil || p.Pending != nil || len(keys) != 1 {
		t.Errorf("%+v, %v, asked under %d keys", p, err, len(keys))
	}
}

// tables returns every item of the tables that the steps change, as text, without the expiry of the
// sandbox's shipments, which each call to the carrier puts off.
func tables(t *testing.T, db *dynamodb.Client) string {
	t.Helper()

	var all strings.Builder
	books := shop.LedgerTables()
	for _, table := range []string{
		shop.OrdersTable, shop.JournalTable, shop.StockTable, books.Accounts, books.Entries, books.Transfers,
		shop.PaymentTables().Payments, shop.BankTable, shop.CarrierTable,
	} {
		out, err := db.Scan(t.Context(), &dynamodb.ScanInput{TableName: aws.String(table), ConsistentRead: aws.Bool(true)})
		if err != nil {
			t.Fatal(err)
		}

		lines := make(map[string]any, len(out.Items))
		for i, item := range out.Items {
			if table == shop.CarrierTable {
				delete(item, carriersandbox.ExpiryAttribute)
			}
			lines[fmt.Sprint(i)] = item
		}

		text, err := json.Marshal(lines)
		if err != nil {
			t.Fatal(err)
		}
		all.WriteString(table + string(text))
	}

	return all.String()
}

// TestWorkerPoint33_ALateWorkerChangesNothing: tasks that were given to another worker long ago end at
// last, when the order was delivered, or canceled and undone.
func TestWorkerPoint33_ALateWorkerChangesNothing(t *testing.T) {
	late := map[string]string{"accept": accepted, "pay": paying, "compensate": undoing, "look": looking}

	for name, after := range map[string]func(*orderSteps){
		"delivered": func(s *orderSteps) {
			s.move(t, workflow.Ship)

			if err := s.stock.CommitAndClose(t.Context(), s.life(t)); err != nil {
				t.Fatal(err)
			}
			s.move(t, workflow.Deliver)
		},
		"undone": func(s *orderSteps) {
			s.move(t, workflow.Cancel)

			if _, err := s.run(t, "compensate", undoing); err != nil {
				t.Fatal(err)
			}
		},
	} {
		kit := newKit(t)
		s := newOrderSteps(t, kit, 1)
		s.accept(t)

		if _, err := s.run(t, "pay", paying); err != nil {
			t.Fatal(err)
		}
		after(s)
		before := tables(t, kit.DB)

		for step, input := range late {
			_, _ = s.run(t, step, input) // most are refused, a replay is not

			if tables(t, kit.DB) != before {
				t.Fatalf("%s: a late %s has changed something", name, step)
			}
		}
	}
}

// TestWorkerPoint36_ACompensationGoesOnAfterACrashAtAnyCall: whichever of its calls is the last one, the
// next attempt does what remains, and nothing twice.
func TestWorkerPoint36_ACompensationGoesOnAfterACrashAtAnyCall(t *testing.T) {
	for n := 1; ; n++ {
		kit := newKit(t)
		s := newOrderSteps(t, kit, 1)
		s.accept(t)

		if _, err := s.run(t, "pay", paying); err != nil {
			t.Fatal(err)
		}

		if _, err := s.booker.Book(t.Context(), s.shipment(t), "o-1"); err != nil {
			t.Fatal(err)
		}
		s.move(t, workflow.Cancel)

		// The process ends before its n-th call.
		ctx, crash := context.WithCancel(t.Context())
		calls := 0
		kit.Wire.Before(func(*embeddedtest.Call) error {
			if calls++; calls == n {
				crash()
			}

			return ctx.Err()
		})
		_, err := s.runIn(ctx, t, "compensate", undoing)
		kit.Wire.Before(nil)
		crash()

		if err == nil {
			if n < 5 {
				t.Errorf("%d calls undo everything; has the step changed?", n-1)
			}

			return // it has fewer calls than n
		}

		if got, err := s.run(t, "compensate", undoing); err != nil || !strings.Contains(got, `"shipments":1,"left":0,"payment":"REFUNDED","stock":"released"`) {
			t.Errorf("after a crash at call %d: %s, %v", n, got, err)
		}
		s.wantStock(t, 10, 0, 0)
		s.wantBalance(t, 0)
	}
}

// TestWorkerPoint37_TheOrdersMoneyIsInTheLedger: the money that the payment has captured and not
// refunded is the balance of the accounts, and no more is ever refunded than captured.
func TestWorkerPoint37_TheOrdersMoneyIsInTheLedger(t *testing.T) {
	s := newOrderSteps(t, newKit(t), 1)
	s.accept(t)

	if _, err := s.run(t, "pay", paying); err != nil {
		t.Fatal(err)
	}
	s.wantBalance(t, 500)
	s.move(t, workflow.Cancel)

	for range 2 {
		if _, err := s.run(t, "compensate", undoing); err != nil {
			t.Error(err)
		}
		s.wantBalance(t, 0)
	}

	if _, err := s.payments.Refund(t.Context(), s.life(t), payments.StepRequest{ID: "again", Amount: 1}); err == nil {
		t.Error("more was refunded than captured")
	}
	s.wantBalance(t, 0)
}

// wantBalance checks that the orders have brought the shop an amount, and that the payment of o-1 says
// the same.
func (s *orderSteps) wantBalance(t *testing.T, want int64) {
	t.Helper()

	accounts := payments.AccountsForOrders("EUR")
	for id, balance := range map[string]int64{accounts.Payer: -want, accounts.Payee: want} {
		a, _, err := s.ledger.Account(t.Context(), id)
		if err != nil || a.Balance != balance {
			t.Errorf("%s has %d, %v; want %d", id, a.Balance, err, balance)
		}
	}

	p, err := s.payments.Get(t.Context(), s.life(t))
	if err != nil || p.Captured-p.Refunded != want {
		t.Errorf("the payment has captured %d and refunded %d, %v; want %d", p.Captured, p.Refunded, err, want)
	}
}
