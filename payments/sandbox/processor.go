package sandbox

import (
	"context"
	"errors"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ratchet/internal/dynamo"
	"ratchet/payments"
	"ratchet/txn"
)

const (
	authorized = "AUTHORIZED"
	captured   = "CAPTURED"
	refunded   = "REFUNDED"
)

// Authorize holds the amount under its key, or answers as the record says.
func (s *Bank) Authorize(ctx context.Context, r payments.Request) (string, error) {
	status := authorized
	if s.Declines(r.OrderID) {
		status = declined
	}
	item := s.record(r, status)
	item["capturable"], item["refundable"] = dynamo.N(r.Amount), dynamo.N(0)
	put := &types.Put{TableName: &s.Table, Item: item, ConditionExpression: aws.String("attribute_not_exists(paymentKey)")}

	return s.carryOut(ctx, r, status, put, nil)
}

// Capture takes a part of an authorization.
func (s *Bank) Capture(ctx context.Context, r payments.Request) (string, error) {
	return s.move(ctx, r, captured, "capturable", "SET capturable = capturable - :n, refundable = refundable + :n")
}

// Refund returns a part of what was captured.
func (s *Bank) Refund(ctx context.Context, r payments.Request) (string, error) {
	return s.move(ctx, r, refunded, "refundable", "SET refundable = refundable - :n")
}

// move takes the amount from a counter of the authorization, once per key. What the
// counter does not have is declined, what a void has closed is refused.
func (s *Bank) move(ctx context.Context, r payments.Request, status, counter, update string) (string, error) {
	put := &types.Put{TableName: &s.Table, Item: s.record(r, status), ConditionExpression: aws.String("attribute_not_exists(paymentKey)")}

	return s.carryOut(ctx, r, status, put, &types.Update{
		TableName: &s.Table, Key: dynamo.Item{"paymentKey": dynamo.S(r.Authorization)},
		ConditionExpression:      aws.String("#status = :authorized AND currency = :currency AND " + counter + " >= :n"),
		UpdateExpression:         &update,
		ExpressionAttributeNames: map[string]string{"#status": "status"},
		ExpressionAttributeValues: dynamo.Item{":authorized": dynamo.S(authorized), ":currency": dynamo.S(r.Currency),
			":n": dynamo.N(r.Amount)},
	})
}

func (s *Bank) record(r payments.Request, status string) dynamo.Item {
	return dynamo.Item{"paymentKey": dynamo.S(r.Key), "orderId": dynamo.S(r.OrderID), "status": dynamo.S(status),
		"amount": dynamo.N(r.Amount), "currency": dynamo.S(r.Currency)}
}

// carryOut writes the record of a request and what it does to its authorization, and
// answers.
func (s *Bank) carryOut(ctx context.Context, r payments.Request, status string, put *types.Put, update *types.Update) (string, error) {
	if r.Key == "" || r.Amount <= 0 {
		return "", fmt.Errorf("sandbox: key must be set and amount above 0, got %q and %d", r.Key, r.Amount)
	}

	writer, err := txn.New(txn.Config{DynamoDB: s.DynamoDB})
	if err != nil {
		return "", err
	}
	var t txn.Transaction
	t.Marker("record", types.TransactWriteItem{Put: put})

	if update != nil {
		t.Add("authorization", types.TransactWriteItem{Update: update}, txn.FailWith(payments.ErrDeclined))
	}

	err = writer.Write(ctx, &t)
	var refused *txn.Refused
	switch {
	case errors.As(err, &refused) && refused.Marker:
		return s.answered(r, status, refused.Old)
	case errors.As(err, &refused) && dynamo.Text(refused.Old, "status") == voided:
		return "", fmt.Errorf("sandbox: %s: %w", r.Key, payments.ErrVoided)
	case err != nil:
		return "", fmt.Errorf("sandbox: %s: %w", r.Key, err)
	case status == declined:
		return "", fmt.Errorf("sandbox: %s: %w", r.Key, payments.ErrDeclined)
	case draw("timeout", r.Key) < s.TimeoutPercent:
		return "", fmt.Errorf("sandbox: %s: %w", r.Key, payments.ErrTimeout) // done, and nobody told
	}

	return chargeID(r.Key), nil
}

// answered is the answer to a key that has been used.
func (s *Bank) answered(r payments.Request, status string, old dynamo.Item) (string, error) {
	switch was := dynamo.Text(old, "status"); {
	case was == voided:
		return "", fmt.Errorf("sandbox: %s: %w", r.Key, payments.ErrVoided)
	case dynamo.Text(old, "orderId") != r.OrderID || dynamo.Number(old, "amount") != r.Amount || dynamo.Text(old, "currency") != r.Currency,
		was != status && was != declined:
		return "", fmt.Errorf("sandbox: %s: %w", r.Key, payments.ErrConflict)
	case was == declined:
		return "", fmt.Errorf("sandbox: %s: %w", r.Key, payments.ErrDeclined)
	}

	return chargeID(r.Key), nil
}

// Lookup tells what became of a key.
func (s *Bank) Lookup(ctx context.Context, key string) (payments.Operation, error) {
	out, err := s.DynamoDB.GetItem(ctx, &dynamodb.GetItemInput{TableName: &s.Table, Key: dynamo.Item{"paymentKey": dynamo.S(key)}, ConsistentRead: aws.Bool(true)})
	if err != nil {
		return payments.Operation{}, fmt.Errorf("sandbox: look %s up: %w", key, err)
	}

	op := payments.Operation{Amount: dynamo.Number(out.Item, "amount"), Currency: dynamo.Text(out.Item, "currency"), Reference: chargeID(key)}
	switch dynamo.Text(out.Item, "status") {
	case "":
		return payments.Operation{}, nil
	case declined:
		op.Status = payments.OperationDeclined
	case voided:
		op.Status = payments.OperationVoided
	default:
		op.Status = payments.OperationSucceeded
	}

	return op, nil
}

// Report calls fn with every capture and refund that the sandbox has made, in no useful
// order: the processor's side of a reconciliation.
func (s *Bank) Report(ctx context.Context, fn func(key, kind string, amount int64, currency string) error) error {
	in := &dynamodb.ScanInput{TableName: &s.Table, ConsistentRead: aws.Bool(true)}
	for {
		out, err := s.DynamoDB.Scan(ctx, in)
		if err != nil {
			return fmt.Errorf("sandbox: report: %w", err)
		}

		for _, i := range out.Items {
			kind := map[string]string{captured: string(payments.Capturing), refunded: string(payments.Refunding)}[dynamo.Text(i, "status")]
			if kind == "" {
				continue
			}

			if err := fn(dynamo.Text(i, "paymentKey"), kind, dynamo.Number(i, "amount"), dynamo.Text(i, "currency")); err != nil {
				return err
			}
		}

		if in.ExclusiveStartKey = out.LastEvaluatedKey; len(out.LastEvaluatedKey) == 0 {
			return nil
		}
	}
}
