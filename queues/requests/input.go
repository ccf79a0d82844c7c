package requests

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"ratchet/transitions"
)

// Rule: API reference of SendMessage, MessageDeduplicationId.
var deduplicationRule = regexp.MustCompile(`^[!-~]{1,128}$`)

// Input is how a request is sent. It must name a transitionId or a requestId, so that
// a sending that is repeated is the same request. On a FIFO queue (its URL ends with
// ".fifo") the order is the group and the request's identity the deduplication id.
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
		in.MessageGroupId = aws.String(string(r.OrderID))
		in.MessageDeduplicationId = aws.String(deduplicationID(r))
	}

	return in, nil
}

// deduplicationID is the requestId of one order where the service takes it as it is, a
// digest of the request's identity elsewhere. Ids are the whole queue's, so the order
// is always in.
func deduplicationID(r transitions.Request) string {
	id := fmt.Sprintf("%s/%s", r.OrderID, r.RequestID)
	if r.RequestID == "" {
		id = fmt.Sprintf("%s/#%d/%s", r.OrderID, r.TransitionID, r.Event)
	}

	if deduplicationRule.MatchString(id) {
		return id
	}
	sum := sha256.Sum256([]byte(id))

	return hex.EncodeToString(sum[:])
}
