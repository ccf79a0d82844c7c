package costs

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync/atomic"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/smithy-go/middleware"

	"ratchet/once/ledger"
	"ratchet/payments"
	"ratchet/payments/sandbox"
)

// Payment is the cost of one payment.
type Payment struct {
	Units
	// Calls are the calls of DynamoDB.
	Calls float64
}

// till takes payments between the accounts of orders. The sandbox bank has an engine of its own,
// because a real bank replaces it.
type till struct {
	*payments.Payments
	engine   *meteredEngine
	accounts payments.OrderAccounts
	calls    atomic.Int64
	close    func() error
}

func openTill(ctx context.Context) (t *till, err error) {
	tables := ledger.Tables{Accounts: "accounts", Entries: "ledger", Transfers: "transfers", Holds: "holds"}
	own := payments.Tables{Payments: "payments", Due: "payments-due"}

	engine, err := openEngine(ctx, append(tables.Inputs(), own.Inputs()...)...)
	if err != nil {
		return nil, err
	}

	outside, err := openEngine(ctx, sandbox.Table("bank"))
	if err != nil {
		return nil, errors.Join(err, engine.close())
	}

	t = &till{engine: engine, close: func() error { return errors.Join(engine.close(), outside.close()) }}
	// Options of its own: the client that creates tables is not counted.
	db := dynamodb.New(engine.db.Options(), func(o *dynamodb.Options) { o.APIOptions = append(o.APIOptions, t.count) })

	l, err := ledger.New(ledger.Config{DynamoDB: db, Tables: tables})
	if err != nil {
		return nil, errors.Join(err, t.close())
	}

	bank, err := sandbox.New(sandbox.Config{DynamoDB: outside.db, Table: "bank"})
	if err != nil {
		return nil, errors.Join(err, t.close())
	}

	if t.Payments, err = payments.New(payments.Config{DynamoDB: db, Tables: own, Ledger: l, Processor: bank}); err != nil {
		return nil, errors.Join(err, t.close())
	}

	if t.accounts, err = payments.OpenOrderAccounts(ctx, l, "EUR"); err != nil {
		return nil, errors.Join(err, t.close())
	}

	// The payments warm up: a process that runs for a while has read the accounts of all shards.
	for i := range 200 {
		if _, err := t.Charge(ctx, t.payment("warm-"+strconv.Itoa(i))); err != nil {
			return nil, errors.Join(err, t.close())
		}
	}

	return t, nil
}

// count adds a step to each call of the SDK, which counts the call.
func (t *till) count(stack *middleware.Stack) error {
	// Before the retries, so that a call counts once.
	return stack.Initialize.Add(middleware.InitializeMiddlewareFunc("Count",
		func(ctx context.Context, in middleware.InitializeInput, next middleware.InitializeHandler) (middleware.InitializeOutput, middleware.Metadata, error) {
			t.calls.Add(1)
			return next.HandleInitialize(ctx, in)
		}), middleware.Before)
}

func (t *till) payment(id string) payments.NewPayment {
	return payments.NewPayment{
		ID:       id,
		OrderID:  id,
		Payer:    t.accounts.Payer,
		Payee:    t.accounts.Payee,
		Amount:   1250,
		Currency: "EUR",
	}
}

// of makes the call and returns its cost.
func (t *till) of(call func() error) (p Payment, err error) {
	t.calls.Store(0)
	p.Units, err = t.engine.of(call)
	p.Calls = float64(t.calls.Load())

	return p, err
}

// sumRow is the row that adds up authorization and capture.
const (
	chargeRow = "charge at once"
	sumRow    = "authorized and captured"
)

// PerPayment returns the cost of a payment that is charged at once, and of a payment that is
// authorized and captured.
func PerPayment(ctx context.Context) (atOnce, captured Payment, err error) {
	rows, err := measurePayments(ctx)

	return rows[chargeRow], rows[sumRow], err
}

// measurePaymentTable measures the calls of package payments between sharded accounts, without the processor's
// part. The ids have 36 characters.
func measurePaymentTable(ctx context.Context) (t Table, err error) {
	t.Head = []string{"call", "calls of DynamoDB", "read units", "write units"}

	rows, err := measurePayments(ctx)
	// The sum is a row of the table and no call.
	for _, c := range append(paymentCalls(nil, ""), paymentCall{name: sumRow}) {
		p := rows[c.name]
		t.Rows = append(t.Rows, []string{c.name, number(p.Calls), number(p.Read), number(p.Write)})
	}

	return t, err
}

// paymentCall is one row.
type paymentCall struct {
	name string
	id   string
	make func(ctx context.Context, id string) error
}

// paymentCalls returns the rows in their order. The ids begin with the prefix.
func paymentCalls(t *till, prefix string) []paymentCall {
	step := payments.StepRequest{ID: "parcel-1", Amount: 1250, Final: true}
	charge := func(ctx context.Context, id string) error { _, err := t.Charge(ctx, t.payment(id)); return err }
	authorize := func(ctx context.Context, id string) error { _, err := t.Authorize(ctx, t.payment(id)); return err }
	cancel := func(ctx context.Context, id string) error { _, err := t.Cancel(ctx, id); return err }

	return []paymentCall{
		{chargeRow, prefix + "c", charge},
		{"the same again", prefix + "c", charge},
		{"authorize", prefix + "a", authorize},
		{"capture all of it", prefix + "a", func(ctx context.Context, id string) error { _, err := t.Capture(ctx, id, step); return err }},
		{"refund a part", prefix + "a", func(ctx context.Context, id string) error {
			_, err := t.Refund(ctx, id, payments.StepRequest{ID: "refund-1", Amount: 250})
			return err
		}},
		{"cancel what was charged", prefix + "c", cancel},
		{"authorize another", prefix + "v", authorize},
		{"cancel what was authorized", prefix + "v", cancel},
		{"cancel no payment", prefix + "n", cancel},
	}
}

// measurePayments makes the calls for several payments, which use different shards, and returns the
// highest cost of each row.
func measurePayments(ctx context.Context) (rows map[string]Payment, err error) {
	t, err := openTill(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, t.close()) }()

	rows = map[string]Payment{}
	for i := range 10 {
		for _, c := range paymentCalls(t, fmt.Sprintf("order-of-thirty-six-characters-%04d", i)) {
			p, err := t.of(func() error { return c.make(ctx, c.id) })
			if err != nil {
				return rows, fmt.Errorf("%s: %w", c.name, err)
			}

			// The highest, because the size of a shard's item decides about a unit more.
			rows[c.name] = rows[c.name].atLeast(p)
		}
	}

	a, c := rows["authorize"], rows["capture all of it"]
	rows[sumRow] = Payment{Units: a.plus(c.Units), Calls: a.Calls + c.Calls}

	return rows, nil
}

func (p Payment) atLeast(q Payment) Payment {
	return Payment{Units: Units{Read: max(p.Read, q.Read), Write: max(p.Write, q.Write)}, Calls: max(p.Calls, q.Calls)}
}
