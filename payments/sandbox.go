package payments

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"strconv"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ratchet/internal/attribute"
)

type dynamo interface {
	GetItem(context.Context, *dynamodb.GetItemInput, ...func(*dynamodb.Options)) (*dynamodb.GetItemOutput, error)
	Scan(context.Context, *dynamodb.ScanInput, ...func(*dynamodb.Options)) (*dynamodb.ScanOutput, error)
	TransactWriteItems(context.Context, *dynamodb.TransactWriteItemsInput, ...func(*dynamodb.Options)) (*dynamodb.TransactWriteItemsOutput, error)
	PutItem(context.Context, *dynamodb.PutItemInput, ...func(*dynamodb.Options)) (*dynamodb.PutItemOutput, error)
	UpdateItem(context.Context, *dynamodb.UpdateItemInput, ...func(*dynamodb.Options)) (*dynamodb.UpdateItemOutput, error)
}

// Sandbox is a [Gateway] and a [Processor] without a bank. What it does to an order follows from the
// order's id alone, so that a run can be recounted: of 100 orders about
// DeclinePercent are declined, and about TimeoutPercent charge and then time out
// once. Its charges are items, so a restart forgets nothing.
type Sandbox struct {
	DynamoDB dynamo
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
func (s *Sandbox) Declines(orderID string) bool { return draw("decline", orderID) < s.DeclinePercent }

func (s *Sandbox) timesOut(orderID string) bool { return draw("timeout", orderID) < s.TimeoutPercent }

// draw gives each order a number from 0 to 99 per purpose.
func draw(purpose, orderID string) uint32 {
	h := fnv.New32a()
	_, _ = h.Write([]byte(purpose + "/" + orderID)) // a hash does not fail
	return h.Sum32() / 7 % 100
}

// Charge records the charge under its key, or answers as the record says.
func (s *Sandbox) Charge(ctx context.Context, c Charge) (string, error) {
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
			"paymentKey": attribute.S(c.Key), "orderId": attribute.S(c.OrderID), "status": attribute.S(status),
			"amount": &types.AttributeValueMemberN{Value: strconv.FormatInt(c.Amount, 10)}, "currency": attribute.S(c.Currency),
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
		return "", fmt.Errorf("charge order %s: %w", c.OrderID, ErrDeclined)
	case s.timesOut(c.OrderID):
		return "", fmt.Errorf("charge order %s: %w", c.OrderID, ErrTimeout) // charged, and nobody told
	}

	return chargeID(c.Key), nil
}

// settled answers a charge whose key has been used.
func (s *Sandbox) settled(c Charge, item map[string]types.AttributeValue) (string, error) {
	amount, _ := item["amount"].(*types.AttributeValueMemberN)
	switch attribute.Text(item, "status") {
	case voided:
		return "", fmt.Errorf("charge order %s: %w", c.OrderID, ErrVoided)
	case declined:
		return "", fmt.Errorf("charge order %s: %w", c.OrderID, ErrDeclined)
	}

	if attribute.Text(item, "orderId") != c.OrderID || amount == nil || amount.Value != strconv.FormatInt(c.Amount, 10) {
		return "", fmt.Errorf("charge order %s: %w", c.OrderID, ErrConflict)
	}

	return chargeID(c.Key), nil
}

// Void closes the key, whatever was charged under it.
func (s *Sandbox) Void(ctx context.Context, key string) error {
	_, err := s.DynamoDB.UpdateItem(ctx, &dynamodb.UpdateItemInput{
		TableName: &s.Table, Key: map[string]types.AttributeValue{"paymentKey": attribute.S(key)},
		UpdateExpression:          aws.String("SET #status = :voided, chargedBefore = if_not_exists(chargedBefore, if_not_exists(#status, :nothing))"),
		ExpressionAttributeNames:  map[string]string{"#status": "status"},
		ExpressionAttributeValues: map[string]types.AttributeValue{":voided": attribute.S(voided), ":nothing": attribute.S("NOTHING")},
	})
	if err != nil {
		return fmt.Errorf("void payment %s: %w", key, err)
	}

	return nil
}

func chargeID(key string) string { return "ch_" + key }

// SandboxTable describes the sandbox's table: key paymentKey.
func SandboxTable(name string) *dynamodb.CreateTableInput {
	return attribute.Table(name, attribute.TextKey("paymentKey"))
}
