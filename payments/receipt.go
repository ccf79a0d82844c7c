package payments

import (
	"context"
	"fmt"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ratchet/internal/dynamo"
	"ratchet/once/ledger"
	"ratchet/once/txn"
)

// receiptPrefix begins the keys of receipts in the table of payments. The id of a payment
// contains no "#".
const receiptPrefix = "event#"

func isReceipt(key string) bool { return strings.HasPrefix(key, receiptPrefix) }

// put writes the receipt of an event. The condition holds for a new event, for a receipt of this
// call, and for a parked event. The processor may send a parked event again after its payment was
// created or corrected.
func (r Received) put(table string, effect Effect, reason string) *types.Put {
	return &types.Put{
		TableName: &table,
		Item: dynamo.Item{
			"paymentId": dynamo.S(receiptPrefix + r.EventID),
			"type":      dynamo.S(r.Type),
			"payment":   dynamo.S(r.PaymentID),
			"step":      dynamo.S(r.step),
			"amount":    dynamo.N(r.amount),
			"currency":  dynamo.S(r.currency),
			"effect":    dynamo.S(string(effect)),
			"reason":    dynamo.S(reason),
			"at":        encodeTime(r.At),
			"receiver":  dynamo.S(r.call),
		},
		ConditionExpression: aws.String("attribute_not_exists(paymentId) OR effect = :parked OR receiver = :receiver"),
		ExpressionAttributeValues: dynamo.Item{
			":parked":   dynamo.S(string(EffectParked)),
			":receiver": dynamo.S(r.call),
		},
	}
}

func decodeReceived(item dynamo.Item) Received {
	return Received{
		EventID:   strings.TrimPrefix(dynamo.Text(item, "paymentId"), receiptPrefix),
		Type:      dynamo.Text(item, "type"),
		PaymentID: dynamo.Text(item, "payment"),
		Effect:    Effect(dynamo.Text(item, "effect")),
		Reason:    dynamo.Text(item, "reason"),
		At:        decodeTime(item, "at"),
		step:      dynamo.Text(item, "step"),
		amount:    dynamo.Number(item, "amount"),
		currency:  dynamo.Text(item, "currency"),
	}
}

// receipt writes the receipt in the transaction that acts on the event.
func (s *Payments) receipt(r Received, effect Effect, reason string) ledger.TxPart {
	return func(t *txn.Transaction) {
		t.Add(partReceipt, types.TransactWriteItem{Put: r.put(s.cfg.Tables.Payments, effect, reason)}, txn.FailWith(errRepeated))
	}
}

// storeReceipt writes the receipt of an event outside a transaction, or replaces the receipt that
// this call has written. If another call has written the receipt, the effect is EffectRepeated.
func (s *Payments) storeReceipt(ctx context.Context, r Received, effect Effect, reason string) (Received, error) {
	put := r.put(s.cfg.Tables.Payments, effect, reason)
	_, err := s.cfg.DynamoDB.PutItem(ctx, &dynamodb.PutItemInput{
		TableName:                           put.TableName,
		Item:                                put.Item,
		ConditionExpression:                 put.ConditionExpression,
		ExpressionAttributeValues:           put.ExpressionAttributeValues,
		ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld,
	})

	r.Effect, r.Reason = effect, reason
	// The condition also holds for a receipt of this call, so the receipt that failed it is another
	// call's.
	if _, failed := dynamo.FailedCondition(err); failed {
		r.Effect, r.Reason = EffectRepeated, ""
		return r, nil
	}

	if err != nil {
		return Received{}, fmt.Errorf("receipt of event %s: %w", r.EventID, err)
	}

	return r, nil
}

// Parked returns up to limit callbacks (1 to 1,000) that a person must look at, and the value of
// after for the next page, empty at the end. Parked scans the table.
func (s *Payments) Parked(ctx context.Context, after string, limit int) (all []Received, next string, err error) {
	if err := checkLimit(limit); err != nil {
		return nil, "", fmt.Errorf("parked callbacks: %w", err)
	}

	all = []Received{}

	in := &dynamodb.ScanInput{
		TableName:                 &s.cfg.Tables.Payments,
		ConsistentRead:            aws.Bool(true),
		FilterExpression:          aws.String("effect = :parked"),
		ExpressionAttributeValues: dynamo.Item{":parked": dynamo.S(string(EffectParked))},
	}
	if after != "" {
		in.ExclusiveStartKey = paymentKey(receiptPrefix + after)
	}

	for {
		out, err := s.cfg.DynamoDB.Scan(ctx, in)
		if err != nil {
			return nil, "", fmt.Errorf("parked callbacks: %w", err)
		}

		for _, item := range out.Items {
			r := decodeReceived(item)
			if all = append(all, r); len(all) == limit {
				return all, r.EventID, nil
			}
		}

		// A page may be empty before the end of the table: the filter drops items after the page was read.
		if in.ExclusiveStartKey = out.LastEvaluatedKey; len(out.LastEvaluatedKey) == 0 {
			return all, "", nil
		}
	}
}
