package costs

import (
	"context"
	"errors"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ratchet/internal/dynamo"
	"ratchet/once"
	"ratchet/once/txn"
	"ratchet/transitions"
	"ratchet/workflow"
)

const (
	plainTable = "plain-orders"
	onceTable  = "once"
)

// rival is a way to make one transition happen once. Every way moves the same order (an id of
// 36 characters, one line, a total) by one conditional write; they differ in how they
// recognize a repeated request.
type rival struct {
	what string
	// before, if set, prepares the order. It is not measured.
	before func(ctx context.Context) error
	// move makes the transition to the version, under the key of the request.
	move func(ctx context.Context, version int, key string) error
}

// measurePatterns measures every rival twice: the first request, and the same request again.
func measurePatterns(ctx context.Context) (Table, error) {
	t := Table{Head: []string{"pattern", "first run: read", "write", "repeated: read", "write"}}
	l, err := openEngine(ctx, transitions.Mapping{}.OrdersTable(ordersTable), dynamo.Table(plainTable, dynamo.TextKey("orderId")), once.TableInput(onceTable))
	if err != nil {
		return t, err
	}
	defer l.close()

	orders, err := transitions.New(transitions.Config{DynamoDB: l.db, Table: ordersTable, Log: quiet})
	if err != nil {
		return t, err
	}

	if _, err := orders.Create(ctx, transitions.NewOrder{
		ID:    orderID,
		Items: []transitions.Item{{SKU: "mug-00", Quantity: 2, Price: 1250}},
		Total: transitions.Money{Amount: 2500, Currency: "EUR"},
	}); err != nil {
		return t, err
	}

	p := &plain{db: l.db}
	if err := p.place(ctx); err != nil {
		return t, err
	}

	claims, err := once.New(once.Config{DynamoDB: l.db, Table: onceTable})
	if err != nil {
		return t, err
	}

	// Each way moves the order one version further.
	version := 0
	for _, r := range rivals(orders, p, claims) {
		version++
		// A UUID's length, because the size of a key counts.
		key := "8f14e45f-ceea-467f-a1d3-" + fmt.Sprintf("%012d", version)

		if r.before != nil {
			if err := r.before(ctx); err != nil {
				return t, err
			}
		}

		first, err := l.of(func() error { return r.move(ctx, version, key) })
		if err != nil {
			return t, fmt.Errorf("%s: %w", r.what, err)
		}

		// The same key and version: a repeat after a lost answer.
		again, err := l.of(func() error { return r.move(ctx, version, key) })
		if err != nil {
			return t, fmt.Errorf("%s, again: %w", r.what, err)
		}
		t.Rows = append(t.Rows, []string{r.what, number(first.Read), number(first.Write), number(again.Read), number(again.Write)})
	}

	return t, nil
}

// rivals returns Ratchet's ways, then ways that are common elsewhere.
func rivals(orders *transitions.Orders, p *plain, claims *once.Claims) []rival {
	return []rival{
		{
			what: "Ratchet: the trace is in the order (`transitions.Apply`)",
			move: func(ctx context.Context, _ int, _ string) error {
				_, err := orders.Apply(ctx, transitions.Request{OrderID: orderID, Event: workflow.Pay, TransitionID: 2})
				return err
			},
		},
		{
			what: "Ratchet: a mark in any item (`once.DoInItem`)",
			move: func(ctx context.Context, version int, key string) error {
				_, _, err := claims.DoInItem(ctx, key, nil, once.ItemWrite{
					Table:  plainTable,
					Key:    p.key(),
					Set:    "v = :v",
					Values: dynamo.Item{":v": dynamo.N(int64(version))},
				})

				return err
			},
		},
		{
			what: "Ratchet: claim, transition, complete (`once.Do`)",
			move: func(ctx context.Context, version int, key string) error {
				_, _, err := claims.Do(ctx, key, nil, func(ctx context.Context, _ *once.Claim) ([]byte, error) { return nil, p.move(ctx, version) })
				return err
			},
		},
		{
			what: "Ratchet: a record in the transaction (`once.DoInTransaction`)",
			move: func(ctx context.Context, version int, key string) error {
				_, _, err := claims.DoInTransaction(ctx, key, nil, nil, func(t *txn.Transaction) {
					t.Add("order", types.TransactWriteItem{Update: p.part(version)}, nil)
				})
				return err
			},
		},
		{what: "read the version, then write under it", move: p.readFirst},
		{what: "claim, work, complete; the refusal brings the record", move: p.claimComplete},
		{what: "claim, work, complete; the record is read after a refusal", move: p.claimCompleteRead},
		{what: "once-lock, then work", move: p.lock},
		{what: "marker and order in one TransactWriteItems", move: p.transact},
		{what: "a set of keys in the order, the first one", move: p.keySet},
		{what: "a set of keys in the order, after 100 others", before: p.fill, move: p.keySet},
	}
}

