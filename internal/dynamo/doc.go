// Package dynamo holds what every package of this module needs to write to DynamoDB:
// short names for attribute values, readers that treat an attribute of another type as
// absent, a builder of conditional updates, the item that failed a condition, and the one
// definition of which errors leave the outcome of a write unknown.
package dynamo
