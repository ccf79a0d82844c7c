package sandbox

import (
	"context"
	"errors"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ratchet/internal/dynamo"
	"ratchet/once/txn"
	"ratchet/payments"
)

// Authorize holds the amount under its key. A repeat returns the stored result.
func (b *Bank) Authorize(ctx context.Context, r payments.Request) (string, error) {
	status := statusAuthorized
	if b.Declines(r.OrderID) {
		status = statusDeclined
	}

	item := record(r, status)
	item["capturable"] = dynamo.N(r.Amount)
	item["refundable"] = dynamo.N(0)

	return b.write(ctx, r, status, item, nil)
}

// Sale takes the amount under its key at once. A repeat returns the stored result.
func (b *Bank) Sale(ctx context.Context, r payments.Request) (string, error) {
	status := statusSold
	if b.Declines(r.OrderID) {
		status = statusDeclined
	}

	item := record(r, status)
	item["refundable"] = dynamo.N(r.Amount)

	return b.write(ctx, r, status, item, nil)
}

// Capture takes a part of an authorization. It declines if the amount is more than is left.
func (b *Bank) Capture(ctx context.Context, r payments.Request) (string, error) {
	update := updateOpening(b.cfg.Table, r).
		If("capturable >= :n"). // a sale has none
		Set("capturable = capturable - :n").
		Set("refundable = refundable + :n")

	return b.write(ctx, r, statusCaptured, record(r, statusCaptured), update)
}

// Refund returns a part of the captured amount. It declines if the amount is more than is left.
func (b *Bank) Refund(ctx context.Context, r payments.Request) (string, error) {
	update := updateOpening(b.cfg.Table, r).
		If("refundable >= :n").
		Set("refundable = refundable - :n")

	return b.write(ctx, r, statusRefunded, record(r, statusRefunded), update)
}

// updateOpening begins an update of the authorization or sale of a request. The condition fails if
// the authorization or sale was declined or voided, or has another currency.
func updateOpening(table string, r payments.Request) *dynamo.Update {
	update := dynamo.NewUpdate(table, bankKey(r.Authorization))

	return update.
		If(update.Name("status")+" IN (:authorized, :sold)").
		If("currency = :currency").
		Bind(":authorized", dynamo.S(statusAuthorized)).
		Bind(":sold", dynamo.S(statusSold)).
		Bind(":currency", dynamo.S(r.Currency)).
		Bind(":n", dynamo.N(r.Amount))
}

// record returns the record of a request.
func record(r payments.Request, status string) dynamo.Item {
	return dynamo.Item{
		"paymentKey": dynamo.S(r.Key),
		"orderId":    dynamo.S(r.OrderID),
		"status":     dynamo.S(status),
		"amount":     dynamo.N(r.Amount),
		"currency":   dynamo.S(r.Currency),
	}
}

// write writes the record of a request together with the update of its authorization, if
// there is one, and answers the request.
func (b *Bank) write(ctx context.Context, r payments.Request, status string, item dynamo.Item, update *dynamo.Update) (string, error) {
	if r.Key == "" || r.Amount <= 0 {
		return "", fmt.Errorf("sandbox: key must be set and amount above 0, got %q and %d", r.Key, r.Amount)
	}

	var t txn.Transaction
	t.Marker("record", types.TransactWriteItem{Put: &types.Put{
		TableName:           &b.cfg.Table,
		Item:                item,
		ConditionExpression: aws.String("attribute_not_exists(paymentKey)"),
	}})

	if update != nil {
		// In one transaction with the record, so that the authorization's amounts change once per key.
		t.Add("opening", types.TransactWriteItem{Update: update.Part()}, txn.FailWith(payments.ErrDeclined))
	}

	err := b.writer.Write(ctx, &t)
	var refused *txn.CanceledError
	switch {
	// The condition on the record decides, and no read before: two requests may come at the same
	// moment.
	case errors.As(err, &refused) && refused.Marker:
		return b.repeat(r, status, refused.Old)
	case errors.As(err, &refused) && dynamo.Text(refused.Old, "status") == statusVoided:
		return "", fmt.Errorf("sandbox: %s: %w", r.Key, payments.ErrVoided)
	case err != nil:
		return "", fmt.Errorf("sandbox: %s: %w", r.Key, err)
	case status == statusDeclined:
		return "", fmt.Errorf("sandbox: %s: %w", r.Key, payments.ErrDeclined)
	case b.losesAnswer(r.Key):
		return "", fmt.Errorf("sandbox: %s: %w", r.Key, payments.ErrTimeout) // the record is stored
	}

	return reference(r.Key), nil
}

