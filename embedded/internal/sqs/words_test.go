package sqs

import (
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"ratchet/embedded/internal/wire"
)

// Refusals have the service's codes and words.
// Sources: recorded is LocalStack's recordings of AWS (tests/aws/services/sqs/test_sqs.snapshot.json), by the name of
// the test; validated is a test there that passes on AWS and records no words.
func TestWordsOfRefusals(t *testing.T) {
	s := openService(t)
	s.must(t, "CreateQueue", `{"QueueName":"q","Attributes":{"MaximumMessageSize":"1024"}}`)
	s.must(t, "CreateQueue", `{"QueueName":"q.fifo","Attributes":{"FifoQueue":"true"}}`)

	create := func(attributes string) string { return `{"QueueName":"new","Attributes":{` + attributes + `}}` }
	set := func(queue, attributes string) string {
		return `{"QueueUrl":"` + queue + `","Attributes":{` + attributes + `}}`
	}
	redrive := func(policy string) string {
		return set("q", `"RedrivePolicy":"`+strings.ReplaceAll(policy, `"`, `\"`)+`"`)
	}
	attributes := func(list string) string {
		return `{"QueueUrl":"q","MessageBody":"b","MessageAttributes":{` + list + `}}`
	}
	const (
		unknown = "InvalidAttributeName: Unknown Attribute "
		invalid = "InvalidParameterValue: "
		only    = "InvalidAttributeName: You can specify the %s only when FifoQueue is set to true."
		policy  = invalid + "Value %s for parameter RedrivePolicy is invalid. Reason: "
	)

	for _, c := range []struct{ source, operation, body, want string }{
		{"recorded: test_create_standard_queue_with_fifo_attribute_raises_error", "CreateQueue", create(`"FifoQueue":"false"`), unknown + "FifoQueue."},
		{"the same", "CreateQueue", create(`"ContentBasedDeduplication":"false"`), unknown + "ContentBasedDeduplication."},
		{"the same", "CreateQueue", create(`"DeduplicationScope":"queue"`), fmt.Sprintf(only, "DeduplicationScope")},
		{"the same", "CreateQueue", create(`"FifoThroughputLimit":"perQueue"`), fmt.Sprintf(only, "FifoThroughputLimit")},
		{"API_CreateQueue.html: the attributes", "CreateQueue", create(`"Other":"1"`), unknown + "Other."},
		{"recorded: test_set_unsupported_attribute_fifo", "SetQueueAttributes", set("q", `"FifoQueue":"true"`), unknown + "FifoQueue."},
		{"the same", "SetQueueAttributes", set("q.fifo", `"FifoQueue":"false"`), "InvalidAttributeValue: Invalid value for the parameter FifoQueue. Reason: Modifying queue type is not supported."},
		{"the same", "SetQueueAttributes", set("q.fifo", `"FifoQueue":"true"`), ""},
		{"https://github.com/boto/botocore/issues/3058", "CreateQueue", `{"QueueName":"new.fifo"}`, invalid + "Can only include alphanumeric characters, hyphens, or underscores. 1 to 80 in length"},
		{
			"https://github.com/mapbox/cloudfriend/issues/94", "CreateQueue", create(`"FifoQueue":"true"`),
			invalid + "The name of a FIFO queue can only include alphanumeric characters, hyphens, or underscores, must end with .fifo suffix and be 1 to 80 in length.",
		},
		{"https://github.com/ansible-collections/community.aws/issues/2321", "SetQueueAttributes", redrive(`{}`), fmt.Sprintf(policy, "{}") + "Redrive policy does not contain mandatory attribute: maxReceiveCount."},
		{"the same", "SetQueueAttributes", redrive(`{"maxReceiveCount":1}`), fmt.Sprintf(policy, `{"maxReceiveCount":1}`) + "Redrive policy does not contain mandatory attribute: deadLetterTargetArn."},
		{
			"LocalStack's provider of SQS", "SetQueueAttributes", redrive(`{"maxReceiveCount":0,"deadLetterTargetArn":"a"}`),
			fmt.Sprintf(policy, `{"maxReceiveCount":0,"deadLetterTargetArn":"a"}`) + "Invalid value for maxReceiveCount: 0, valid values are from 1 to 1000 both inclusive.",
		},
		{"recorded: test_send_empty_message", "SendMessage", `{"QueueUrl":"q","MessageBody":""}`, "MissingParameter: The request must contain the parameter MessageBody."},
		{
			"recorded: test_send_message_with_empty_string_attribute", "SendMessage", attributes(`"ErrorDetails":{"DataType":"String","StringValue":""}`),
			invalid + "Message (user) attribute 'ErrorDetails' must contain a non-empty value of type 'String'.",
		},
		{"validated: test_send_message_with_invalid_string_attributes", "SendMessage", attributes(`"attr.1øßä":{"DataType":"String","StringValue":"v"}`), ""},
		{
			"the same: §", "SendMessage", attributes(`"a§":{"DataType":"String","StringValue":"v"}`),
			invalid + "Value a§ for parameter MessageAttributeName is invalid. Reason: Message attribute names have up to 256 letters, digits, _ - . and do not begin with AWS. or Amazon.",
		},
		{
			"validated: test_invalid_string_attributes_cause_invalid_parameter_value_error (the code)", "SendMessage", attributes(`"a":{"DataType":"String","StringValue":"\b"}`),
			invalid + "Invalid characters found in the value of message (user) attribute 'a'. " + validCharacters,
		},
		{
			"recorded: test_send_batch_missing_deduplication_id_for_fifo_queue", "SendMessageBatch",
			`{"QueueUrl":"q.fifo","Entries":[{"Id":"1","MessageBody":"b","MessageGroupId":"g","MessageDeduplicationId":"d"},{"Id":"2","MessageBody":"b","MessageGroupId":"g"}]}`,
			invalid + "The queue should either have ContentBasedDeduplication enabled or MessageDeduplicationId provided explicitly",
		},
		{
			"recorded: test_send_batch_missing_message_group_id_for_fifo_queue", "SendMessageBatch",
			`{"QueueUrl":"q.fifo","Entries":[{"Id":"1","MessageBody":"b","MessageGroupId":"g","MessageDeduplicationId":"d"},{"Id":"2","MessageBody":"b","MessageDeduplicationId":"e"}]}`,
			invalid + "The request must contain the parameter MessageGroupId.",
		},
		{"recorded: test_send_receive_wait_time_seconds", "ReceiveMessage", `{"QueueUrl":"q","WaitTimeSeconds":21}`, invalid + "Value 21 for parameter WaitTimeSeconds is invalid. Reason: Must be >= 0 and <= 20, if provided."},
		{"recorded: test_send_receive_max_number_of_messages", "ReceiveMessage", `{"QueueUrl":"q","MaxNumberOfMessages":11}`, invalid + "Value 11 for parameter MaxNumberOfMessages is invalid. Reason: Must be between 1 and 10, if provided."},
		{
			"https://github.com/cloudtools/awacs/issues/34", "AddPermission", `{"QueueUrl":"q","Label":"l","AWSAccountIds":["1"],"Actions":["ChangeMessageVisibilityBatch"]}`,
			invalid + "Value SQS:ChangeMessageVisibilityBatch for parameter ActionName is invalid. Reason: Please refer to the appropriate WSDL for a list of valid actions.",
		},
		{"recorded: test_sqs_permission_lifecycle", "RemovePermission", `{"QueueUrl":"q","Label":"l"}`, invalid + "Value l for parameter Label is invalid. Reason: can't find label."},
	} {
		_, err := s.Wire().Operations[c.operation](t.Context(), []byte(c.body))
		if got := words(err); got != c.want {
			t.Errorf("%s: %s %s\n got  %s\n want %s", c.source, c.operation, c.body, got, c.want)
		}
	}

	// A refused batch sends nothing.
	if got := s.must(t, "ReceiveMessage", `{"QueueUrl":"q.fifo"}`).(receiveAnswer); len(got.Messages) != 0 {
		t.Errorf("%d messages of refused batches", len(got.Messages))
	}

	// Source: recorded, test_send_batch_message_size.
	batch := s.must(t, "SendMessageBatch", `{"QueueUrl":"q","Entries":[{"Id":"1","MessageBody":"`+strings.Repeat("a", 1025)+`"},{"Id":"2","MessageBody":"b"}]}`).(batchAnswer[sent])
	if len(batch.Successful) != 1 || len(batch.Failed) != 1 || batch.Failed[0].Message != "One or more parameters cannot be validated. Reason: Message must be shorter than 1024 bytes." {
		t.Errorf("a batch with a long message: %+v", batch)
	}

	// Source: recorded, test_sqs_permission_lifecycle: an answer without attributes has no member for them.
	if got := fmt.Sprintf("%s", s.must(t, "GetQueueAttributes", `{"QueueUrl":"q","AttributeNames":["Policy"]}`)); got != "{}" {
		t.Errorf("no attributes: %s", got)
	}

	// Source: recorded, test_send_empty_message: the name beside the older code.
	var missing *wire.Error
	if _, err := s.Wire().Operations["SendMessage"](t.Context(), []byte(`{"QueueUrl":"q"}`)); !errors.As(err, &missing) || missing.Type != "MissingRequiredParameterException" {
		t.Errorf("a missing parameter: %+v", err)
	}
}

