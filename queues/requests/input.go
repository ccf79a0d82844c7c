package requests

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"sync"
	"time"

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
	return input(queueURL, r, r)
}

// InputAt is Input of a request that is judged and applied at the time (see package scheduled). It must have a
// requestId.
func InputAt(queueURL string, r transitions.Request, at time.Time) (*sqs.SendMessageInput, error) {
	if r.RequestID == "" {
		return nil, fmt.Errorf("%w: requestId: a request for later needs one", transitions.ErrInvalidRequest)
	}

	return input(queueURL, r, struct {
		transitions.Request

		At time.Time `json:"at"`
	}{r, at})
}

// input returns the message for a request with the body.
func input(queueURL string, r transitions.Request, body any) (*sqs.SendMessageInput, error) {
	if err := r.Validate(); err != nil {
		return nil, err
	}

	text, err := json.Marshal(body)
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
