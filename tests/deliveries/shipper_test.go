package deliveries

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"ratchet/internal/dynamo"
	"ratchet/internal/worker"
	"ratchet/notify/webhooks"
	"ratchet/once"
	money "ratchet/once/ledger"
	"ratchet/payments"
	"ratchet/payments/sandbox"
	"ratchet/shipping"
	"ratchet/shipping/httpcarrier"
	"ratchet/shipping/reports"
	"ratchet/tests/shop"
	"ratchet/transitions"
	"ratchet/workflow"
)

const (
	envCarrier  = "RATCHET_TEST_CARRIER"
	envShippers = "RATCHET_TEST_SHIPPERS"
	envAddress  = "RATCHET_TEST_ADDRESS"
)

// shipper books shipments and takes the carrier's reports.
type shipper struct {
	db     *dynamodb.Client
	orders *transitions.Orders
	booker *shipping.Booker
	desk   *reports.Receiver
}

// shipperTables are all tables of shippers.
func shipperTables() []*dynamodb.CreateTableInput {
	all := []*dynamodb.CreateTableInput{
		transitions.Mapping{}.OrdersTable(shop.OrdersTable), transitions.JournalTable(shop.JournalTable), once.TableInput(shop.ClaimsTable),
		reports.Table("reports"), sandbox.Table(shop.BankTable),
	}

	return slices.Concat(all, shop.LedgerTables().Inputs(), shop.PaymentTables().Inputs())
}

func newShipper(db *dynamodb.Client, carrierURL, secret string) (*shipper, error) {
	quiet := slog.New(slog.DiscardHandler)
	s := &shipper{db: db}

	var faults [8]error

	s.orders, faults[0] = transitions.New(transitions.Config{DynamoDB: db, Table: shop.OrdersTable, JournalTable: shop.JournalTable, Log: quiet})
	claims, err := once.New(once.Config{DynamoDB: db, Table: shop.ClaimsTable})
	faults[1] = err
	far, err := httpcarrier.New(httpcarrier.Config{URL: carrierURL, Transport: &http.Transport{ResponseHeaderTimeout: attemptTimeout}})
	faults[2] = err
	key, err := webhooks.ParseSecret(secret)
	faults[3] = err
	keys, err := webhooks.New(webhooks.Config{Secrets: []webhooks.Secret{key}})
	faults[4] = err
	book, err := money.New(money.Config{DynamoDB: db, Tables: shop.LedgerTables()})
	faults[5] = err
	bank, err := sandbox.New(sandbox.Config{DynamoDB: db, Table: shop.BankTable})
	faults[6] = err
	pay, err := payments.New(payments.Config{DynamoDB: db, Tables: shop.PaymentTables(), Ledger: book, Processor: bank})
	faults[7] = err

	if err := errors.Join(faults[:]...); err != nil {
		return nil, err
	}

	if s.booker, err = shipping.New(shipping.Config{Claims: claims, Carrier: far}); err != nil {
		return nil, err
	}

	s.desk, err = reports.New(reports.Config{
		DynamoDB: db, Table: "reports", Orders: s.orders, Payments: pay, Asker: far, Callbacks: keys, Log: quiet,
	})

	return s, err
}

// shipperMain places, pays and books the orders that its input names, and takes reports at its
// address.
func shipperMain() error {
	db, _, err := newEndpoints(os.Getenv(envEngine))
	if err != nil {
		return err
	}

	s, err := newShipper(db, os.Getenv(envCarrier), os.Getenv(envSecret))
	if err != nil {
		return err
	}

	listener, err := net.Listen("tcp", os.Getenv(envAddress))
	if err != nil {
		return err
	}

	server := &http.Server{Handler: http.HandlerFunc(s.callback), ReadHeaderTimeout: time.Minute}
	go func() { _ = server.Serve(listener) }()

	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()

	go s.sweep(ctx)

	for in := bufio.NewScanner(os.Stdin); in.Scan(); {
		id := transitions.OrderID(in.Text())
		if err := worker.Retry(ctx, acceptBackoff, 0, func() error { return s.ship(ctx, id) }); err != nil {
			return err
		}
		fmt.Println(id)
	}

	return server.Close()
}

// ship brings an order to its booking. A repeat goes on where another worker was killed.
func (s *shipper) ship(ctx context.Context, id transitions.OrderID) error {
	if _, err := s.orders.Create(ctx, transitions.NewOrder{ID: id, Total: transitions.Money{Currency: "EUR"}}); err != nil {
		return err
	}

	result, err := s.orders.Apply(ctx, transitions.Request{OrderID: id, Event: workflow.Pay, RequestID: "pay"})
	if err != nil {
		return err
	}

	_, err = s.booker.Book(ctx, result.Order.EffectKey(2, shipping.Effect), string(id))

	return err
}

func (s *shipper) callback(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(io.LimitReader(r.Body, 64<<10))
	if err == nil {
		_, err = s.desk.Callback(r.Context(), r.Header, body)
	}

	switch {
	case errors.Is(err, webhooks.ErrSignature):
		http.Error(w, "unauthorized", http.StatusUnauthorized)
	case err != nil:
		http.Error(w, err.Error(), http.StatusInternalServerError)
	}
}

func (s *shipper) sweep(ctx context.Context) {
	tick := time.NewTicker(200 * time.Millisecond)
	defer tick.Stop()

	for {
		_ = s.hurry(ctx)
		_ = s.desk.Sweep(ctx) // what fails is tried again

		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// hurry ends the pauses of all reports that wait, which are 15 s and more.
func (s *shipper) hurry(ctx context.Context) error {
	rows, err := s.db.Scan(ctx, &dynamodb.ScanInput{TableName: aws.String("reports"), FilterExpression: aws.String("attribute_exists(nextTry)")})
	if err != nil {
		return err
	}

	for _, row := range rows.Items {
		update := dynamo.NewUpdate("reports", dynamo.Item{"pk": row["pk"], "sk": row["sk"]}).
			IfPresent("nextTry").
			SetValue("nextTry", dynamo.Millis(time.Now()))

		if _, err := s.db.UpdateItem(ctx, update.Input()); err != nil {
			if _, done := dynamo.FailedCondition(err); !done {
				return err
			}
		}
	}

	return nil
}
