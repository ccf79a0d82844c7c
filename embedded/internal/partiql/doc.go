// Package partiql reads the PartiQL that DynamoDB understands: one SELECT, INSERT, UPDATE or
// DELETE of one table, and the EXISTS of a transaction.
//
// [Parse] returns a [Statement], whose parameters are replaced by their values. It has checked
// everything that needs no table: the grammar, the literals, functions, the types of operands.
// Conditions, updates and projections come as the trees of package expression. The WHERE clause
// comes as an [Expr], too, in which the caller looks for the key.
//
//	stmt, err := partiql.Parse(`SELECT total FROM "orders" WHERE id = ?`, params)
//
// # Errors
//
// An error is an [*Error], an *expression.Error or an *attr.ValidationError, whose text is the
// whole message of a ValidationException. The texts come from recorded answers of the service
// (https://github.com/paritysuite/dynamodb-conformance) or, where none is recorded, from DynamoDB
// Local 3.1.0.
//
// Source: https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/ql-reference.html
package partiql
