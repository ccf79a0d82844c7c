package queues_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"os"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"ratchet/embedded"
	"ratchet/queues"
)

func ExampleConsumer() {
	dir, err := os.MkdirTemp("", "queues")
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = os.RemoveAll(dir) }()

	engine, err := embedded.Open(embedded.Config{Dir: dir})
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = engine.Close() }()

	// A client of AWS itself would do as well.
	ctx, stop := context.WithCancel(context.Background())
	client := sqs.NewFromConfig(engine.AWSConfig())

	queue, err := client.CreateQueue(ctx, &sqs.CreateQueueInput{QueueName: aws.String("parcels.fifo"),
		Attributes: map[string]string{"FifoQueue": "true", "ContentBasedDeduplication": "true"}})
	if err != nil {
		log.Fatal(err)
	}

	for _, body := range []string{"packed", "sent", "arrived"} {
		if _, err := client.SendMessage(ctx, &sqs.SendMessageInput{QueueUrl: queue.QueueUrl, MessageBody: &body, MessageGroupId: aws.String("parcel-1")}); err != nil {
			log.Fatal(err)
		}
	}

	consumer, err := queues.New(queues.Config{
		SQS: client, QueueURL: *queue.QueueUrl, PollGrace: -1,
		Handler: func(_ context.Context, m queues.Message) queues.Outcome {
			fmt.Println(m.GroupID, m.Body)
			return queues.Done()
		},
		Events: queues.Events{Ended: func(e queues.Ended) {
			if e.Message.Body == "arrived" {
				stop()
			}
		}},
	})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(consumer.Run(ctx))
	// Output:
	// parcel-1 packed
	// parcel-1 sent
	// parcel-1 arrived
	// <nil>
}

func ExampleLambda() {
	function, err := queues.NewLambda(queues.LambdaConfig{Handler: func(_ context.Context, m queues.Message) queues.Outcome {
		if m.Body == "b" {
			return queues.Retry(0, errors.New("not yet"))
		}

		return queues.Done()
	}})
	if err != nil {
		log.Fatal(err)
	}

	event := json.RawMessage(`{"Records": [
		{"messageId": "1", "body": "a", "eventSourceARN": "arn:aws:sqs:eu-central-1:1:q.fifo", "attributes": {"MessageGroupId": "g"}},
		{"messageId": "2", "body": "b", "eventSourceARN": "arn:aws:sqs:eu-central-1:1:q.fifo", "attributes": {"MessageGroupId": "g"}},
		{"messageId": "3", "body": "c", "eventSourceARN": "arn:aws:sqs:eu-central-1:1:q.fifo", "attributes": {"MessageGroupId": "g"}}]}`)
	response, err := function.Handle(context.Background(), event) // lambda.Start(function.Handle)
	fmt.Println(response, err)
	// Output: {[{2} {3}]} <nil>
}
