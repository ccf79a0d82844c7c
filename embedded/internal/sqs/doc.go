// Package sqs is Amazon SQS inside the process: standard and FIFO queues over the real
// wire protocol (AWS JSON 1.0, target "AmazonSQS"). For the operations listed below, an
// SDK client works as it does with the service.
//
//	service, err := sqs.New(db, sqs.Config{Region: "us-east-1", AccountID: "000000000000"})
//	go service.Run(ctx) // removes messages past their queue's retention
//	handler := wire.NewHandler(log, service.Wire())
//
// # Model
//
// A message is two records on disk: its content, written once, and its state (when it is
// visible, how often it was received), rewritten by every receive. In memory each queue
// has an index of its messages without their content: which may be received now, which
// becomes visible when, which is oldest. New rebuilds the index from the states.
//
// One lock guards all queues, because dead letters move between them. The flush to disk
// happens outside the lock, so that callers share flushes. A receive that waits for
// messages holds no lock.
//
// # Guarantees
//
//   - Every answer is on disk before it is sent: messages, receives with their visibility timeouts and
//     counts, deletions, deduplication ids.
//   - A message is received again and again until it is deleted, exceeds the queue's
//     retention, or becomes a dead letter. While it is in flight, no other receive gets it.
//   - Each receive returns a new receipt handle and makes the earlier ones void.
//   - A FIFO queue returns the messages of a group in the order in which they were sent,
//     several per receive if asked to, and none behind a message of the group that is in flight.
//     A deduplication id is remembered for five minutes.
//
// # Supported
//
// All operations but those of message move tasks, and all attributes of queues and messages: docs/reference/engine.md
// lists them. Message attributes have their digests. Standard queues take group ids.
//
// # Not supported
//
// Policies and encryption are kept, and have no effect. Message move tasks, ReceiveRequestAttemptId, lists in message
// attributes and queues of other accounts are refused by name.
//
// # Differences from AWS
//
//   - A standard queue delivers each message once and in order, unless it becomes visible
//     again. AWS promises neither; consumers must not rely on it. A receive considers all
//     messages, so it is never empty by chance, and counts are exact.
//   - A queue exists as soon as it is created and is gone as soon as it is deleted, with
//     its name free at once. Attributes and purges take effect at once.
//   - Queue URLs have the host under which the caller has reached the engine. The last part of a URL identifies the
//     queue.
//   - A FIFO queue considers all its groups, not only its first 120,000 messages.
//   - There is no throttling and no quota of requests.
//
// Messages past their retention are never returned, also when Run does not run; Run only
// removes them from the disk.
package sqs
