// Package embeddedtest is a test kit for code that talks to AWS: an engine for
// each test, a clock that the test moves, and a transport that makes calls fail.
//
// [Open] opens an [embedded.Engine] that keeps its data in memory, and closes it
// when the test ends. [DynamoDB] also creates tables in it and returns a client. [Backend]
// returns a configuration for the engine, or for the DynamoDB Local that the environment
// names: one suite runs against both.
//
// [Intercept] puts a [Transport] between SDK clients and the service. A
// [Fault] says which calls fail and how: the request is lost, the answer is lost
// after the write was made, AWS answers with an error, the call takes time. Hooks
// see every call and may do what no Fault describes. The transport counts calls.
//
//	cfg := embeddedtest.Backend(t)
//	cfg.Retryer = embeddedtest.RetryAtOnce
//	transport := embeddedtest.Intercept(&cfg)
//	db := dynamodb.NewFromConfig(cfg)
//
//	lost := transport.Inject(embeddedtest.LoseAnswer("UpdateItem").Next(3))
//	// ... the code under test must apply its update once ...
//	if lost.Strikes() != 3 { ... }
//
// # Caveats
//
// The transport stands on the client's side: a lost answer
// does not undo the write, and the engine knows nothing of the fault. To strike all callers of an
// engine, and the calls of its executions, give the same [Fault] to embedded.Engine.Inject.
// Operations are recognized by
// the X-Amz-Target header, which DynamoDB, DynamoDB Streams, Step Functions and SQS
// use; other requests are named by method and path, as "POST /charges".
package embeddedtest
