package queues

import (
	"context"
	"fmt"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"ratchet/embedded/embeddedtest"
)

// BenchmarkConsumer takes messages from the embedded engine, handlers that do nothing:
// a receive and a delete on disk for each.
func BenchmarkConsumer(b *testing.B) {
	for _, suffix := range []string{"", ".fifo"} {
		b.Run("queue"+suffix, func(b *testing.B) {
			client := sqs.NewFromConfig(embeddedtest.Open(b).AWSConfig())

			attributes := map[string]string{}
			if suffix != "" {
				attributes["FifoQueue"] = "true"
			}

			q, err := client.CreateQueue(b.Context(), &sqs.CreateQueueInput{QueueName: aws.String("q" + suffix), Attributes: attributes})
			if err != nil {
				b.Fatal(err)
			}

			for sent := 0; sent < b.N; {
				in := &sqs.SendMessageBatchInput{QueueUrl: q.QueueUrl}
				for ; sent < b.N && len(in.Entries) < 10; sent++ {
					e := types.SendMessageBatchRequestEntry{Id: aws.String(fmt.Sprint(sent)), MessageBody: aws.String(`{"orderId":"o-1","event":"ship","transitionId":4}`)}
					if suffix != "" {
						e.MessageGroupId, e.MessageDeduplicationId = aws.String(fmt.Sprint("o-", sent%1000)), aws.String(fmt.Sprint(sent))
					}
					in.Entries = append(in.Entries, e)
				}

				if _, err := client.SendMessageBatch(b.Context(), in); err != nil {
					b.Fatal(err)
				}
			}
			ctx, stop := context.WithCancel(b.Context())
			defer stop()

			left := make(chan struct{}, b.N)
			c, err := New(Config{SQS: client, QueueURL: *q.QueueUrl, Slots: 100, PollGrace: -1, Log: embeddedtest.Quiet(),
				Handler: func(context.Context, Message) Outcome { return Done() },
				Events:  Events{Ended: func(Ended) { left <- struct{}{} }}})
			if err != nil {
				b.Fatal(err)
			}
			ended := make(chan error, 1)
			b.ResetTimer()
			go func() { ended <- c.Run(ctx) }()

			for range b.N {
				<-left
			}
			b.StopTimer()
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "messages/s")
			stop()

			if err := <-ended; err != nil {
				b.Fatal(err)
			}
		})
	}
}
