// Package dynamo holds what every package of this module needs to write to DynamoDB:
// short names for attribute values, readers that treat an attribute of another type as
// absent, a builder of conditional updates, the item that failed a condition, the one
// definition of which errors leave the outcome of a write unknown ([OutcomeUnknown], [Attempts]),
// and the clock of the service ([Clock]).
//
//	update := dynamo.NewUpdate("leases", dynamo.Item{"shardId": dynamo.S(id)}).
//		IfEquals("owner", dynamo.S(me)).
//		SetValue("counter", dynamo.N(n))
//	_, err := client.UpdateItem(ctx, update.Input())
//	if old, failed := dynamo.FailedCondition(err); failed {
//		return lostTo(dynamo.Text(old, "owner"))
//	}
package dynamo
