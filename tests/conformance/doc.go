// Package conformance holds the embedded engine against the vendor: the same raw
// requests go to the engine and to DynamoDB Local, Amazon's own emulator, and the
// answers are compared field by field: status, exception, message, body.
//
//	make conformance
//
// runs it (go test -tags conformance ./tests/conformance). internal/dynamodblocal brings
// DynamoDB Local from Maven Central into .cache/dynamodb-local once. Java 17 and
// Maven must be there: without them the suite fails, it never skips.
//
// Where the service itself is known to answer otherwise than its emulator, the
// service is right and the engine follows it. Each such place stands in
// differences_test.go with its reason and source. A listed difference that no request shows any
// more fails the suite, so that the list stays true.
package conformance
