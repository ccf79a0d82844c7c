package embedded

import (
	"maps"
	"os"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	qtypes "github.com/aws/aws-sdk-go-v2/service/sqs/types"
)

// attributes returns all attributes of the queue.
func (q *queueing) attributes() map[string]string {
	q.t.Helper()

	out, err := q.api.GetQueueAttributes(q.t.Context(), &sqs.GetQueueAttributesInput{QueueUrl: &q.url, AttributeNames: []qtypes.QueueAttributeName{"All"}})
	if err != nil {
		q.t.Fatal(err)
	}

	return out.Attributes
}

// TestEveryAttributeIsKept: the engine describes each attribute that the API model lets callers set.
// Source of the rules of encryption: LocalStack's recordings of AWS (tests/aws/services/sqs, test_sse_queue_attributes
// and test_sse_kms_and_sqs_are_mutually_exclusive)
func TestEveryAttributeIsKept(t *testing.T) {
	// The attributes that the service computes.
	computed := map[qtypes.QueueAttributeName]bool{
		"All": true, "ApproximateNumberOfMessages": true, "ApproximateNumberOfMessagesNotVisible": true,
		"ApproximateNumberOfMessagesDelayed": true, "CreatedTimestamp": true, "LastModifiedTimestamp": true, "QueueArn": true,
	}
	q := openQueue(t, "dead.fifo", map[string]string{"FifoQueue": "true"})
	values := map[string]string{
		"Policy": `{"Version":"2012-10-17","Statement":[]}`, "VisibilityTimeout": "7", "MaximumMessageSize": "2048", "MessageRetentionPeriod": "60",
		"DelaySeconds": "1", "ReceiveMessageWaitTimeSeconds": "2", "RedrivePolicy": `{"deadLetterTargetArn":"arn:aws:sqs:us-east-1:000000000000:dead.fifo","maxReceiveCount":3}`,
		"FifoQueue": "true", "ContentBasedDeduplication": "true", "KmsMasterKeyId": "alias/k", "KmsDataKeyReusePeriodSeconds": "600",
		"DeduplicationScope": "messageGroup", "FifoThroughputLimit": "perMessageGroupId", "RedriveAllowPolicy": `{"redrivePermission":"allowAll"}`, "SqsManagedSseEnabled": "false",
	}

	for _, name := range qtypes.QueueAttributeName("").Values() {
		if _, set := values[string(name)]; !set && !computed[name] {
			t.Errorf("the API model has %s, which this test leaves out", name)
		}
	}

	q.url = q.create("all.fifo", values)
	got := q.attributes()
	for name, want := range values {
		same(t, name, got[name], want)
	}

	set := func(attributes map[string]string) error {
		_, err := q.api.SetQueueAttributes(t.Context(), &sqs.SetQueueAttributesInput{QueueUrl: &q.url, Attributes: attributes})
		return err
	}
	expect(t, "both encryptions", code(set(map[string]string{"SqsManagedSseEnabled": "true"})), "InvalidAttributeName")
	expect(t, "a policy that is no JSON", code(set(map[string]string{"Policy": "allow"})), "InvalidAttributeValue")
	expect(t, "another encryption", code(set(map[string]string{"KmsMasterKeyId": "", "SqsManagedSseEnabled": "true", "Policy": ""})), "<nil>")

	got = q.attributes()
	for _, name := range []string{"KmsMasterKeyId", "Policy"} {
		if value, ok := got[name]; ok {
			t.Errorf("%s is still %s", name, value)
		}
	}
	same(t, "SqsManagedSseEnabled", got["SqsManagedSseEnabled"], "true")
}

// TestTagsAndPermissionsOfQueues. Source of the policy: LocalStack's recordings of AWS (tests/aws/services/sqs,
// test_sqs_permission_lifecycle); of the tags: test_tag_untag_queue
func TestTagsAndPermissionsOfQueues(t *testing.T) {
	q := openQueue(t, "q", nil)
	ctx := t.Context()

	made, err := q.api.CreateQueue(ctx, &sqs.CreateQueueInput{QueueName: aws.String("tagged"), Tags: map[string]string{"a": "1"}})
	if err != nil {
		t.Fatal(err)
	}

	if _, err := q.api.TagQueue(ctx, &sqs.TagQueueInput{QueueUrl: made.QueueUrl, Tags: map[string]string{"a": "2", "b": ""}}); err != nil {
		t.Fatal(err)
	}

	tags := func() map[string]string {
		t.Helper()

		out, err := q.api.ListQueueTags(ctx, &sqs.ListQueueTagsInput{QueueUrl: made.QueueUrl})
		if err != nil {
			t.Fatal(err)
		}

		return out.Tags
	}
	if got := tags(); !maps.Equal(got, map[string]string{"a": "2", "b": ""}) {
		t.Errorf("tags %v", got)
	}

	if _, err := q.api.UntagQueue(ctx, &sqs.UntagQueueInput{QueueUrl: made.QueueUrl, TagKeys: []string{"a", "b", "none"}}); err != nil {
		t.Fatal(err)
	}

	if got := tags(); len(got) != 0 {
		t.Errorf("tags %v", got)
	}

	add := func(label string) error {
		_, err := q.api.AddPermission(ctx, &sqs.AddPermissionInput{QueueUrl: &q.url, Label: &label, AWSAccountIds: []string{"1", "2"}, Actions: []string{"ReceiveMessage"}})
		return err
	}
	expect(t, "a permission", code(add("p")), "<nil>")
	expect(t, "the permission again", code(add("p")), "InvalidParameterValue")
	same(t, "policy", q.attributes()["Policy"], `{"Version":"2008-10-17","Id":"arn:aws:sqs:us-east-1:000000000000:q/SQSDefaultPolicy","Statement":[{"Sid":"p","Effect":"Allow",`+
		`"Principal":{"AWS":["arn:aws:iam::1:root","arn:aws:iam::2:root"]},"Action":"SQS:ReceiveMessage","Resource":"arn:aws:sqs:us-east-1:000000000000:q"}]}`)

	remove := func(label string) error {
		_, err := q.api.RemovePermission(ctx, &sqs.RemovePermissionInput{QueueUrl: &q.url, Label: &label})
		return err
	}
	expect(t, "no permission", code(remove("x")), "InvalidParameterValue")
	expect(t, "the end of the permission", code(remove("p")), "<nil>")
	same(t, "policy", q.attributes()["Policy"], "")
}

