package embedded

import (
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
)

// TestTheMachinesClockIsSet: 45 days forward for six seconds removes no item, ends no wait and shows no message early; two
// hours back delays none of them.
func TestTheMachinesClockIsSet(t *testing.T) {
	inFlow(t, t.TempDir(), func(t *testing.T, f *flow) {
		f.table("rows", "id", "", types.StreamViewTypeNewImage)

		_, err := f.db.UpdateTimeToLive(t.Context(), &dynamodb.UpdateTimeToLiveInput{TableName: aws.String("rows"),
			TimeToLiveSpecification: &types.TimeToLiveSpecification{AttributeName: aws.String("until"), Enabled: aws.Bool(true)}})
		if err != nil {
			t.Fatal(err)
		}

		in30Days := strconv.FormatInt(time.Now().Add(720*time.Hour).Unix(), 10)
		f.put("rows", item{"id": str("a"), "until": &types.AttributeValueMemberN{Value: in30Days}})

		waiting := f.start(`{"A":{"Type":"Wait","Seconds":600,"End":true}}`, `{}`)
		queues := sqs.NewFromConfig(f.AWSConfig())

		queue, err := queues.CreateQueue(t.Context(), &sqs.CreateQueueInput{QueueName: aws.String("q")})
		if err != nil {
			t.Fatal(err)
		}

		if _, err := queues.SendMessage(t.Context(), &sqs.SendMessageInput{QueueUrl: queue.QueueUrl, MessageBody: aws.String("m")}); err != nil {
			t.Fatal(err)
		}

		received := func(visibility int32) int {
			out, err := queues.ReceiveMessage(t.Context(), &sqs.ReceiveMessageInput{QueueUrl: queue.QueueUrl, VisibilityTimeout: visibility})
			if err != nil {
				t.Fatal(err)
			}

			return len(out.Messages)
		}
		if received(300) != 1 {
			t.Fatal("no message")
		}

		began := time.Now()

		f.clock.SetWall(1080 * time.Hour)
		f.clock.Now() // as any call does
		time.Sleep(6 * time.Second)

		if step, _ := f.HeldStep(); step != 1080*time.Hour {
			t.Errorf("held: %v", step)
		}

		// To other processes the service has its own time.
		w, call := httptest.NewRecorder(), httptest.NewRequestWithContext(t.Context(), http.MethodPost, "http://127.0.0.1/", strings.NewReader("{}"))
		call.Header.Set("X-Amz-Target", "DynamoDB_20120810.ListTables")
		f.Handler().ServeHTTP(w, call)

		if date, err := http.ParseTime(w.Header().Get("Date")); err != nil || time.Since(date).Abs() > 2*time.Second {
			t.Errorf("the answer is of %v, %v", date, err)
		}

		f.clock.SetWall(-1080 * time.Hour)
		time.Sleep(2 * time.Minute)

		out, err := f.db.GetItem(t.Context(), &dynamodb.GetItemInput{TableName: aws.String("rows"), Key: item{"id": str("a")}})
		if err != nil || out.Item == nil {
			t.Errorf("the item is gone: %v", err)
		}

		if received(300) != 0 {
			t.Error("the message is seen early")
		}

		f.clock.SetWall(-2 * time.Hour)

		if got := f.ended(waiting); got != "SUCCEEDED {}" {
			t.Error(got)
		}

		if took := time.Since(began); took < 10*time.Minute-time.Second || took > 10*time.Minute+2*time.Second {
			t.Errorf("ten minutes took %v", took)
		}

		synctest.Wait()

		if received(300) != 1 {
			t.Error("the message is seen late")
		}

		if step, _ := f.HeldStep(); step != -2*time.Hour {
			t.Errorf("held: %v", step)
		}
	})
}
