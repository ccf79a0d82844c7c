package payments

import (
	"context"
	"errors"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ratchet/internal/dynamo"
	"ratchet/ledger"
	"ratchet/txn"
)

// receiptPrefix begins the keys of receipts in the table of payments, whose own keys
// have no "#".
const receiptPrefix = "event#"

// errSeen: the event was taken before.
var errSeen = errors.New("the event was taken before")

// put is the receipt of an event, written by one call. What was parked may be taken
// again: the payment may have come meanwhile, or a person has set it right.
func (r Received) put(table string, effect Effect, reason string) *types.Put {
	i := paymentKey(receiptPrefix + r.EventID)
	i["type"], i["payment"], i["step"] = dynamo.S(r.Type), dynamo.S(r.PaymentID), dynamo.S(r.step)
	i["amount"], i["currency"] = dynamo.N(r.amount), dynamo.S(r.currency)
	i["effect"], i["reason"], i["at"] = dynamo.S(string(effect)), dynamo.S(reason), milliseconds(r.At)
	i["receiver"] = dynamo.S(r.call)

	return &types.Put{TableName: &table, Item: i, ConditionExpression: aws.String("attribute_not_exists(paymentId) OR effect = :parked OR receiver = :receiver"),
		ExpressionAttributeValues: dynamo.Item{":parked": dynamo.S(string(EffectParked)), ":receiver": i["receiver"]}}
}

func receivedOf(i dynamo.Item) Received {
	return Received{EventID: dynamo.Text(i, "paymentId")[len(receiptPrefix):], Type: dynamo.Text(i, "type"), PaymentID: dynamo.Text(i, "payment"),
		Effect: Effect(dynamo.Text(i, "effect")), Reason: dynamo.Text(i, "reason"), At: moment(i, "at"),
		step: dynamo.Text(i, "step"), amount: dynamo.Number(i, "amount"), currency: dynamo.Text(i, "currency")}
}

// receipt writes the receipt in the transaction that acts on the event.
func (s *Payments) receipt(r Received, effect Effect, reason string) ledger.TxPart {
	return func(t *txn.Transaction) {
		t.Add(partReceipt, types.TransactWriteItem{Put: r.put(s.cfg.Table, effect, reason)}, txn.FailWith(errSeen))
	}
}

// receive writes the receipt of an event that needed no other write, or makes the one
// that this call wrote say more. When another call has written it, the event is
// repeated.
func (s *Payments) receive(ctx context.Context, r Received, effect Effect, reason string) (Received, error) {
	put := r.put(s.cfg.Table, effect, reason)

	_, err := s.cfg.DynamoDB.PutItem(ctx, &dynamodb.PutItemInput{TableName: put.TableName, Item: put.Item, ConditionExpression: put.ConditionExpression,
		ExpressionAttributeValues: put.ExpressionAttributeValues, ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld})
	var failed *types.ConditionalCheckFailedException
	r.Effect, r.Reason = effect, reason
	switch {
	case errors.As(err, &failed):
		r.Effect, r.Reason = EffectRepeated, ""
	case err != nil:
		return Received{}, fmt.Errorf("receipt of event %s: %w", r.EventID, err)
	}

	return r, nil
}

// Parked returns up to limit callbacks (1 to 1,000) that a person must look at, and the
// after of the next page, empty at the end. It scans the table.
func (s *Payments) Parked(ctx context.Context, after string, limit int) (all []Received, next string, err error) {
	if limit < 1 || limit > 1000 {
		return nil, "", fmt.Errorf("parked callbacks: %w: limit %d: 1 to 1000", ErrInvalid, limit)
	}
	all = []Received{}

	in := &dynamodb.ScanInput{TableName: &s.cfg.Table, ConsistentRead: aws.Bool(true), FilterExpression: aws.String("effect = :parked"),
		ExpressionAttributeValues: dynamo.Item{":parked": dynamo.S(string(EffectParked))}}
	if after != "" {
		in.ExclusiveStartKey = paymentKey(receiptPrefix + after)
	}

	for {
		out, err := s.cfg.DynamoDB.Scan(ctx, in)
		if err != nil {
			return nil, "", fmt.Errorf("parked callbacks: %w", err)
		}

		for _, item := range out.Items {
			r := receivedOf(item)
			if all = append(all, r); len(all) == limit {
				return all, r.EventID, nil
			}
		}

		if in.ExclusiveStartKey = out.LastEvaluatedKey; len(out.LastEvaluatedKey) == 0 {
			return all, "", nil
		}
	}
}