// repeat answers a request under a key that has a record.
func (b *Bank) repeat(r payments.Request, status string, old dynamo.Item) (string, error) {
	was := dynamo.Text(old, "status")
	sameContent := dynamo.Text(old, "orderId") == r.OrderID && dynamo.Number(old, "amount") == r.Amount && dynamo.Text(old, "currency") == r.Currency
	switch {
	case was == statusVoided:
		return "", fmt.Errorf("sandbox: %s: %w", r.Key, payments.ErrVoided)
	// A declined request has the status DECLINED for every kind, so its kind cannot be compared.
	case !sameContent, was != status && was != statusDeclined:
		return "", fmt.Errorf("sandbox: %s: %w", r.Key, payments.ErrConflict)
	case was == statusDeclined:
		return "", fmt.Errorf("sandbox: %s: %w", r.Key, payments.ErrDeclined)
	}

	return reference(r.Key), nil
}

// Void returns the money that was taken or held under the key, if any, and closes the key. A repeat
// changes nothing.
func (b *Bank) Void(ctx context.Context, key string) error {
	// There is no condition: an unknown key is voided, too, so that a late request under it is refused.
	update := dynamo.NewUpdate(b.cfg.Table, bankKey(key))
	status := update.Name("status")
	update.
		Set(status+" = :voided").
		Bind(":voided", dynamo.S(statusVoided))

	if _, err := b.cfg.DynamoDB.UpdateItem(ctx, update.Input()); err != nil {
		return fmt.Errorf("void payment %s: %w", key, err)
	}

	return nil
}

// Lookup returns the bank's record of a key.
func (b *Bank) Lookup(ctx context.Context, key string) (payments.Operation, error) {
	out, err := b.cfg.DynamoDB.GetItem(ctx, &dynamodb.GetItemInput{
		TableName:      &b.cfg.Table,
		Key:            bankKey(key),
		ConsistentRead: aws.Bool(true),
	})
	if err != nil {
		return payments.Operation{}, fmt.Errorf("sandbox: look %s up: %w", key, err)
	}

	op := payments.Operation{
		Amount:    dynamo.Number(out.Item, "amount"),
		Currency:  dynamo.Text(out.Item, "currency"),
		Reference: reference(key),
	}
	switch dynamo.Text(out.Item, "status") {
	case "":
		return payments.Operation{}, nil
	case statusDeclined:
		op.Status = payments.OperationDeclined
	case statusVoided:
		op.Status = payments.OperationVoided
	default:
		op.Status = payments.OperationSucceeded
	}

	return op, nil
}

// Report calls fn with every sale, capture and refund that the bank has made, in no useful order.
// Sales that were voided are left out. The report is the processor's side of a reconciliation. An
// error of fn ends it.
func (b *Bank) Report(ctx context.Context, fn func(key, kind string, amount int64, currency string) error) error {
	in := &dynamodb.ScanInput{TableName: &b.cfg.Table, ConsistentRead: aws.Bool(true)}
	for {
		out, err := b.cfg.DynamoDB.Scan(ctx, in)
		if err != nil {
			return fmt.Errorf("sandbox: report: %w", err)
		}

		for _, item := range out.Items {
			var kind payments.Kind
			switch dynamo.Text(item, "status") {
			// Captures and refunds are items of their own; an authorization moves no money.
			case statusSold:
				kind = payments.Charging
			case statusCaptured:
				kind = payments.Capturing
			case statusRefunded:
				kind = payments.Refunding
			default:
				continue
			}

			if err := fn(dynamo.Text(item, "paymentKey"), string(kind), dynamo.Number(item, "amount"), dynamo.Text(item, "currency")); err != nil {
				return err
			}
		}

		if in.ExclusiveStartKey = out.LastEvaluatedKey; len(out.LastEvaluatedKey) == 0 {
			return nil
		}
	}
}