// plain is an order without a ring, for the patterns that keep their records elsewhere.
type plain struct{ db *dynamodb.Client }

func (p *plain) key() dynamo.Item { return dynamo.Item{"orderId": dynamo.S(string(orderID))} }

func (p *plain) place(ctx context.Context) error {
	item := p.key()
	item["orderState"], item["v"] = dynamo.S("PENDING"), dynamo.N(0)
	item["total"] = dynamo.M(dynamo.Item{"amount": dynamo.N(2500), "currency": dynamo.S("EUR")})
	item["items"] = &types.AttributeValueMemberL{Value: []types.AttributeValue{dynamo.M(dynamo.Item{
		"sku":      dynamo.S("mug-00"),
		"quantity": dynamo.N(2),
		"price":    dynamo.N(1250),
	})}}
	_, err := p.db.PutItem(ctx, &dynamodb.PutItemInput{TableName: aws.String(plainTable), Item: item})

	return err
}

// part returns the transition of the order to the version, from any version below it.
func (p *plain) part(version int) *types.Update {
	return &types.Update{
		TableName:                 aws.String(plainTable),
		Key:                       p.key(),
		UpdateExpression:          aws.String("SET v = :v"),
		ConditionExpression:       aws.String("v < :v"),
		ExpressionAttributeValues: dynamo.Item{":v": dynamo.N(int64(version))},
	}
}

func (p *plain) move(ctx context.Context, version int) error {
	u := p.part(version)
	_, err := p.db.UpdateItem(ctx, &dynamodb.UpdateItemInput{
		TableName:                 u.TableName,
		Key:                       u.Key,
		UpdateExpression:          u.UpdateExpression,
		ConditionExpression:       u.ConditionExpression,
		ExpressionAttributeValues: u.ExpressionAttributeValues,
		// AWS bills a failed condition like a write, with or without the item.
		ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld,
	})

	return err
}

// readFirst reads the version and writes only if it is lower.
func (p *plain) readFirst(ctx context.Context, version int, _ string) error {
	out, err := p.db.GetItem(ctx, &dynamodb.GetItemInput{
		TableName:      aws.String(plainTable),
		Key:            p.key(),
		ConsistentRead: aws.Bool(true),
	})
	if err != nil || dynamo.Number(out.Item, "v") >= int64(version) {
		return err
	}

	return p.move(ctx, version)
}

// claim puts a record under the key. It returns false if there is one already.
func (p *plain) claim(ctx context.Context, key string) (bool, error) {
	_, err := p.db.PutItem(ctx, &dynamodb.PutItemInput{
		TableName:                           aws.String(onceTable),
		Item:                                claimed(key, "INPROGRESS"),
		ConditionExpression:                 aws.String("attribute_not_exists(idempotencyKey)"),
		ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld,
	})
	var failed *types.ConditionalCheckFailedException
	if errors.As(err, &failed) {
		return false, nil
	}

	return err == nil, err
}

