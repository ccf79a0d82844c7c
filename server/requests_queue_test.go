package server_test

import (
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"ratchet/queues"
	"ratchet/server"
	"ratchet/transitions"
	"ratchet/workflow"
)

// TestRequestsComeByAQueue checks that a worker applies requests from a standard and from a
// FIFO queue, and that requests that can never be applied become dead letters.
//
//raced:here
func TestRequestsComeByAQueue(t *testing.T) {
	for _, suffix := range []string{"", ".fifo"} {
		t.Run("requests"+suffix, func(t *testing.T) {
			s := newStockedBackend(t, func(c *server.Config) { c.RequestsQueue = "requests" + suffix })
			if err := s.Init(t.Context()); err != nil {
				t.Fatalf("a second init: %v", err)
			}

			if _, err := s.Orders.Create(t.Context(), mug); err != nil {
				t.Fatal(err)
			}

			for range 2 {
				if _, err := s.Request(t.Context(), transitions.Request{OrderID: mug.ID, Event: workflow.Cancel, RequestID: "r-1"}); err != nil {
					t.Fatal(err)
				}
			}
			s.until(workflow.Cancelled)

			if _, err := s.Request(t.Context(), transitions.Request{OrderID: mug.ID, Event: workflow.Ship, RequestID: "r-2"}); err != nil {
				t.Fatal(err)
			}

			url, err := s.SQS.GetQueueUrl(t.Context(), &sqs.GetQueueUrlInput{QueueName: aws.String("requests-dead-letters" + suffix)})
			if err != nil {
				t.Fatal(err)
			}

			out, err := s.SQS.ReceiveMessage(t.Context(), &sqs.ReceiveMessageInput{QueueUrl: url.QueueUrl, WaitTimeSeconds: 20,
				MessageAttributeNames: []string{queues.AttributeReason}, MessageSystemAttributeNames: []types.MessageSystemAttributeName{types.MessageSystemAttributeNameAll}})
			if err != nil || len(out.Messages) != 1 {
				t.Fatalf("dead letters %v, %v", out, err)
			}

			if reason := *out.Messages[0].MessageAttributes[queues.AttributeReason].StringValue; reason != "apply ship to order o-1: WrongState: the order is CANCELLED, the event needs [PAYMENT_RECEIVED PARTIALLY_SHIPPED]" {
				t.Errorf("reason %q", reason)
			}
		})
	}
}
