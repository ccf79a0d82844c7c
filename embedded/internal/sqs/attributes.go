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

// bounds are the lowest, highest and default value of a numeric attribute.
type bounds struct{ lo, hi, standard int64 }

// numberAttributes are the numeric attributes of a queue.
// Source: https://docs.aws.amazon.com/AWSSimpleQueueService/latest/APIReference/API_SetQueueAttributes.html
var numberAttributes = map[string]bounds{
	"VisibilityTimeout":             {lo: 0, hi: 43_200, standard: 30},
	"MessageRetentionPeriod":        {lo: 60, hi: 1_209_600, standard: 345_600},
	"DelaySeconds":                  {lo: 0, hi: 900, standard: 0},
	"ReceiveMessageWaitTimeSeconds": {lo: 0, hi: 20, standard: 0},
	"MaximumMessageSize":            {lo: 1024, hi: maxMessage, standard: maxMessage},
	keyReuse:                        {lo: 60, hi: 86_400, standard: 300},
}

// The attributes of encryption.
const (
	keyID    = "KmsMasterKeyId"
	keyReuse = "KmsDataKeyReusePeriodSeconds"
	ownKeys  = "SqsManagedSseEnabled"
)

// keptAttributes are attributes that the engine describes, and that have no effect.
var keptAttributes = []string{"Policy", "RedriveAllowPolicy", keyID, ownKeys}

// removable are the attributes that an empty text removes.
var removable = []string{"Policy", "RedriveAllowPolicy", "RedrivePolicy", keyID}

// enumAttributes are the attributes with a closed set of values, the default first. All
// of them belong to FIFO queues.
var enumAttributes = map[string][]string{
	"FifoQueue":                 {"false", "true"},
	"ContentBasedDeduplication": {"false", "true"},
	"DeduplicationScope":        {"queue", "messageGroup"},
	"FifoThroughputLimit":       {"perQueue", "perMessageGroupId"},
}

// scopes are the attributes of FIFO queues that a standard queue refuses with a reason.
// Source: LocalStack's recordings of AWS (tests/aws/services/sqs,
// test_create_standard_queue_with_fifo_attribute_raises_error, test_set_unsupported_attribute_fifo)
var scopes = []string{"DeduplicationScope", "FifoThroughputLimit"}

// maxMessage bounds the size of a message with its attributes, and of a batch, in bytes.
// Source: https://docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/quotas-messages.html
const maxMessage = 1 << 20

// settings are a queue's attributes in the form in which the code uses them.
type settings struct {
	fifo         bool
	contentDedup bool // the body's digest replaces a missing deduplication id
	dedupByGroup bool // the same id in another group is another message

	visibility time.Duration
	delay      time.Duration
	wait       time.Duration
	retention  time.Duration
	maxSize    int // bytes

	redrive *redrive // nil: no dead letters
}

// redrive says where dead letters go, and after how many receives.
type redrive struct {
	target      string // ARN
	maxReceives int64
}

// parseSettings reads attributes that checkAttributes has accepted.
func parseSettings(attributes map[string]string) settings {
	seconds := func(name string) time.Duration {
		if text, ok := attributes[name]; ok {
			v, _ := strconv.ParseInt(text, 10, 64)
			return time.Duration(v) * time.Second
		}

		return time.Duration(numberAttributes[name].standard) * time.Second
	}

	s := settings{
		fifo:         attributes["FifoQueue"] == "true",
		contentDedup: attributes["ContentBasedDeduplication"] == "true",
		dedupByGroup: attributes["DeduplicationScope"] == "messageGroup",
		visibility:   seconds("VisibilityTimeout"),
		delay:        seconds("DelaySeconds"),
		wait:         seconds("ReceiveMessageWaitTimeSeconds"),
		retention:    seconds("MessageRetentionPeriod"),
		// All numeric attributes are read as seconds; this one is a number of bytes.
		maxSize: int(seconds("MaximumMessageSize") / time.Second),
	}
	if text := attributes["RedrivePolicy"]; text != "" {
		// The policy was valid when it was set.
		if policy, fault := readRedrive(text); fault == "" {
			s.redrive = policy
		}
	}

	return s
}