func TestSourcesOfDeadLetters(t *testing.T) {
	q := openQueue(t, "dead", nil)
	for _, name := range []string{"c", "a", "b"} {
		q.create(name, map[string]string{"RedrivePolicy": `{"deadLetterTargetArn":"arn:aws:sqs:us-east-1:000000000000:dead","maxReceiveCount":3}`})
	}
	q.create("other", nil)

	var found []string
	for pages := sqs.NewListDeadLetterSourceQueuesPaginator(q.api, &sqs.ListDeadLetterSourceQueuesInput{QueueUrl: &q.url, MaxResults: aws.Int32(2)}); pages.HasMorePages(); {
		page, err := pages.NextPage(t.Context())
		if err != nil {
			t.Fatal(err)
		}

		for _, url := range page.QueueUrls {
			found = append(found, url[len(url)-1:])
		}
	}
	same(t, "sources", found, []string{"a", "b", "c"})
}

// TestEverySystemAttributeComesWithAMessage: the engine adds each attribute of a message that the API model has, alone
// and with all others.
func TestEverySystemAttributeComesWithAMessage(t *testing.T) {
	q := openQueue(t, "dead.fifo", map[string]string{"VisibilityTimeout": "0"})
	dead := q.url
	q.url = q.create("q.fifo", map[string]string{
		"VisibilityTimeout": "0", "RedrivePolicy": `{"deadLetterTargetArn":"arn:aws:sqs:us-east-1:000000000000:dead.fifo","maxReceiveCount":1}`,
	})

	if _, err := q.api.SendMessage(t.Context(), &sqs.SendMessageInput{
		QueueUrl: &q.url, MessageBody: aws.String("b"), MessageGroupId: aws.String("g"), MessageDeduplicationId: aws.String("d"),
		MessageSystemAttributes: map[string]qtypes.MessageSystemAttributeValue{"AWSTraceHeader": {DataType: aws.String("String"), StringValue: aws.String("Root=1")}},
	}); err != nil {
		t.Fatal(err)
	}

	// The second receive moves the message, which was received once, to the other queue.
	q.receive(1)
	q.receive(1)
	q.url = dead

	receive := func(name qtypes.MessageSystemAttributeName) map[string]string {
		t.Helper()

		got := q.receive(1, func(in *sqs.ReceiveMessageInput) {
			in.MessageSystemAttributeNames = []qtypes.MessageSystemAttributeName{name}
		})
		if len(got) != 1 {
			t.Fatalf("%s: %d messages", name, len(got))
		}

		return got[0].Attributes
	}
	all := receive("All")

	for _, name := range qtypes.MessageSystemAttributeName("").Values() {
		if name == "All" {
			continue
		}

		if all[string(name)] == "" {
			t.Errorf("%s is not among all: %v", name, all)
		}

		if alone := receive(name); len(alone) != 1 || alone[string(name)] == "" {
			t.Errorf("%s alone: %v", name, alone)
		}
	}
}

// TestWhatQueuesRefuseByName has the members of the API model that the engine does not have. docs/reference/engine.md
// lists them.
func TestWhatQueuesRefuseByName(t *testing.T) {
	q := openQueue(t, "q.fifo", nil)

	_, err := q.api.ReceiveMessage(t.Context(), &sqs.ReceiveMessageInput{QueueUrl: &q.url, ReceiveRequestAttemptId: aws.String("a")})
	refusedByName(t, err, "ReceiveRequestAttemptId")

	for name, value := range map[string]qtypes.MessageAttributeValue{
		"StringListValues": {DataType: aws.String("String"), StringListValues: []string{"a"}},
		"BinaryListValues": {DataType: aws.String("Binary"), BinaryListValues: [][]byte{{1}}},
	} {
		_, err := q.api.SendMessage(t.Context(), &sqs.SendMessageInput{
			QueueUrl: &q.url, MessageBody: aws.String("b"), MessageGroupId: aws.String("g"), MessageDeduplicationId: aws.String("d"),
			MessageAttributes: map[string]qtypes.MessageAttributeValue{"list": value},
		})
		refusedByName(t, err, name)
	}
}

// refusedByName expects a refusal that names a member, in a document too.
func refusedByName(t *testing.T, err error, name string) {
	t.Helper()

	if err == nil || !strings.Contains(err.Error(), name) {
		t.Errorf("%s: %v", name, err)
	}

	page, readErr := os.ReadFile("../docs/reference/engine.md")
	if readErr != nil || !strings.Contains(string(page), "`"+name+"`") {
		t.Errorf("docs/reference/engine.md does not list %s (%v)", name, readErr)
	}
}
