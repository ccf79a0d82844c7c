package expenses_test

import (
	"context"
	"expenses"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"
	"github.com/aws/aws-sdk-go-v2/service/sfn"
	"golang.org/x/sync/errgroup"

	"ratchet/activities"
	"ratchet/embedded/embeddedtest"
	"ratchet/streams"
	"ratchet/streams/deadletters"
	"ratchet/streams/leases"
	"ratchet/streams/poller"
	"ratchet/transitions"
)

const machine = `{"StartAt": "Decide", "States": {"Decide": {"Type": "Task", "Resource": %q,
	"TimeoutSeconds": 60, "HeartbeatSeconds": 30, "End": true}}}`

func TestAnApprovedClaimIsPaidOnce(t *testing.T) {
	engine := embeddedtest.Open(t)
	embeddedtest.Run(t, engine)

	db, steps := dynamodb.NewFromConfig(engine.AWSConfig()), sfn.NewFromConfig(engine.AWSConfig())
	embeddedtest.Create(t, db, transitions.Mapping{}.OrdersTable("claims"), leases.TableInput("leases"), deadletters.TableInput("dead-letters"))

	definition, err := expenses.Definition()
	must(t, err)
	claims, err := transitions.New(transitions.Config{DynamoDB: db, Table: "claims", Definition: definition})
	must(t, err)

	activity, err := steps.CreateActivity(t.Context(), &sfn.CreateActivityInput{Name: aws.String("Decide")})
	must(t, err)
	created, err := steps.CreateStateMachine(t.Context(), &sfn.CreateStateMachineInput{Name: aws.String("expenses"),
		Definition: aws.String(fmt.Sprintf(machine, *activity.ActivityArn)), RoleArn: aws.String("arn:aws:iam::000000000000:role/r")})
	must(t, err)

	worker, err := activities.New(activities.Config{SFN: steps, PollGrace: -1,
		Activities: []activities.Activity{{ARN: *activity.ActivityArn, Heartbeat: 30 * time.Second, Handle: expenses.Decide(claims)}}})
	must(t, err)

	paid, ended := make(chan string, 10), make(chan string, 10)
	poller, err := poller.New(poller.Config{Streams: dynamodbstreams.NewFromConfig(engine.AWSConfig()), DynamoDB: db, TableName: "claims",
		LeaseTable: "leases", DeadLetterTable: "dead-letters", PollActive: 10 * time.Millisecond, PollIdle: 10 * time.Millisecond,
		Handlers: []streams.Handler{
			expenses.Payout(func(_ context.Context, key string, amount int64) error {
				paid <- fmt.Sprintf("%s: %d", key, amount)
				return nil
			}),
			{Name: "ended", Handle: func(_ context.Context, r streams.Record) error {
				if change, _, _ := (transitions.Mapping{}).FromRecord(r.Old, r.New); change.New.State != expenses.Submitted {
					ended <- fmt.Sprintf("%s %s", change.New.ID, change.New.State)
				}
				return nil
			}},
		}})
	must(t, err)

	ctx, stop := context.WithCancel(t.Context())
	var running errgroup.Group
	running.Go(func() error { return worker.Run(ctx) })
	running.Go(func() error { return poller.Run(ctx) })

	for id, amount := range map[string]int64{"claim-1": 4_200, "claim-2": 99_000} {
		_, err := claims.Create(t.Context(), transitions.NewOrder{ID: transitions.OrderID(id), Total: transitions.Money{Amount: amount, Currency: "EUR"}})
		must(t, err)
		_, err = steps.StartExecution(t.Context(), &sfn.StartExecutionInput{StateMachineArn: created.StateMachineArn, Name: &id,
			Input: aws.String(fmt.Sprintf(`{"claimId": %q, "transitionId": 2, "amount": %d}`, id, amount))})
		must(t, err)
	}

	approved, _, err := claims.Get(t.Context(), "claim-1")
	must(t, err)

	if got, want := <-paid, approved.EffectKey(2, "payout")+": 4200"; got != want {
		t.Errorf("paid %q, want %q", got, want)
	}

	if got := []string{<-ended, <-ended}; !slices.Contains(got, "claim-1 APPROVED") || !slices.Contains(got, "claim-2 REJECTED") {
		t.Errorf("the claims ended as %q", got)
	}

	stop()
	must(t, running.Wait())

	if len(paid) > 0 {
		t.Errorf("paid %q, too", <-paid)
	}
}

func must(t *testing.T, err error) {
	t.Helper()

	if err != nil {
		t.Fatal(err)
	}
}