func unknownAttribute(name string) *wire.Error {
	return wire.Errorf("InvalidAttributeName", "Unknown Attribute %s.", name)
}

func invalidAttribute(name string) *wire.Error {
	return wire.Errorf("InvalidAttributeValue", "Invalid value for the parameter %s.", name)
}

// checkAttributes fails for attributes that a queue of that kind cannot have. It reports the first faulty
// one in the order of their names.
func (s *Service) checkAttributes(attributes map[string]string, fifo bool) error {
	for _, name := range slices.Sorted(maps.Keys(attributes)) {
		if err := s.checkAttribute(name, attributes[name], fifo); err != nil {
			return err
		}
	}

	return nil
}

// checkThroughput fails for a queue whose attributes contradict each other: throughput per group needs
// deduplication per group.
// Source: https://docs.aws.amazon.com/AWSSimpleQueueService/latest/APIReference/API_SetQueueAttributes.html
func checkThroughput(all map[string]string) error {
	if all["FifoThroughputLimit"] == "perMessageGroupId" && all["DeduplicationScope"] != "messageGroup" {
		return invalidAttribute("FifoThroughputLimit")
	}

	return nil
}

func (s *Service) checkAttribute(name, value string, fifo bool) error {
	if b, ok := numberAttributes[name]; ok {
		v, err := strconv.ParseInt(value, 10, 64)
		if err != nil || v < b.lo || v > b.hi {
			return invalidAttribute(name)
		}

		return nil
	}

	if allowed, ok := enumAttributes[name]; ok {
		switch {
		case !fifo && slices.Contains(scopes, name):
			return wire.Errorf("InvalidAttributeName", "You can specify the %s only when FifoQueue is set to true.", name)
		case !fifo:
			return unknownAttribute(name)
		case name == "FifoQueue" && value == "false":
			return wire.Errorf("InvalidAttributeValue", "Invalid value for the parameter FifoQueue. Reason: Modifying queue type is not supported.")
		case !slices.Contains(allowed, value):
			return invalidAttribute(name)
		}

		return nil
	}

	if slices.Contains(keptAttributes, name) {
		return checkKept(name, value)
	}

	if name != "RedrivePolicy" {
		return unknownAttribute(name)
	}

	return s.checkRedrive(value, fifo)
}

// checkKept checks the value of an attribute without effect.
func checkKept(name, value string) error {
	switch {
	case name == keyID, value == "" && name != ownKeys:
		return nil
	case name == ownKeys && (value == "true" || value == "false"):
		return nil
	case name != ownKeys && strings.HasPrefix(strings.TrimSpace(value), "{") && json.Valid([]byte(value)):
		return nil
	}

	return invalidAttribute(name)
}

// checkEncryption fails for a request that wants both kinds of encryption. all are the attributes that the queue
// would have.
// Source: LocalStack's recordings of AWS (tests/aws/services/sqs, test_sse_kms_and_sqs_are_mutually_exclusive)
func checkEncryption(request, all map[string]string) error {
	if request[ownKeys] == "true" && all[keyID] != "" {
		return wire.Errorf("InvalidAttributeName", "You can use one type of server-side encryption (SSE) at one time. You can either enable KMS SSE or SQS SSE.")
	}

	return nil
}

// lowered returns attributes with their booleans in lower case: the service takes "True", too.
// Source: LocalStack's tests validated on AWS (tests/aws/services/sqs, test_fifo_approximate_number_of_messages_not_visible)
func lowered(attributes map[string]string) map[string]string {
	out := maps.Clone(attributes)
	for _, name := range []string{"FifoQueue", "ContentBasedDeduplication", ownKeys} {
		if value, ok := out[name]; ok {
			out[name] = strings.ToLower(value)
		}
	}

	return out
}

