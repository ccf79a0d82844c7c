package doctor

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"ratchet/internal/plural"
)

// Queue is a queue that the program needs.
type Queue struct {
	// Name and URL: one of them is set.
	Name, URL string
	// Visibility is the least visibility timeout.
	Visibility time.Duration
	// Receives is the least maxReceiveCount of the redrive policy.
	Receives int
}

func (q *Queue) subject() string {
	if q.Name != "" {
		return "queue " + q.Name
	}

	return "queue " + q.URL
}

// resource is the end of the queue's ARN.
func (q *Queue) resource() string {
	// A queue's URL ends with its name.
	return cmp.Or(q.Name, q.URL[strings.LastIndexByte(q.URL, '/')+1:])
}

// redrivePolicy is the attribute RedrivePolicy. AWS writes the count as a number; older tools write
// it as a string.
type redrivePolicy struct {
	Target string `json:"deadLetterTargetArn"`
	Count  any    `json:"maxReceiveCount"`
}

func (e *examination) checkQueue(ctx context.Context) []Check {
	q := e.cfg.Queue
	if q == nil {
		return nil
	}

	url := q.URL
	if url == "" {
		out, err := e.sqs.GetQueueUrl(ctx, &sqs.GetQueueUrlInput{QueueName: &q.Name})
		if err != nil {
			return []Check{e.queueError("sqs:GetQueueUrl", err)}
		}
		url = aws.ToString(out.QueueUrl)
	}

	is, err := e.sqs.GetQueueAttributes(ctx, &sqs.GetQueueAttributesInput{QueueUrl: &url, AttributeNames: []types.QueueAttributeName{types.QueueAttributeNameAll}})
	if err != nil {
		return []Check{e.queueError("sqs:GetQueueAttributes", err)}
	}

	checks := append(e.checkRedrive(ctx, is.Attributes), e.checkVisibility(is.Attributes)...)
	checks = append(checks, e.checkReceipts(ctx, url, is.Attributes[string(types.QueueAttributeNameQueueArn)])...)

	if len(checks) == 0 {
		checks = []Check{NewOK(q.subject(), "with dead letters after "+is.Attributes[string(types.QueueAttributeNameRedrivePolicy)])}
	}

	return checks
}

// queueError is the check of a queue that cannot be looked at.
func (e *examination) queueError(action string, err error) Check {
	subject := e.cfg.Queue.subject()

	var missing *types.QueueDoesNotExist
	switch {
	case errors.As(err, &missing):
		return NewFailure(subject, "does not exist", runInit+", if requests-queue is a name")
	case isDenied(err):
		return e.denials(subject, []Permission{{Action: action, Resource: e.cfg.Queue.resource()}}, "the queue")[0]
	}

	return NewUnchecked(subject, action+": "+brief(err), "repeat the command")
}

// checkRedrive looks at the redrive policy and the queue that it names.
func (e *examination) checkRedrive(ctx context.Context, attributes map[string]string) []Check {
	subject := e.cfg.Queue.subject()

	var policy redrivePolicy
	text := attributes[string(types.QueueAttributeNameRedrivePolicy)]
	if text == "" || json.Unmarshal([]byte(text), &policy) != nil || policy.Target == "" {
		return []Check{NewFailure(subject, "has no redrive policy: a message that kills its consumer comes again without end",
			fmt.Sprintf(`set RedrivePolicy to {"deadLetterTargetArn":"ARN of a queue","maxReceiveCount":%d}`, e.cfg.Queue.Receives))}
	}

	// A dead-letter queue is in the account and the Region of its queue, so its name is enough.
	dead := policy.Target[strings.LastIndexByte(policy.Target, ':')+1:]

	var missing *types.QueueDoesNotExist
	// Other errors, such as a missing permission, say nothing about the queue.
	if _, err := e.sqs.GetQueueUrl(ctx, &sqs.GetQueueUrlInput{QueueName: &dead}); errors.As(err, &missing) {
		return []Check{NewFailure(subject, "its dead letters go to "+dead+", which does not exist", "create that queue, or change RedrivePolicy")}
	}

	// Each failed attempt of an outage counts as a receive.
	if count, err := strconv.Atoi(fmt.Sprint(policy.Count)); err == nil && count < e.cfg.Queue.Receives {
		return []Check{NewWarning(subject, fmt.Sprintf("moves messages away after %s: an outage makes good requests dead letters", plural.Of(count, "receive")),
			fmt.Sprintf("set maxReceiveCount of RedrivePolicy to at least %d", e.cfg.Queue.Receives))}
	}

	return nil
}

func (e *examination) checkVisibility(attributes map[string]string) []Check {
	seconds, err := strconv.Atoi(attributes[string(types.QueueAttributeNameVisibilityTimeout)])
	if least := e.cfg.Queue.Visibility; err == nil && time.Duration(seconds)*time.Second < least {
		return []Check{NewWarning(e.cfg.Queue.subject(), fmt.Sprintf("its VisibilityTimeout is %ds: a message comes again while it is handled, unless the consumer extends it", seconds),
			fmt.Sprintf("set VisibilityTimeout to at least %d", int(least.Seconds())))}
	}

	return nil
}

// checkReceipts tries, with a handle that no message has, whether messages may be deleted and
// extended.
func (e *examination) checkReceipts(ctx context.Context, url, arn string) []Check {
	handle := aws.String(probeKey)

	var denied []Permission
	for _, p := range e.needed("sqs", func(r string) bool { return r == e.cfg.Queue.resource() }) {
		var err error

		switch p.operation() {
		case "DeleteMessage":
			_, err = e.sqs.DeleteMessage(ctx, &sqs.DeleteMessageInput{QueueUrl: &url, ReceiptHandle: handle})
		case "ChangeMessageVisibility":
			// A timeout of 0 would make a message visible; no message has this handle.
			_, err = e.sqs.ChangeMessageVisibility(ctx, &sqs.ChangeMessageVisibilityInput{QueueUrl: &url, ReceiptHandle: handle, VisibilityTimeout: 0})
		}

		// An invalid handle is refused after the permission was checked.
		if isDenied(err) {
			denied = append(denied, p)
		}
	}

	return e.denials(e.cfg.Queue.subject(), denied, arn)
}
