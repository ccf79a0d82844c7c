package requests

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"sync"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"ratchet/internal/ids"
	"ratchet/transitions"
)

// https://docs.aws.amazon.com/AWSSimpleQueueService/latest/APIReference/API_SendMessage.html
var deduplicationRule = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[!-~]{1,128}$`) })

// Input returns the message for a request. The request must have a transitionId or a requestId, so
// that a repeated message is the same request. Otherwise Input returns an error. On a FIFO queue,
// whose URL ends in ".fifo", the order's id is the group, and the deduplication id identifies the
// request.
func Input(queueURL string, r transitions.Request) (*sqs.SendMessageInput, error) {
	if err := r.Validate(); err != nil {
		return nil, err
	}

	text, err := json.Marshal(r)
	if err != nil {
		return nil, fmt.Errorf("encode the request for order %s: %w", r.OrderID, err)
	}

	in := &sqs.SendMessageInput{QueueUrl: &queueURL, MessageBody: aws.String(string(text))}
	if strings.HasSuffix(queueURL, ".fifo") {
		in.MessageGroupId = aws.String(ids.Group(string(r.OrderID)))
		in.MessageDeduplicationId = aws.String(deduplicationID(r))
	}

	return in, nil
}

// deduplicationID returns an id that is unique for the request within its queue: the order's id
// with the requestId, or with the transitionId and the event. If SQS does not accept that text, the
// id is a digest of it.
func deduplicationID(r transitions.Request) string {
	order := ids.Encode(string(r.OrderID))
	id := fmt.Sprintf("%s/%s", order, r.RequestID)
	if r.RequestID == "" {
		id = fmt.Sprintf("%s/#%d/%s", order, r.TransitionID, r.Event)
	}

	if deduplicationRule().MatchString(id) {
		return id
	}

	sum := sha256.Sum256([]byte(id))

	return hex.EncodeToString(sum[:])
}
