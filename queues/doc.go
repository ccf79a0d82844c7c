// Package queues hands the messages of an SQS queue to a handler and makes of its
// answer what the queue understands. It knows nothing of what the messages are
// about.
//
// # Model
//
// A [Handler] gets one [Message] and answers with one of four outcomes: [Done]
// deletes it; [Retry] lets it come again after a pause; [InProgress] lets it come
// again when the worker who is at it must have ended, and is no attempt; [Reject]
// sends it to the dead letters. The same handlers run behind a Lambda event source
// mapping: see [Lambda].
package queues
