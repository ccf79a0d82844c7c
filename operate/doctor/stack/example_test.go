package stack_test

import (
	"fmt"

	"ratchet/operate/doctor/stack"
)

// Example compares a queue that forgets its messages after four days.
func Example() {
	templates, err := stack.Wanted(map[string][]byte{"queues.yaml": []byte(`
Parameters:
  Prefix: {Type: String, Default: ratchet-}
  Days: {Type: Number, Default: 14}
Resources:
  Requests:
    Type: AWS::SQS::Queue
    Properties:
      QueueName: !Sub "${Prefix}requests"
      MessageRetentionPeriod: 1209600
      SqsManagedSseEnabled: true
      DelaySeconds: !Ref Days
`)}, stack.Account{Partition: "aws", Region: "eu-central-1", ID: "123456789012", Parameters: map[string]string{"Prefix": "shop-"}})
	if err != nil {
		fmt.Println(err)
		return
	}

	queue := templates[0].Resources[0]
	fmt.Println(queue.Identifier)

	for _, difference := range queue.Differences(map[string]any{"QueueName": "shop-requests", "MessageRetentionPeriod": 345600.0, "SqsManagedSseEnabled": true, "DelaySeconds": 7.0}) {
		fmt.Println(difference)
	}
	// Output:
	// https://sqs.eu-central-1.amazonaws.com/123456789012/shop-requests
	// MessageRetentionPeriod is 345600, not 1209600
}
