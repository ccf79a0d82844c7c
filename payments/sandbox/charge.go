package sandbox

import (
	"context"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ratchet/internal/dynamo"
	"ratchet/payments"
)

// Charge stores the charge under its key and returns the bank's id of it. A repeat returns
// what the stored charge says.
func (b *Bank) Charge(ctx context.Context, c payments.Charge) (string, error) {
	if c.Key == "" || c.Amount <= 0 {
		return "", fmt.Errorf("charge order %s: key must be set and amount above 0, got %q and %d", c.OrderID, c.Key, c.Amount)
	}

	status := statusCharged
	if b.Declines(c.OrderID) {
		status = statusDeclined
	}

	_, err := b.cfg.DynamoDB.PutItem(ctx, &dynamodb.PutItemInput{
		TableName: &b.cfg.Table,
		Item: dynamo.Item{
			"paymentKey": dynamo.S(c.Key),
			"orderId":    dynamo.S(c.OrderID),
			"status":     dynamo.S(status),
			"amount":     dynamo.N(c.Amount),
			"currency":   dynamo.S(c.Currency),
		},
		ConditionExpression:                 aws.String("attribute_not_exists(paymentKey)"),
		ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld,
	})
	if old, failed := dynamo.FailedCondition(err); failed {
		return b.repeatCharge(c, old)
	}

	switch {
	case err != nil:
		return "", fmt.Errorf("charge order %s: %w", c.OrderID, err)
	case status == statusDeclined:
		return "", fmt.Errorf("charge order %s: %w", c.OrderID, payments.ErrDeclined)
	case b.losesAnswer(c.OrderID):
		return "", fmt.Errorf("charge order %s: %w", c.OrderID, payments.ErrTimeout) // the charge is stored
	}

	return reference(c.Key), nil
}

// repeatCharge answers a charge whose key was used.
func (b *Bank) repeatCharge(c payments.Charge, old dynamo.Item) (string, error) {
	switch dynamo.Text(old, "status") {
	case statusVoided:
		return "", fmt.Errorf("charge order %s: %w", c.OrderID, payments.ErrVoided)
	case statusDeclined:
		return "", fmt.Errorf("charge order %s: %w", c.OrderID, payments.ErrDeclined)
	}

	if dynamo.Text(old, "orderId") != c.OrderID || dynamo.Number(old, "amount") != c.Amount {
		return "", fmt.Errorf("charge order %s: %w", c.OrderID, payments.ErrConflict)
	}

	return reference(c.Key), nil
}

// Void returns what was charged or authorized under the key, if anything was, and closes
// the key. A repeat changes nothing.
func (b *Bank) Void(ctx context.Context, key string) error {
	update := dynamo.NewUpdate(b.cfg.Table, bankKey(key))
	status := update.Name("status")
	update.
		Set(status+" = :voided").
		Set("chargedBefore = if_not_exists(chargedBefore, if_not_exists("+status+", :nothing))").
		Bind(":voided", dynamo.S(statusVoided)).
		Bind(":nothing", dynamo.S("NOTHING"))

	if _, err := b.cfg.DynamoDB.UpdateItem(ctx, update.Input()); err != nil {
		return fmt.Errorf("void payment %s: %w", key, err)
	}

	return nil
}
