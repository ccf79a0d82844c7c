package tasktoken_test

import (
	"context"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"ratchet/activities/tasktoken"
	"ratchet/embedded/embeddedtest"
)

// A task waits for its order to be shipped. The row says which task to answer when the order has moved.
func Example() {
	ctx := context.Background()
	expires := time.Now().Add(tasktoken.Retention)

	cfg, closeAll := embeddedtest.OpenExample(tasktoken.TableInput("parked"))
	defer closeAll()

	parked, err := tasktoken.New(tasktoken.Config{DynamoDB: dynamodb.NewFromConfig(cfg), Table: "parked"})
	if err != nil {
		panic(err)
	}

	if err := parked.Park(ctx, tasktoken.Task{OrderID: "o-1", Awaited: "SHIPPED", Since: 2, Token: "token-1"}, expires); err != nil {
		panic(err)
	}

	waiting, err := parked.Waiting(ctx, "o-1")
	if err != nil {
		panic(err)
	}

	for _, task := range waiting {
		fmt.Println(task.OrderID, "waits for", task.Awaited, "since transition", task.Since)
	}

	fmt.Println("the token prints as a digest:", fmt.Sprint(waiting[0].Token) != "token-1")
	// Output:
	// o-1 waits for SHIPPED since transition 2
	// the token prints as a digest: true
}
