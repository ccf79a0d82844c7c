package server

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"ratchet/queues"
	"ratchet/queues/events"
	"ratchet/queues/requests"
	"ratchet/transitions"
)

var queueNameRule = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z0-9_-]{1,67}$|^[A-Za-z0-9_-]{1,62}\.fifo$`) })

// maxQueueName is the longest name of a queue, with ".fifo": SQS quotas, "Queue name".
const maxQueueName = 80

// requestsQueueRule is the message about a bad Config.RequestsQueue. The name leaves room
// for "-dead-letters".
const requestsQueueRule = `requests-queue %q: the queue's URL, or its name: at most 67 of A-Z a-z 0-9 _ -, or 62 followed by ".fifo", so that "-dead-letters" fits into a queue's 80`

// deadLetterQueue returns the name of the queue for rejected requests. A FIFO queue needs
// a FIFO queue for its dead letters.
func deadLetterQueue(queue string) string {
	plain, fifo := strings.CutSuffix(queue, ".fifo")
	if fifo {
		return plain + "-dead-letters.fifo"
	}

	return plain + "-dead-letters"
}

// maxReceiveCount is how often a message is received before the redrive policy of the requests' queue
// moves it to the dead letters. The consumer itself moves rejected requests there; the policy is only
// for messages that kill the consumer. The number is high, so that an outage of hours does not turn
// good requests into dead letters.
const maxReceiveCount = 100

// queueRetention is how many seconds a queue keeps a message: 14 days, the maximum.
const queueRetention = 14 * 24 * 60 * 60

// createRequestsQueue creates the requests' queue and the queue for its dead letters if
// Config.RequestsQueue is a name. It does not change existing queues.
func (b *Backend) createRequestsQueue(ctx context.Context) error {
	name := b.Config.RequestsQueue
	if name == "" || isURL(name) {
		return nil
	}

	attributes := map[string]string{"MessageRetentionPeriod": strconv.Itoa(queueRetention)}
	if strings.HasSuffix(name, ".fifo") {
		attributes["FifoQueue"] = "true"
	}

	// The queue for dead letters is created first, because the redrive policy of the requests' queue
	// needs its ARN.
	dead, err := b.createQueue(ctx, deadLetterQueue(name), attributes)
	if err != nil {
		return err
	}

	got, err := b.SQS.GetQueueAttributes(ctx, &sqs.GetQueueAttributesInput{
		QueueUrl:       &dead,
		AttributeNames: []types.QueueAttributeName{types.QueueAttributeNameQueueArn},
	})
	if err != nil {
		return fmt.Errorf("look up the ARN of queue %s: %w", deadLetterQueue(name), err)
	}

	// Looked up, because CreateQueue returns the URL only.
	deadARN := got.Attributes[string(types.QueueAttributeNameQueueArn)]
	attributes["RedrivePolicy"] = fmt.Sprintf(`{"deadLetterTargetArn":%q,"maxReceiveCount":%d}`, deadARN, maxReceiveCount)
	_, err = b.createQueue(ctx, name, attributes)

	return err
}

// createQueue creates a queue unless one of that name exists, and returns its URL.
func (b *Backend) createQueue(ctx context.Context, name string, attributes map[string]string) (string, error) {
	// Looked up first, because CreateQueue fails if the queue exists with other attributes.
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

// queueURL looks up a queue by its name. It fails with errNoQueue if there is none.
func (b *Backend) queueURL(ctx context.Context, name string) (string, error) {
	// The name of dead letters may be too long: a requests' queue that the setting names by its URL may
	// have a name that leaves no room for the suffix.
	if len(name) > maxQueueName {
		return "", fmt.Errorf("queue %s: %w", name, errNoQueue)
	}

	out, err := b.SQS.GetQueueUrl(ctx, &sqs.GetQueueUrlInput{QueueName: &name})

	var missing *types.QueueDoesNotExist
	if errors.As(err, &missing) {
		return "", fmt.Errorf("queue %s: %w", name, errNoQueue)
	}

	if err != nil {
		return "", fmt.Errorf("look up queue %s: %w", name, err)
	}

	return aws.ToString(out.QueueUrl), nil
}

// requestsQueueURL returns the URL of the requests' queue.
func (b *Backend) requestsQueueURL(ctx context.Context) (string, error) {
	switch name := b.Config.RequestsQueue; {
	case name == "":
		return "", fmt.Errorf("%w: requests-queue is not set: name the queue that the workers receive requests from", transitions.ErrInvalidRequest)
	case isURL(name):
		return name, nil
	default:
		return b.queueURL(ctx, name)
	}
}

// embeddedVisibility is the visibility timeout on the embedded engine. After a crash, a new worker waits
// that long for the messages of the killed one.
const embeddedVisibility = 5 * time.Second

// newRequestsConsumer builds the consumer of the requests' queue. It returns nil if no
// queue is configured. Rejected requests go to the queue with the same name and
// "-dead-letters"; if there is no such queue, the redrive policy has to handle them.
func (b *Backend) newRequestsConsumer(ctx context.Context) (*queues.Consumer, error) {
	if b.Config.RequestsQueue == "" {
		return nil, nil
	}

	url, err := b.requestsQueueURL(ctx)
	if err != nil {
		return nil, err
	}

	// Looked up by name in this account, even if the URL of the requests' queue names another account.
	dead, err := b.queueURL(ctx, deadLetterQueue(url[strings.LastIndexByte(url, '/')+1:]))
	if err != nil && !errors.Is(err, errNoQueue) {
		return nil, err
	}

	handler, err := requests.New(requests.Config{Orders: b.Orders, Scheduled: b.Scheduled})
	if err != nil {
		return nil, err
	}

	cfg := queues.Config{
		SQS:           b.SQS,
		QueueURL:      url,
		DeadLetterURL: dead,
		Handler:       handler.Handle,
		Middleware:    []queues.Middleware{b.Tracing.Requests(requests.Decode)},
		Failures:      events.Failures(b.Claims),
		Slots:         b.Config.Slots,
		Log:           b.log,
		Events:        b.Telemetry.QueueEvents(b.health.queueEvents(queueEvents(b.log))),
	}
	// The engine gives no message to a poll that has ended, so a stop does not have to wait for open polls.
	if b.usesEngine(ctx) {
		cfg.PollGrace = -1
	}

	if b.Engine != nil {
		// Only one process has the engine, so messages in flight belong to this process or to a dead one,
		// and their visibility timeout can be short.
		cfg.Visibility = embeddedVisibility
	}

	return queues.New(cfg)
}

// Request sends a transition request to the requests' queue and returns the id of the
// message. It fails with [transitions.ErrInvalidRequest] if no queue is configured or the
// request breaks a rule. A worker applies the request later.
func (b *Backend) Request(ctx context.Context, r transitions.Request) (messageID string, err error) {
	return b.RequestAt(ctx, r, time.Time{})
}

// RequestAt is Request of a request that is to be applied at the time, zero for as soon as a worker can.
func (b *Backend) RequestAt(ctx context.Context, r transitions.Request, at time.Time) (messageID string, err error) {
	url, err := b.requestsQueueURL(ctx)
	if err != nil {
		return "", err
	}

	in, err := requests.Input(url, r)
	if !at.IsZero() {
		in, err = requests.InputAt(url, r, at)
	}

	if err != nil {
		return "", err
	}

	ctx, end := b.Tracing.SendingRequest(ctx, r, in)
	out, err := b.SQS.SendMessage(ctx, in)
	end(err)

	if err != nil {
		return "", fmt.Errorf("send the request for order %s: %w", r.OrderID, err)
	}

	return aws.ToString(out.MessageId), nil
}
