package queues

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
)

// sqsAPI has the methods of *sqs.Client that this package calls.
type sqsAPI interface {
	ReceiveMessage(context.Context, *sqs.ReceiveMessageInput, ...func(*sqs.Options)) (*sqs.ReceiveMessageOutput, error)
	DeleteMessageBatch(context.Context, *sqs.DeleteMessageBatchInput, ...func(*sqs.Options)) (*sqs.DeleteMessageBatchOutput, error)
	ChangeMessageVisibilityBatch(context.Context, *sqs.ChangeMessageVisibilityBatchInput, ...func(*sqs.Options)) (*sqs.ChangeMessageVisibilityBatchOutput, error)
	SendMessage(context.Context, *sqs.SendMessageInput, ...func(*sqs.Options)) (*sqs.SendMessageOutput, error)
}

// maxBatch is the most messages of one call: SQS quotas, "Message batch size".
const maxBatch = 10

// queue is a queue, with the queue for its dead letters.
type queue struct {
	api         sqsAPI
	url         string
	deadLetters string // URL, or empty
}

// name returns the last part of the URL.
func (q *queue) name() string { return q.url[strings.LastIndexByte(q.url, '/')+1:] }

// entryError is the service's error about one message of a batch.
type entryError struct{ code, message string }

func (e *entryError) Error() string { return e.code + ": " + e.message }

// isReceiptInvalid reports whether the receipt handle is void. Then no repeat of the call can
// succeed. The entry's field SenderFault does not show this, because throttling may count as the
// sender's fault, too.
func (e *entryError) isReceiptInvalid() bool {
	switch strings.TrimPrefix(e.code, "AWS.SimpleQueueService.") {
	case "ReceiptHandleIsInvalid", "InvalidParameterValue", "InvalidParameterValueException", "MessageNotInflight", "InvalidIdFormat":
		return true
	}

	return false
}

// entryErrors returns the errors about the messages of a batch of size n, by index.
func entryErrors(entries []types.BatchResultErrorEntry, n int) map[int]*entryError {
	if len(entries) == 0 {
		return nil
	}

	out := make(map[int]*entryError, len(entries))
	for _, e := range entries {
		i, err := strconv.Atoi(aws.ToString(e.Id))
		if err != nil || i < 0 || i >= n {
			continue // not an id that was sent
		}
		out[i] = &entryError{code: aws.ToString(e.Code), message: aws.ToString(e.Message)}
	}

	return out
}

// delete deletes up to ten messages. It returns the errors about single messages, by
// index.
func (q *queue) delete(ctx context.Context, batch []Message, options ...func(*sqs.Options)) (map[int]*entryError, error) {
	entries := make([]types.DeleteMessageBatchRequestEntry, len(batch))
	for i, m := range batch {
		entries[i] = types.DeleteMessageBatchRequestEntry{
			Id:            aws.String(strconv.Itoa(i)),
			ReceiptHandle: aws.String(m.receipt),
		}
	}

	out, err := q.api.DeleteMessageBatch(ctx, &sqs.DeleteMessageBatchInput{QueueUrl: &q.url, Entries: entries}, options...)
	if err != nil {
		return nil, fmt.Errorf("queues: delete %d messages of %s: %w", len(batch), q.name(), err)
	}

	return entryErrors(out.Failed, len(batch)), nil
}

// changeVisibility makes up to ten messages invisible for d from now on, rounded up to a
// whole second; 0 makes them visible. It returns the errors about single messages, by
// index.
func (q *queue) changeVisibility(ctx context.Context, batch []Message, d time.Duration, options ...func(*sqs.Options)) (map[int]*entryError, error) {
	entries := make([]types.ChangeMessageVisibilityBatchRequestEntry, len(batch))
	for i, m := range batch {
		entries[i] = types.ChangeMessageVisibilityBatchRequestEntry{
			Id:                aws.String(strconv.Itoa(i)),
			ReceiptHandle:     aws.String(m.receipt),
			VisibilityTimeout: seconds(d),
		}
	}

	out, err := q.api.ChangeMessageVisibilityBatch(ctx, &sqs.ChangeMessageVisibilityBatchInput{QueueUrl: &q.url, Entries: entries}, options...)
	if err != nil {
		return nil, fmt.Errorf("queues: change the visibility of %d messages of %s: %w", len(batch), q.name(), err)
	}

	return entryErrors(out.Failed, len(batch)), nil
}

// seconds rounds up to whole seconds, the unit of the service.
func seconds(d time.Duration) int32 { return int32((d + time.Second - 1) / time.Second) }
