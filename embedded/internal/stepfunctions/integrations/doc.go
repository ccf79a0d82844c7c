// Package integrations makes the calls of tasks to services: the engine's own DynamoDB and SQS, functions of
// the embedding program, and Step Functions itself.
//
// A [Caller] turns the parameters of a task into a request of the service, its answer into what the task sees,
// and its refusal into the error and the cause that the SDK of the integration would give.
package integrations
