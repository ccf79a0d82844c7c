package ratchettest_test

import (
	"testing"
	"testing/synctest"
	"time"

	sfntypes "github.com/aws/aws-sdk-go-v2/service/sfn/types"

	"ratchet/embedded/faults"
	"ratchet/server/ratchettest"
	"ratchet/workflow"
)

// On a bad day of AWS every caller is struck, also the execution itself when it parks a task. The
// order is delivered nevertheless, with each effect once.
//
//raced:here
func TestAnOrderIsDeliveredOnABadDay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		env := ratchettest.Start(t, ratchettest.Config{Patience: time.Hour, Repeats: true})
		env.SetStock("mug", 10)

		var struck []*faults.Injection
		for _, fault := range []faults.Fault{
			faults.ExceedThroughput(faults.Writes()...).EveryNth(7),
			faults.LoseAnswer(faults.Writes()...).EveryNth(11),
			faults.Conflict("dynamodb.UpdateItem", "dynamodb.TransactWriteItems").EveryNth(13),
			faults.Fail("dynamodbstreams.GetRecords").EveryNth(5),
			faults.Delay(2*time.Second, "dynamodb.UpdateItem").EveryNth(3),
			faults.LoseToken().Next(1),
			faults.LoseAnswer("SendTaskSuccess").Next(1),
		} {
			i, err := env.Backend.Engine.Inject(fault)
			if err != nil {
				t.Fatal(err)
			}
			struck = append(struck, i)
		}

		env.Execute(ratchettest.NewOrder("o-1", "mug"))

		env.WantExecution("o-1", sfntypes.ExecutionStatusSucceeded)
		env.WantOrder("o-1", workflow.Delivered, 4)
		env.WantJournal("o-1", workflow.Pending, workflow.PaymentReceived, workflow.Shipped, workflow.Delivered)
		env.WantEffects("o-1", "2/shipping", "2/notify", "3/notify", "4/notify")
		env.Backend.Engine.ClearFaults()

		for _, i := range struck {
			if i.Strikes() == 0 {
				t.Errorf("%v struck no call", i.Fault().On)
			}
		}
	})
}
