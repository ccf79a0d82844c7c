// Package expression implements DynamoDB's expression language: conditions, filters,
// updates, projections and key conditions.
//
// A Parse function ([ParseCondition], [ParseUpdate], ...) reads an expression and binds it to
// the ExpressionAttributeNames and ExpressionAttributeValues of its request. The result is
// evaluated against items ([Condition.Match], [Update.Apply], ...); it is immutable and safe
// for concurrent use. A [Params] belongs to one request. It records which references the
// expressions use, and [Params.Unused] reports the others after the last Parse.
//
//	p := expression.NewParams(req.ExpressionAttributeNames, req.ExpressionAttributeValues)
//	cond, err := expression.ParseCondition("ConditionExpression", req.ConditionExpression, p)
//	...
//	if err := p.Unused(); err != nil { ... }
//	ok, err := cond.Match(item)
//
// Conditions and updates are kept as they were read, up to 4 MB of them, because programs send few texts
// again and again: most requests only resolve references.
//
// # Errors
//
// Every error is an [*Error] whose text is the whole message of a ValidationException.
// DynamoDB reports the first of several mistakes in a fixed order, and so does this package:
// the syntax of the whole expression; redundant parentheses; then, left to right, function
// names, where they may stand, reserved words and list indexes; then, operation by operation
// from the inside out, undefined references, numbers of operands and their types. The order
// and the texts come from DynamoDB Local 3.1.0; tests/conformance compares them.
//
// # Evaluation
//
// A comparison with an attribute that the item does not have is false, except <>, which is
// true. Values of different types have no order. All operands of an update read the item
// as it was before the update, and list indexes are positions before it; a SET beyond the
// end of a list appends.
//
// Source: https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Expressions.html
package expression