// settle completes the attributes that a request leaves: an empty text removes some of them, and a key of KMS
// ends the encryption with keys of SQS.
func settle(all map[string]string) {
	for _, name := range removable {
		if all[name] == "" {
			delete(all, name)
		}
	}

	// Source: LocalStack's recordings of AWS (tests/aws/services/sqs, test_set_queue_attributes_default_values)
	if standard := strconv.FormatInt(numberAttributes[keyReuse].standard, 10); all[keyID] == "" && all[keyReuse] == standard {
		delete(all, keyReuse)
	}

	if all[keyID] != "" {
		all[ownKeys] = "false"
	}
}

// checkRedrive checks a redrive policy against the existing queues. Empty text means no
// policy.
func (s *Service) checkRedrive(text string, fifo bool) error {
	if text == "" {
		return nil
	}

	invalid := func(reason string) error {
		return invalidParameter("RedrivePolicy", text, reason)
	}

	policy, fault := readRedrive(text)
	if fault != "" {
		return invalid(fault)
	}

	target := s.byARN(policy.target)
	switch {
	// The target must exist when the policy is set. Later it may be deleted: see moveToDeadLetters.
	case target == nil:
		return invalid("Dead letter target does not exist.")
	case target.fifo != fifo:
		return invalid("Dead-letter queue must be same type of queue as the source.")
	}

	return nil
}

// readRedrive reads a redrive policy, or says what is wrong with it. As on AWS the count may be a number or a string.
// Sources: https://github.com/ansible-collections/community.aws/issues/2321 (a missing attribute; the count goes first),
// LocalStack's SQS provider (the count)
func readRedrive(text string) (policy *redrive, fault string) {
	var in struct {
		Target      string          `json:"deadLetterTargetArn"`
		MaxReceives json.RawMessage `json:"maxReceiveCount"`
	}
	if json.Unmarshal([]byte(text), &in) != nil {
		return nil, "Redrive policy is not a valid JSON map."
	}

	const missing = "Redrive policy does not contain mandatory attribute: "

	switch {
	case in.MaxReceives == nil:
		return nil, missing + "maxReceiveCount."
	case in.Target == "":
		return nil, missing + "deadLetterTargetArn."
	}

	// The count may be a JSON number or a text.
	count := strings.Trim(string(in.MaxReceives), `"`)

	maxReceives, err := strconv.ParseInt(count, 10, 64)
	if err != nil || maxReceives < 1 || maxReceives > 1000 {
		return nil, "Invalid value for maxReceiveCount: " + count + ", valid values are from 1 to 1000 both inclusive."
	}

	return &redrive{target: in.Target, maxReceives: maxReceives}, ""
}

// describe returns all attributes of a queue: the attributes that were set, the defaults of the others,
// and the counts of messages.
func (s *Service) describe(q *queue) map[string]string {
	out := map[string]string{
		"QueueArn":                              s.arn(q.Name),
		"CreatedTimestamp":                      strconv.FormatInt(q.Created/1000, 10),
		"LastModifiedTimestamp":                 strconv.FormatInt(q.Modified/1000, 10),
		"ApproximateNumberOfMessages":           strconv.Itoa(len(q.messages) - q.hidden.Len()),
		"ApproximateNumberOfMessagesNotVisible": strconv.Itoa(q.inFlight),
		"ApproximateNumberOfMessagesDelayed":    strconv.Itoa(q.hidden.Len() - q.inFlight),
	}
	for name, b := range numberAttributes {
		out[name] = strconv.FormatInt(b.standard, 10)
	}

	for name, allowed := range enumAttributes {
		if q.fifo {
			out[name] = allowed[0]
		}
	}

	out[ownKeys] = "true"
	if q.Attributes[keyID] == "" {
		delete(out, keyReuse)
	}

	// These come last, because an attribute that was set replaces its default.
	maps.Copy(out, q.Attributes)

	return out
}
