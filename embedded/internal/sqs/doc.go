// Package sqs is Amazon SQS inside the process: standard and FIFO queues over the
// real wire protocol (AWS JSON 1.0, target "AmazonSQS"). The SDK's client cannot tell
// it from the service for what is listed below.
//
// # Model
//
// A message is two records on disk: its content, written once, and its state (when it
// is visible, how often it was received), written anew by every receive. In memory
// each queue has an index of its messages without their content: what may be received
// now, what becomes visible when, what is oldest; it is rebuilt by New. One lock holds
// all queues, as dead letters move between them; the flush to disk is outside of it,
// so that callers share flushes. A receive that waits holds nothing.
//
// # Guarantees
//
//   - What was answered is on disk: messages, receives with their visibility time-outs
//     and counts, deletions, deduplication ids.
//   - A message that was sent is received until it is deleted, is as old as the queue's
//     retention, or has become a dead letter. While it is in flight nobody else gets it.
//   - Each receive gives another receipt handle; the ones before are void.
//   - A FIFO queue hands out the messages of a group in the order in which they were
//     taken, as many at once as are asked for, and none while one of the group is in
//     flight. A deduplication id is remembered for five minutes.
//
// # Supported
//
// CreateQueue, GetQueueUrl, GetQueueAttributes, SetQueueAttributes, ListQueues,
// DeleteQueue, PurgeQueue, ReceiveMessage; SendMessage, DeleteMessage,
// ChangeMessageVisibility and their batches. Queue attributes:
// VisibilityTimeout, MessageRetentionPeriod, DelaySeconds,
// ReceiveMessageWaitTimeSeconds, MaximumMessageSize, RedrivePolicy, FifoQueue,
// ContentBasedDeduplication, DeduplicationScope, FifoThroughputLimit. Message
// attributes with their digests, the system attribute AWSTraceHeader, group ids on
// standard queues.
//
// # Refused
//
// Policies, encryption with keys, tags, message move tasks, ReceiveRequestAttemptId,
// queues of other accounts. Unknown operations get UnknownOperationException.
//
// # Where it differs
//
//   - A standard queue hands out its messages once and in order, as far as they are
//     not received again: consumers must not count on it. It asks all its messages at
//     once, so a receive is never empty by chance. Counts are exact.
//   - A queue is there as soon as it is created, gone as soon as it is deleted, and its
//     name is free at once; attributes and purges take effect at once.
//   - Queue URLs name no reachable host; a queue is found by the last part of its URL.
//   - A FIFO queue looks at all its groups, not at its first 120,000 messages.
//   - Throttling and quotas of requests do not exist.
//
// Background work is Run: it takes away what is older than its queue keeps it. A
// service that does not run refuses old messages all the same.
package sqs
