// Package queues hands the messages of an SQS queue to a handler and does with each message as the
// handler answers. The package knows nothing about the meaning of messages.
//
// # Model
//
// A [Handler] gets one [Message] and answers with an [Outcome]: [Done] deletes it;
// [Retry] lets it come again after a wait; [InProgress] lets it come again when the
// worker that does the same work must have ended, and does not count as an attempt;
// [NotYet] does the same for something that is out of reach; [Reject] sends it to the
// dead-letter queue. A [Consumer] takes a free slot, polls, keeps the messages in flight
// invisible to other consumers, and deletes in batches.
//
//	c, err := queues.New(queues.Config{
//		SQS:           sqs.NewFromConfig(cfg),
//		QueueURL:      url,
//		DeadLetterURL: deadLetters,
//		Handler: func(ctx context.Context, m queues.Message) queues.Outcome {
//			if err := work(ctx, m.Body); err != nil {
//				return queues.Retry(0, err)
//			}
//			return queues.Done()
//		},
//	})
//	...
//	err = c.Run(ctx) // until ctx ends and no message is in flight
//
// # Guarantees
//
//   - A slot is held before a poll is sent: no message waits in the process for one.
//   - A message is deleted only after its handler has answered Done, or after it was
//     stored in the dead-letter queue. A deletion is repeated until it is confirmed; of a
//     batch, only the entries that failed are sent again.
//   - While a message is in flight, its visibility timeout is extended before a third of
//     it has passed. A message that cannot be extended counts as lost before the service
//     gives it to another receiver: its handler's context ends with [ErrMessageLost].
//   - The messages of a group of a FIFO queue are handled one after the other, each when
//     the one before is deleted. Behind a message that was not deleted, no handler is called for the
//     rest of the group; the rest comes again behind that message.
//   - Panics and runtime.Goexit are retries. A handler that does not return after its
//     timeout keeps a slot, but not the message.
//   - A stop calls no further handler, returns the messages whose handlers were not
//     called, lets handlers finish for DrainTimeout, and then ends their contexts.
//
// # Caveats
//
// Delivery is at least once, also on a FIFO queue: a deletion that was lost on the way to
// the service, or a consumer that died, repeats the message. Handlers must be idempotent.
// A message may reach the dead-letter queue twice for the same reason.
//
// The attempts of a message are its failures, which [Config.Failures] counts. They are not
// derived from the service's count of receives, so an outage, a stop or a failing message
// in front costs no attempt. Without Failures, each process counts for itself, for the
// latest 4,096 messages that failed: a message may have more attempts then, never fewer.
// When a message kills its consumer, no failure is counted; the queue's redrive policy moves such a
// message.
//
// A redrive policy of the queue moves messages by its own count, also messages of a FIFO group that
// wait behind a failing one. Prefer DeadLetterURL, and set the policy's maxReceiveCount to a multiple
// of Attempts, as a safety net.
package queues
