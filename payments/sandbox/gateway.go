package sandbox

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"strconv"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ratchet/internal/dynamo"
	"ratchet/payments"
)

type dynamoDB interface {
	GetItem(context.Context, *dynamodb.GetItemInput, ...func(*dynamodb.Options)) (*dynamodb.GetItemOutput, error)
	Scan(context.Context, *dynamodb.ScanInput, ...func(*dynamodb.Options)) (*dynamodb.ScanOutput, error)
	TransactWriteItems(context.Context, *dynamodb.TransactWriteItemsInput, ...func(*dynamodb.Options)) (*dynamodb.TransactWriteItemsOutput, error)
	PutItem(context.Context, *dynamodb.PutItemInput, ...func(*dynamodb.Options)) (*dynamodb.PutItemOutput, error)
	UpdateItem(context.Context, *dynamodb.UpdateItemInput, ...func(*dynamodb.Options)) (*dynamodb.UpdateItemOutput, error)
}

// Bank is a [Gateway] and a [Processor] without a bank. What it does to an order follows from the
// order's id alone, so that a run can be recounted: of 100 orders about
// DeclinePercent are declined, and about TimeoutPercent charge and then time out
// once. Its charges are items, so a restart forgets nothing.
type Bank struct {
	DynamoDB dynamoDB
	Table    string
	// DeclinePercent and TimeoutPercent are 0 to 100.
	DeclinePercent, TimeoutPercent uint32
}

const (
	charged  = "CHARGED"
	declined = "DECLINED"
	voided   = "VOIDED"
)

// Declines reports whether the sandbox declines the order's payments.
func (s *Bank) Declines(orderID string) bool { return draw("decline", orderID) < s.DeclinePercent }

func (s *Bank) timesOut(orderID string) bool { return draw("timeout", orderID) < s.TimeoutPercent }

// draw gives each order a number from 0 to 99 per purpose.
func draw(purpose, orderID string) uint32 {
	h := fnv.New32a()
	_, _ = h.Write([]byte(purpose + "/" + orderID)) // a hash does not fail
	return h.Sum32() / 7 % 100
}

// Charge records the charge under its key, or answers as the record says.
func (s *Bank) Charge(ctx context.Context, c payments.Charge) (string, error) {
	if c.Key == "" || c.Amount <= 0 {
		return "", fmt.Errorf("charge order %s: key must be set and amount above 0, got %q and %d", c.OrderID, c.Key, c.Amount)
	}

	status := charged
	if s.Declines(c.OrderID) {
		status = declined
	}

	_, err := s.DynamoDB.PutItem(ctx, &dynamodb.PutItemInput{
		TableName: &s.Table, ConditionExpression: aws.String("attribute_not_exists(paymentKey)"),
		Item: map[string]types.AttributeValue{
			"paymentKey": dynamo.S(c.Key), "orderId": dynamo.S(c.OrderID), "status": dynamo.S(status),
			"amount": &types.AttributeValueMemberN{Value: strconv.FormatInt(c.Amount, 10)}, "currency": dynamo.S(c.Currency),
		},
		ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld,
	})
	var exists *types.ConditionalCheckFailedException
	switch {
	case errors.As(err, &exists):
		return s.settled(c, exists.Item)
	case err != nil:
		return "", fmt.Errorf("charge order %s: %w", c.OrderID, err)
	case status == declined:
		return "", fmt.Errorf("charge order %s: %w", c.OrderID, payments.ErrDeclined)
	case s.timesOut(c.OrderID):
		return "", fmt.Errorf("charge order %s: %w", c.OrderID, payments.ErrTimeout) // charged, and nobody told
	}

	return chargeID(c.Key), nil
}

// settled answers a charge whose key has been used.
func (s *Bank) settled(c payments.Charge, item map[string]types.AttributeValue) (string, error) {
	amount, _ := item["amount"].(*types.AttributeValueMemberN)
	switch dynamo.Text(item, "status") {
	case voided:
		return "", fmt.Errorf("charge order %s: %w", c.OrderID, payments.ErrVoided)
	case declined:
		return "", fmt.Errorf("charge order %s: %w", c.OrderID, payments.ErrDeclined)
	}

	if dynamo.Text(item, "orderId") != c.OrderID || amount == nil || amount.Value != strconv.FormatInt(c.Amount, 10) {
		return "", fmt.Errorf("charge order %s: %w", c.OrderID, payments.ErrConflict)
	}

	return chargeID(c.Key), nil
}

// Void closes the key, whatever was charged under it.
func (s *Bank) Void(ctx context.Context, key string) error {
	_, err := s.DynamoDB.UpdateItem(ctx, &dynamodb.UpdateItemInput{
		TableName: &s.Table, Key: map[string]types.AttributeValue{"paymentKey": dynamo.S(key)},
		UpdateExpression:          aws.String("SET #status = :voided, chargedBefore = if_not_exists(chargedBefore, if_not_exists(#status, :nothing))"),
		ExpressionAttributeNames:  map[string]string{"#status": "status"},
		ExpressionAttributeValues: map[string]types.AttributeValue{":voided": dynamo.S(voided), ":nothing": dynamo.S("NOTHING")},
	})
	if err != nil {
		return fmt.Errorf("void payment %s: %w", key, err)
	}

	return nil
}

func chargeID(key string) string { return "ch_" + key }

// Table describes the sandbox's table: key paymentKey.
func Table(name string) *dynamodb.CreateTableInput {
	return dynamo.Table(name, dynamo.TextKey("paymentKey"))
}