// Sources: LocalStack's tests of SQS (tests/aws/services/sqs/test_sqs.py), which pass on AWS, by name.
func TestWhatTheServiceTakes(t *testing.T) {
	s := openService(t)

	// test_fifo_approximate_number_of_messages_not_visible: booleans in any case.
	s.must(t, "CreateQueue", `{"QueueName":"q.fifo","Attributes":{"FifoQueue":"True","ContentBasedDeduplication":"False"}}`)
	s.must(t, "SetQueueAttributes", `{"QueueUrl":"q.fifo","Attributes":{"ContentBasedDeduplication":"TRUE"}}`)

	attributes := func() map[string]string {
		out, _ := s.must(t, "GetQueueAttributes", `{"QueueUrl":"q.fifo","AttributeNames":["All"]}`).(map[string]any)["Attributes"].(map[string]string)
		return out
	}
	if got := attributes(); got["FifoQueue"] != "true" || got["ContentBasedDeduplication"] != "true" {
		t.Errorf("attributes %v", got)
	}

	// test_set_queue_attributes_default_values: the default of a key that is gone goes, too.
	s.must(t, "SetQueueAttributes", `{"QueueUrl":"q.fifo","Attributes":{"KmsMasterKeyId":"k","KmsDataKeyReusePeriodSeconds":"6000"}}`)
	s.must(t, "SetQueueAttributes", `{"QueueUrl":"q.fifo","Attributes":{"KmsMasterKeyId":"","KmsDataKeyReusePeriodSeconds":"300"}}`)

	if got, ok := attributes()["KmsDataKeyReusePeriodSeconds"]; ok {
		t.Errorf("the period %s without a key", got)
	}

	// test_purge_queue_clears_fifo_deduplication_cache; test_receive_message_message_attribute_names_filters.
	send := `{"QueueUrl":"q.fifo","MessageBody":"b","MessageGroupId":"g","MessageDeduplicationId":"d","MessageAttributes":{"a":{"DataType":"String","StringValue":"v"}}}`
	s.must(t, "SendMessage", send)
	s.must(t, "PurgeQueue", `{"QueueUrl":"q.fifo"}`)
	s.must(t, "SendMessage", send)

	got := s.must(t, "ReceiveMessage", `{"QueueUrl":"q.fifo","MessageAttributeNames":["*"]}`).(receiveAnswer)
	if len(got.Messages) != 1 || len(got.Messages[0].MessageAttributes) != 1 {
		t.Errorf("messages %+v", got.Messages)
	}
}

