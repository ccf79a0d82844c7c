// Package expression is DynamoDB's expression language: conditions, filters,
// updates, projections and key conditions.
//
// An expression is parsed and bound to its request's ExpressionAttributeNames and
// ExpressionAttributeValues in one go ([ParseCondition], [ParseUpdate], ...), and
// then evaluated against items ([Condition.Match], [Update.Apply], ...). What was
// parsed is immutable and may be used by many goroutines. One [Params] belongs to
// one request: it notes which references the expressions use, so that
// [Params.Unused] can refuse the rest once all of them are parsed.
//
//	p := expression.NewParams(req.ExpressionAttributeNames, req.ExpressionAttributeValues)
//	cond, err := expression.ParseCondition("ConditionExpression", req.ConditionExpression, p)
//	...
//	if err := p.Unused(); err != nil { ... }
//	ok, err := cond.Match(item)
//
// # Refusals
//
// Every error is an [*Error] whose text is the whole message of a
// ValidationException. DynamoDB finds faults in a fixed order, and so does this
// package: the syntax of the whole expression; redundant parentheses; then, left
// to right, function names, their places, reserved words and list indexes; then,
// operation by operation from the inside out, undefined references, numbers of
// operands and their types. The order and the words were taken from DynamoDB
// Local 3.1.0 and are held against it by tests/conformance.
//
// # Evaluation
//
// A comparison with an attribute that the item lacks is false, except <>, which
// is true. Values of different types are never in an order. All operands of an
// update read the item as it was before; list indexes mean positions before the
// update, and a SET behind the end of a list appends.
//
// Rule: https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Expressions.html
package expression
