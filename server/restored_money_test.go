package server_test

import (
	"errors"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ratchet/payments"
	"ratchet/server"
	"ratchet/server/ratchettest"
)

// TestPaymentsThatTheLedgerContradictsAreRefused: the table of payments is of a moment before a charge, and the ledger, which is
// whole in itself, of a moment after it.
func TestPaymentsThatTheLedgerContradictsAreRefused(t *testing.T) {
	b := ratchettest.Start(t, ratchettest.Config{NoWorker: true}).Backend

	accounts, err := payments.OpenOrderAccounts(t.Context(), b.Ledger, "EUR")
	if err != nil {
		t.Fatal(err)
	}

	charge := payments.NewPayment{ID: "p-1", OrderID: "o-1", Payer: accounts.Payer, Payee: accounts.Payee, Amount: 500, Currency: "EUR"}
	if _, err := b.Payments.Charge(t.Context(), charge); err != nil {
		t.Fatal(err)
	}

	r := server.Restoration{Earliest: time.Now().Add(-time.Minute)}
	if done, err := b.Restored(t.Context(), r); err != nil || done.Money != 0 {
		t.Fatalf("tables of one moment: %d contradictions, %v", done.Money, err)
	}

	items, err := b.DynamoDB.Scan(t.Context(), &dynamodb.ScanInput{TableName: &b.Tables.Payments})
	if err != nil || len(items.Items) != 1 {
		t.Fatalf("%d payments, %v", len(items.Items), err)
	}

	key := map[string]types.AttributeValue{"paymentId": items.Items[0]["paymentId"]}
	if _, err := b.DynamoDB.DeleteItem(t.Context(), &dynamodb.DeleteItemInput{TableName: &b.Tables.Payments, Key: key}); err != nil {
		t.Fatal(err)
	}

	if done, err := b.Restored(t.Context(), r); !errors.Is(err, server.ErrMoney) || done.Money != 1 {
		t.Errorf("tables of two moments: %d contradictions, %v", done.Money, err)
	}
}