// The tracing header of a request becomes the attribute of its messages, which a message's own attribute replaces.
// Source: LocalStack's recordings of AWS (tests/aws/services/sqs, test_aws_trace_header_propagation)
func TestTheTracingHeader(t *testing.T) {
	s := openService(t)
	s.must(t, "CreateQueue", `{"QueueName":"q"}`)

	for _, body := range []string{
		`{"QueueUrl":"q","MessageBody":"b"}`,
		`{"QueueUrl":"q","MessageBody":"b","MessageSystemAttributes":{"AWSTraceHeader":{"DataType":"String","StringValue":"Root=2"}}}`,
	} {
		r := httptest.NewRequest(http.MethodPost, "/", strings.NewReader(body))
		r.Header.Set("X-Amz-Target", "AmazonSQS.SendMessage")
		r.Header.Set("X-Amzn-Trace-Id", "Root=1")
		wire.NewHandler(slog.New(slog.DiscardHandler), s.Wire()).ServeHTTP(httptest.NewRecorder(), r)
	}

	got := s.must(t, "ReceiveMessage", `{"QueueUrl":"q","MaxNumberOfMessages":10,"AttributeNames":["AWSTraceHeader"]}`).(receiveAnswer)
	if len(got.Messages) != 2 || got.Messages[0].Attributes["AWSTraceHeader"] != "Root=1" || got.Messages[1].Attributes["AWSTraceHeader"] != "Root=2" {
		t.Errorf("messages %+v", got.Messages)
	}
}

// words returns the older code and the message of a refusal, "" for none.
func words(err error) string {
	var refused *wire.Error
	if !errors.As(err, &refused) {
		return ""
	}

	return queryCode(refused.Type) + ": " + refused.Message
}
