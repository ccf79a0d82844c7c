package server

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"ratchet/queues"
	"ratchet/queues/requests"
	"ratchet/transitions"
)

var queueNameRule = regexp.MustCompile(`^[A-Za-z0-9_-]{1,65}(\.fifo)?$`)

const requestsQueueRule = `requests-queue %q: the queue's URL, or its name: at most 65 of A-Z a-z 0-9 _ -, with or without ".fifo"`

// deadLetters is the name of the queue for rejected requests.
func deadLetters(queue string) string {
	plain, fifo := strings.CutSuffix(queue, ".fifo")
	if fifo {
		return plain + "-dead-letters.fifo"
	}

	return plain + "-dead-letters"
}

// redriveAfter is the maxReceiveCount of the requests' queue: the net below the
// consumer's own attempts, for messages that kill their consumers. An outage that lasts
// for hours stays below it.
const redriveAfter = 100

// createRequestsQueue creates the requests' queue and the one for its dead letters, when
// a name is configured. Queues that are there stay as they are.
func (b *Backend) createRequestsQueue(ctx context.Context) error {
	name := b.Config.RequestsQueue
	if name == "" || strings.Contains(name, "://") {
		return nil
	}

	attributes := map[string]string{"MessageRetentionPeriod": "1209600"} // 14 days, the longest
	if strings.HasSuffix(name, ".fifo") {
		attributes["FifoQueue"] = "true"
	}

	dead, err := b.createQueue(ctx, deadLetters(name), attributes)
	if err != nil {
		return err
	}

	got, err := b.SQS.GetQueueAttributes(ctx, &sqs.GetQueueAttributesInput{QueueUrl: &dead, AttributeNames: []types.QueueAttributeName{types.QueueAttributeNameQueueArn}})
	if err != nil {
		return fmt.Errorf("look up the ARN of queue %s: %w", deadLetters(name), err)
	}
	attributes["RedrivePolicy"] = fmt.Sprintf(`{"deadLetterTargetArn":%q,"maxReceiveCount":%d}`, got.Attributes[string(types.QueueAttributeNameQueueArn)], redriveAfter)
	_, err = b.createQueue(ctx, name, attributes)

	return err
}

// createQueue creates a queue unless there is one of that name, and returns its URL.
func (b *Backend) createQueue(ctx context.Context, name string, attributes map[string]string) (string, error) {
	url, err := b.queueURL(ctx, name)
	if err == nil || !errors.Is(err, errNoQueue) {
		return url, err
	}

	out, err := b.SQS.CreateQueue(ctx, &sqs.CreateQueueInput{QueueName: &name, Attributes: attributes})
	if err != nil {
		return "", fmt.Errorf("create queue %s: %w", name, err)
	}

	return aws.ToString(out.QueueUrl), nil
}

var errNoQueue = errors.New("there is no such queue: run `ratchet init` first")

// queueURL finds a queue by its name.
func (b *Backend) queueURL(ctx context.Context, name string) (string, error) {
	out, err := b.SQS.GetQueueUrl(ctx, &sqs.GetQueueUrlInput{QueueName: &name})
	var none *types.QueueDoesNotExist
	if errors.As(err, &none) {
		return "", fmt.Errorf("queue %s: %w", name, errNoQueue)
	}

	if err != nil {
		return "", fmt.Errorf("look up queue %s: %w", name, err)
	}

	return aws.ToString(out.QueueUrl), nil
}

// requestsURL is the URL of the requests' queue.
func (b *Backend) requestsURL(ctx context.Context) (string, error) {
	switch name := b.Config.RequestsQueue; {
	case name == "":
		return "", fmt.Errorf("%w: requests-queue is not set: name the queue that the workers take requests from", transitions.ErrInvalidRequest)
	case strings.Contains(name, "://"):
		return name, nil
	default:
		return b.queueURL(ctx, name)
	}
}

// embeddedVisibility is how long a restarted worker waits for the messages of its killed
// predecessor.
const embeddedVisibility = 5 * time.Second

// requests builds the consumer of the requests' queue; nil when none is configured.
// Rejected requests go to the queue with the same name and "-dead-letters", where there
// is one, and are else left to the redrive policy.
func (b *Backend) requests(ctx context.Context) (*queues.Consumer, error) {
	if b.Config.RequestsQueue == "" {
		return nil, nil
	}

	url, err := b.requestsURL(ctx)
	if err != nil {
		return nil, err
	}

	dead, err := b.queueURL(ctx, deadLetters(url[strings.LastIndexByte(url, '/')+1:]))
	if err != nil && !errors.Is(err, errNoQueue) {
		return nil, err
	}

	handler, err := requests.New(requests.Config{Orders: b.Orders})
	if err != nil {
		return nil, err
	}

	cfg := queues.Config{SQS: b.SQS, QueueURL: url, DeadLetterURL: dead, Handler: handler.Handle,
		Slots: b.Config.Slots, Log: b.log, Events: queueEvents(b.log)}
	if b.Engine != nil {
		// The engine hands nothing to a poll that has ended. Whoever held messages before
		// this process is dead, so they need not be kept from it for long.
		cfg.PollGrace, cfg.Visibility = -1, embeddedVisibility
	}

	return queues.New(cfg)
}

// Request sends a transition request to the requests' queue and returns the message's
// ID.
func (b *Backend) Request(ctx context.Context, r transitions.Request) (messageID string, err error) {
	url, err := b.requestsURL(ctx)
	if err != nil {
		return "", err
	}

	in, err := requests.Input(url, r)
	if err != nil {
		return "", err
	}

	out, err := b.SQS.SendMessage(ctx, in)
	if err != nil {
		return "", fmt.Errorf("send the request for order %s: %w", r.OrderID, err)
	}

	return aws.ToString(out.MessageId), nil
}
