package transitions

import (
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ratchet/once/txn"
)

// Unchanged returns a function that adds a check to the caller's transaction: the order is as it was
// read, in its state and with its content. If the order has changed, the transaction is refused with
// ErrContended: read the order again.
func (o *Orders) Unchanged(order *Order) func(*txn.Transaction) {
	values := image{}
	condition := pinned(order, values)
	check := o.cfg.Mapping.part(types.TransactWriteItem{ConditionCheck: &types.ConditionCheck{
		TableName:                 &o.cfg.Table,
		Key:                       orderKey(order.ID),
		ConditionExpression:       &condition,
		ExpressionAttributeValues: values,
	}})

	return func(t *txn.Transaction) { t.AddDecisive("order", check, txn.FailWith(ErrContended)) }
}
