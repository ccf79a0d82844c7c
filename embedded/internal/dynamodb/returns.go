package dynamodb

import (
	"ratchet/embedded/internal/dynamodb/model"
	"ratchet/embedded/internal/wire"
)

// returnsIn has the parameters of a write that ask for parts of its answer.
type returnsIn struct {
	ReturnConsumedCapacity              string
	ReturnItemCollectionMetrics         string
	ReturnValues                        string
	ReturnValuesOnConditionCheckFailure string
}

// constrainOld checks the values against the values of all operations, in the order of PutItem and
// DeleteItem. Each operation later refuses the values that it does not support.
func (r *returnsIn) constrainOld(c *model.Constraints) {
	c.ReturnValues(r.ReturnValues)
	c.Capacity(r.ReturnConsumedCapacity)
	c.CollectionMetrics(r.ReturnItemCollectionMetrics)
	c.ReturnsOnFailure(r.ReturnValuesOnConditionCheckFailure)
}

// checkCapacity validates ReturnConsumedCapacity.
func checkCapacity(value string) error {
	return wire.OneOf(value, "returnConsumedCapacity", "INDEXES", "TOTAL", "NONE")
}