// claimed is the record under a key, as large as the records of idempotency libraries.
func claimed(key, status string) dynamo.Item {
	return dynamo.Item{
		"idempotencyKey": dynamo.S("p#" + key),
		"status":         dynamo.S(status),
		"expiration":     dynamo.N(1763725272),
	}
}

// claimComplete claims the key, moves the order and completes the record.
func (p *plain) claimComplete(ctx context.Context, version int, key string) error {
	mine, err := p.claim(ctx, key)
	if err != nil || !mine {
		return err
	}

	// A crash between the two leaves a record that is never completed, which is this pattern's
	// weakness.
	return errors.Join(p.move(ctx, version), p.complete(ctx, key))
}

func (p *plain) complete(ctx context.Context, key string) error {
	_, err := p.db.UpdateItem(ctx, &dynamodb.UpdateItemInput{
		TableName:                 aws.String(onceTable),
		Key:                       recordKey(key),
		UpdateExpression:          aws.String("SET #s = :s"),
		ExpressionAttributeNames:  map[string]string{"#s": "status"},
		ExpressionAttributeValues: dynamo.Item{":s": dynamo.S("COMPLETED")},
	})

	return err
}

func recordKey(key string) dynamo.Item {
	return dynamo.Item{"idempotencyKey": dynamo.S("p#" + key)}
}

// claimCompleteRead is claimComplete without the item of a failed condition: it reads the record
// afterwards.
func (p *plain) claimCompleteRead(ctx context.Context, version int, key string) error {
	mine, err := p.claim(ctx, key)
	switch {
	case err != nil:
		return err
	case !mine:
		_, err = p.db.GetItem(ctx, &dynamodb.GetItemInput{TableName: aws.String(onceTable), Key: recordKey(key)})
		return err
	}

	return errors.Join(p.move(ctx, version), p.complete(ctx, key))
}

// lock claims the key permanently and moves the order. A crash in between loses the work.
func (p *plain) lock(ctx context.Context, version int, key string) error {
	mine, err := p.claim(ctx, key)
	if err != nil || !mine {
		return err
	}

	return p.move(ctx, version)
}

// transact writes a marker and moves the order in one transaction.
func (p *plain) transact(ctx context.Context, version int, key string) error {
	_, err := p.db.TransactWriteItems(ctx, &dynamodb.TransactWriteItemsInput{TransactItems: []types.TransactWriteItem{
		{Put: &types.Put{
			TableName:           aws.String(onceTable),
			Item:                claimed(key, "COMPLETED"),
			ConditionExpression: aws.String("attribute_not_exists(idempotencyKey)"),
		}},
		{Update: p.part(version)},
	}})
	var canceled *types.TransactionCanceledException
	if errors.As(err, &canceled) {
		return nil // a repeat: the marker exists
	}

	return err
}

// keySet keeps the keys of all requests in the order itself.
func (p *plain) keySet(ctx context.Context, version int, key string) error {
	_, err := p.db.UpdateItem(ctx, &dynamodb.UpdateItemInput{
		TableName: aws.String(plainTable),
		Key:       p.key(),
		// ADD to a set makes the item larger with every request: this is the cost to show.
		UpdateExpression:    aws.String("SET v = :v ADD done :key"),
		ConditionExpression: aws.String("NOT contains(done, :one)"),
		ExpressionAttributeValues: dynamo.Item{
			":v":   dynamo.N(int64(version)),
			":one": dynamo.S(key),
			":key": &types.AttributeValueMemberSS{Value: []string{key}},
		},
	})
	var failed *types.ConditionalCheckFailedException
	if errors.As(err, &failed) {
		return nil // a repeat: the set has the key
	}

	return err
}

// fill puts 100 other keys into the order.
func (p *plain) fill(ctx context.Context) error {
	for i := range 100 {
		if err := p.keySet(ctx, i, "8f14e45f-ceea-467f-a1d4-"+fmt.Sprintf("%012d", i)); err != nil {
			return err
		}
	}

	return nil
}
