package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"ratchet/internal/dynamo"
	"ratchet/notify"
	"ratchet/notify/webhooks"
	"ratchet/operate/processes"
	"ratchet/payments"
	"ratchet/streams"
	"ratchet/streams/deadletters"
	"ratchet/transitions"
	"ratchet/workflow"
)

const (
	pagesCallers = 32
	pagesRare    = 1000 // what is rarer than an order is there so often, at most
)

func pagesOrder(n int) string { return fmt.Sprintf("o-%07d", n) }

// pagesCustomer has ten orders.
func pagesCustomer(n int) string { return fmt.Sprintf("c-%d", n/10) }

// rare is how many orders have an execution, a payment, a delivery and a dead letter.
func (p *pagesBench) rare() int { return min(pagesRare, p.orders/10) }

// fillOnce fills the folder, unless an earlier run has filled it with as many orders.
func (p *pagesBench) fillOnce(ctx context.Context, dir string) ([]figure, error) {
	orders := figure{"api_pages_orders", float64(p.orders), "", "orders in the lists"}
	filled := filepath.Join(dir, fmt.Sprintf("filled-%d", p.orders))

	if _, err := os.Stat(filled); err == nil {
		return []figure{orders}, nil
	}
	began := time.Now()

	if err := p.fill(ctx); err != nil {
		return nil, fmt.Errorf("fill with %d orders: %w", p.orders, err)
	}
	speed := float64(p.orders) / time.Since(began).Seconds()

	return []figure{
		orders,
		{"api_pages_fill_per_second", speed, "1/s", "orders placed and listed, with what else is in the pages"},
	}, os.WriteFile(filled, nil, 0o600)
}

// fill places the orders and lists them as the handler of the stream does. Each tenth is on hold.
func (p *pagesBench) fill(ctx context.Context) error {
	// Of a table without orders, the lists are ready at once.
	if _, err := p.b.Lists.Rebuild(ctx, nil); err != nil {
		return err
	}

	if err := p.fillRest(ctx); err != nil {
		return err
	}

	return share(ctx, pagesCallers, p.orders, func(ctx context.Context, n int) error {
		placed, err := p.b.Orders.Create(ctx, pagesNew(n))
		if err != nil {
			return err
		}

		if err := p.b.Lists.Record(ctx, transitions.Change{New: placed.Order, Transition: placed.Transition}); err != nil || n%10 > 0 {
			return err
		}

		held, err := p.b.Orders.Apply(ctx, transitions.Request{OrderID: placed.Order.ID, Event: workflow.Hold, TransitionID: 2})
		if err != nil {
			return err
		}

		return p.b.Lists.Record(ctx, transitions.Change{Old: placed.Order, New: held.Order, Transition: held.Transition})
	})
}

func pagesNew(n int) transitions.NewOrder {
	return transitions.NewOrder{
		ID:       transitions.OrderID(pagesOrder(n)),
		Items:    []transitions.Item{{SKU: "mug", Quantity: 2, Price: 1250}},
		Total:    transitions.Money{Amount: 2500, Currency: "EUR"},
		Customer: pagesCustomer(n),
	}
}

// fillRest writes what else pages show.
func (p *pagesBench) fillRest(ctx context.Context) error {
	arn, err := p.b.StateMachineARN(ctx)
	if err != nil {
		return err
	}

	accounts, err := payments.OpenOrderAccounts(ctx, p.b.Ledger, "EUR")
	if err != nil {
		return err
	}

	if _, err := p.b.Endpoints.Create(ctx, "shop", notify.Settings{Destination: "log"}, webhooks.NewSecret()); err != nil {
		return err
	}
	letters := &deadletters.Table{API: p.b.DynamoDB, Table: p.b.Tables.DeadLetters}

	return share(ctx, pagesCallers, p.rare(), func(ctx context.Context, n int) error {
		order, now := pagesOrder(n), time.Now()
		key := dynamo.Item{"orderId": dynamo.S(order)}

		if _, err := p.b.Start(ctx, arn, pagesNew(n)); err != nil {
			return err
		}

		if _, err := p.b.Payments.Charge(ctx, payments.NewPayment{ID: order, OrderID: order, Payer: accounts.Payer, Payee: accounts.Payee, Amount: 2500, Currency: "EUR"}); err != nil {
			return err
		}

		notice := notify.Notification{
			Key: order + "/life/1/notify", OrderID: transitions.OrderID(order), Incarnation: "life", TransitionID: 1, State: workflow.Pending, At: now,
		}
		if err := p.b.Deliveries.Accept(ctx, notice); err != nil {
			return err
		}

		record := streams.Record{
			Handler: "notify", EventName: streams.Insert, SequenceNumber: fmt.Sprint(100_000 + n), EventID: order, CreatedAt: now,
			Keys: key, New: key,
		}
		if err := letters.Store(ctx, record, errors.New("the receiver answers 503"), nil); err != nil {
			return err
		}

		stuck := processes.StuckOrder{
			OrderID: order, Kind: "unplaced", State: "PENDING", Since: now, Cause: "its execution has failed", Commands: []string{"ratchet executions redrive " + order},
			FoundAt: now, ExpiresAt: now.Add(time.Hour),
		}
		if err := p.b.Processes.StoreStuck(ctx, stuck); err != nil {
			return err
		}

		return p.b.Stock.Set(ctx, "sku-"+order, 5)
	})
}
