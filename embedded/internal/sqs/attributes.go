package sqs

import (
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"ratchet/embedded/internal/wire"
)

// bounds of a queue's numbers: API reference of SetQueueAttributes.
type bounds struct{ lo, hi, standard int64 }

var numbers = map[string]bounds{
	"VisibilityTimeout":             {0, 43_200, 30},
	"MessageRetentionPeriod":        {60, 1_209_600, 345_600},
	"DelaySeconds":                  {0, 900, 0},
	"ReceiveMessageWaitTimeSeconds": {0, 20, 0},
	"MaximumMessageSize":            {1024, maxMessage, maxMessage},
}

// words are the attributes with a closed list of values, the default first. The last
// four are a FIFO queue's.
var words = map[string][]string{
	"FifoQueue":                 {"false", "true"},
	"ContentBasedDeduplication": {"false", "true"},
	"DeduplicationScope":        {"queue", "messageGroup"},
	"FifoThroughputLimit":       {"perQueue", "perMessageGroupId"},
}

// maxMessage bounds a message with its attributes, and a batch of them, in bytes.
const maxMessage = 1 << 20

// settings is what a queue does, read from its attributes.
type settings struct {
	fifo, contentDedup, dedupByGroup   bool
	visibility, delay, wait, retention time.Duration
	maxSize                            int
	redrive                            *redrive
}

type redrive struct {
	target string // ARN
	most   int64
}

// parse reads attributes that have been checked.
func parse(attributes map[string]string) settings {
	n := func(name string) time.Duration {
		if text, ok := attributes[name]; ok {
			v, _ := strconv.ParseInt(text, 10, 64)
			return time.Duration(v) * time.Second
		}

		return time.Duration(numbers[name].standard) * time.Second
	}

	s := settings{
		fifo: attributes["FifoQueue"] == "true", contentDedup: attributes["ContentBasedDeduplication"] == "true",
		dedupByGroup: attributes["DeduplicationScope"] == "messageGroup",
		visibility:   n("VisibilityTimeout"), delay: n("DelaySeconds"), wait: n("ReceiveMessageWaitTimeSeconds"),
		retention: n("MessageRetentionPeriod"), maxSize: int(n("MaximumMessageSize") / time.Second),
	}
	if text := attributes["RedrivePolicy"]; text != "" {
		s.redrive, _ = readRedrive(text)
	}

	return s
}

func invalidAttribute(name string) *wire.Error {
	return wire.Errorf("InvalidAttributeValue", "Invalid value for the parameter %s.", name)
}

// checkAttributes refuses what a queue of that kind cannot be given.
func (s *Service) checkAttributes(attributes map[string]string, fifo bool) error {
	for _, name := range slices.Sorted(maps.Keys(attributes)) {
		value := attributes[name]
		if b, ok := numbers[name]; ok {
			v, err := strconv.ParseInt(value, 10, 64)
			if err != nil || v < b.lo || v > b.hi {
				return invalidAttribute(name)
			}
			continue
		}

		if allowed, ok := words[name]; ok {
			if !slices.Contains(allowed, value) {
				return invalidAttribute(name)
			}

			if !fifo {
				return wire.Errorf("InvalidAttributeName", "Unknown Attribute %s.", name)
			}
			continue
		}

		if name != "RedrivePolicy" {
			return wire.Errorf("InvalidAttributeName", "Unknown Attribute %s. The embedded engine supports those in its documentation only.", name)
		}

		if err := s.checkRedrive(value, fifo); err != nil {
			return err
		}
	}

	if attributes["FifoThroughputLimit"] == "perMessageGroupId" && attributes["DeduplicationScope"] == "queue" {
		return invalidAttribute("FifoThroughputLimit")
	}

	return nil
}

// checkRedrive checks a redrive policy against the queues there are; empty means none.
func (s *Service) checkRedrive(text string, fifo bool) error {
	if text == "" {
		return nil
	}

	refused := func(reason string) error {
		return invalidParameter("RedrivePolicy", text, reason)
	}
	r, ok := readRedrive(text)
	if !ok {
		return refused("Invalid value for maxReceiveCount or deadLetterTargetArn; want {\"deadLetterTargetArn\": ARN, \"maxReceiveCount\": 1 to 1000}.")
	}

	target := s.byARN(r.target)
	switch {
	case target == nil:
		return refused("Dead letter target does not exist.")
	case target.fifo != fifo:
		return refused("Dead-letter queue must be same type of queue as the source.")
	}

	return nil
}

// readRedrive reads a redrive policy; the count may be a number or a text.
func readRedrive(text string) (*redrive, bool) {
	var in struct {
		Target string          `json:"deadLetterTargetArn"`
		Most   json.RawMessage `json:"maxReceiveCount"`
	}
	if json.Unmarshal([]byte(text), &in) != nil {
		return nil, false
	}
	most, err := strconv.ParseInt(strings.Trim(string(in.Most), `"`), 10, 64)

	return &redrive{in.Target, most}, err == nil && most >= 1 && most <= 1000 && in.Target != ""
}

// described are the attributes as the service tells them: what was set, defaults, and
// what it counts.
func (s *Service) described(q *queue) map[string]string {
	out := map[string]string{
		"QueueArn":                              s.arn(q.Name),
		"CreatedTimestamp":                      strconv.FormatInt(q.Created/1000, 10),
		"LastModifiedTimestamp":                 strconv.FormatInt(q.Modified/1000, 10),
		"ApproximateNumberOfMessages":           strconv.Itoa(len(q.messages) - q.hidden.Len()),
		"ApproximateNumberOfMessagesNotVisible": strconv.Itoa(q.inFlight),
		"ApproximateNumberOfMessagesDelayed":    strconv.Itoa(q.hidden.Len() - q.inFlight),
	}
	for name, b := range numbers {
		out[name] = strconv.FormatInt(b.standard, 10)
	}

	for name, allowed := range words {
		if q.fifo {
			out[name] = allowed[0]
		}
	}
	maps.Copy(out, q.Attributes)

	return out
}
