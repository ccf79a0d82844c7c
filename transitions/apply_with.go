package transitions

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ratchet/internal/dynamo"
	"ratchet/once/txn"
)

// ApplyWith is Apply together with parts that the functions add: one transaction of at most 100 actions writes all
// or nothing. The functions are called for each attempt, with the transition as it is about to be made. The order
// takes one of the actions, and its journal row another if the journal is transactional.
//
// Applied means that a call with this request id has written the order and the parts. After every other verdict
// this call has written nothing; a request that is Replayed may have been applied without the parts. If a part refuses,
// nothing is written, and the error is the part's error in a [*txn.CanceledError].
//
// It costs a read of the order, and twice the write units of Apply.
func (o *Orders) ApplyWith(ctx context.Context, r Request, with ...func(*txn.Transaction, Transition)) (Result, error) {
	return o.applyTo(ctx, r, sight{}, with...)
}

// Living returns a function that adds a check to the caller's transaction: the order is in the life in which it was
// read, and no person was erased from it. If not, the transaction is refused with ErrContended: read the order again.
func (o *Orders) Living(order *Order) func(*txn.Transaction) {
	condition, value := isIn(order.Incarnation, ":life"), dynamo.S(string(order.Incarnation))
	if order.Readable(incarnationAttribute) != nil {
		condition, value = incarnationAttribute+" = :life", order.item[incarnationAttribute]
	}

	condition = "attribute_exists(orderId) AND attribute_not_exists(" + erasedAtAttribute + ") AND " + condition
	check := o.cfg.Mapping.part(types.TransactWriteItem{ConditionCheck: &types.ConditionCheck{
		TableName:                 &o.cfg.Table,
		Key:                       orderKey(order.ID),
		ConditionExpression:       &condition,
		ExpressionAttributeValues: image{":life": value},
	}})

	return func(t *txn.Transaction) { t.AddDecisive(orderPart, check, txn.FailWith(ErrContended)) }
}
