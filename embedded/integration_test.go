package embedded

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sfn"
	sfntypes "github.com/aws/aws-sdk-go-v2/service/sfn/types"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
)

// flow is an engine that runs, in a bubble of virtual time, with its Step Functions client.
type flow struct {
	*fixture
	sfn *sfn.Client
}

func newFlow(t *testing.T, e *Engine) *flow {
	return &flow{fixture: newFixture(t, e), sfn: sfn.NewFromConfig(e.AWSConfig())}
}

// inFlow calls fn with a running engine. The engine of an earlier call may have used dir.
func inFlow(t *testing.T, dir string, fn func(t *testing.T, f *flow)) {
	synctest.Test(t, func(t *testing.T) {
		e, err := Open(Config{Dir: dir})
		if err != nil {
			t.Fatal(err)
		}

		ctx, cancel := context.WithCancel(context.Background())
		ended := make(chan error, 1)
		go func() { ended <- e.Run(ctx) }()

		fn(t, newFlow(t, e))
		cancel()

		if err := <-ended; err != nil {
			t.Error(err)
		}

		if err := e.Close(); err != nil {
			t.Error(err)
		}
	})
}

// machine creates a machine and returns its ARN.
func (f *flow) machine(name, definition string, kind sfntypes.StateMachineType) *string {
	f.t.Helper()

	m, err := f.sfn.CreateStateMachine(f.t.Context(), &sfn.CreateStateMachineInput{
		Name: &name, Type: kind, RoleArn: aws.String("arn:aws:iam::000000000000:role/r"), Definition: &definition,
	})
	if err != nil {
		f.t.Fatal(err)
	}

	return m.StateMachineArn
}

// activity creates an activity and returns its ARN.
func (f *flow) activity(name string) *string {
	f.t.Helper()

	a, err := f.sfn.CreateActivity(f.t.Context(), &sfn.CreateActivityInput{Name: &name})
	if err != nil {
		f.t.Fatal(err)
	}

	return a.ActivityArn
}

// start creates a machine with the states and starts an execution of it.
func (f *flow) start(states, input string) (arn *string) {
	f.t.Helper()

	m := f.machine("m", `{"StartAt":"A","States":`+states+`}`, sfntypes.StateMachineTypeStandard)

	out, err := f.sfn.StartExecution(f.t.Context(), &sfn.StartExecutionInput{StateMachineArn: m, Name: aws.String("e"), Input: &input})
	if err != nil {
		f.t.Fatal(err)
	}

	return out.ExecutionArn
}

// patience is how many seconds of virtual time a wait lasts before it fails the test.
const patience = 20_000

// ended waits until the execution has ended and returns its status, and its output or error.
func (f *flow) ended(arn *string) string {
	f.t.Helper()

	for range patience {
		synctest.Wait()

		d, err := f.sfn.DescribeExecution(f.t.Context(), &sfn.DescribeExecutionInput{ExecutionArn: arn})
		if err != nil {
			f.t.Fatal(err)
		}

		if d.Status != sfntypes.ExecutionStatusRunning {
			return strings.TrimSpace(string(d.Status) + " " + aws.ToString(d.Output) + aws.ToString(d.Error))
		}

		time.Sleep(time.Second)
	}

	f.t.Fatalf("%s does not end: %s", *arn, f.history(arn))

	return ""
}

// history returns the types of the execution's events.
func (f *flow) history(arn *string) string {
	f.t.Helper()

	out, err := f.sfn.GetExecutionHistory(f.t.Context(), &sfn.GetExecutionHistoryInput{ExecutionArn: arn})
	if err != nil {
		f.t.Fatal(err)
	}

	var names []string
	for _, e := range out.Events {
		names = append(names, string(e.Type))
	}

	return strings.Join(names, " ")
}

// parked waits until the row of order o-1 holds a token and returns it.
func (f *flow) parked() *string {
	f.t.Helper()

	for range patience {
		synctest.Wait()

		if row := f.get("tokens", item{"id": str("o-1")}); row["token"] != nil {
			return aws.String(text(row["token"]))
		}

		time.Sleep(time.Second)
	}

	f.t.Fatal("no task was parked")

	return nil
}

// park writes the task's token into a row, unless the order has moved.
const park = `"Type":"Task","Resource":"arn:aws:states:::aws-sdk:dynamodb:updateItem.waitForTaskToken",
	"Parameters":{"TableName":"tokens","Key":{"id":{"S.$":"$.id"}},
		"UpdateExpression":"SET #t = :t, retries = :r","ConditionExpression":"attribute_not_exists(moved)",
		"ExpressionAttributeNames":{"#t":"token"},
		"ExpressionAttributeValues":{":t":{"S.$":"$$.Task.Token"},":r":{"N.$":"States.Format('{}', $$.State.RetryCount)"}}}`

func TestATaskWaitsForTheAnswerToATokenThatStepFunctionsStored(t *testing.T) {
	inFlow(t, t.TempDir(), func(t *testing.T, f *flow) {
		f.table("tokens", "id", "", "")
		arn := f.start(`{"A":{`+park+`,"ResultPath":"$.order","End":true}}`, `{"id":"o-1"}`)
		token := f.parked()

		if _, err := f.sfn.SendTaskHeartbeat(f.t.Context(), &sfn.SendTaskHeartbeatInput{TaskToken: token}); err != nil {
			t.Fatal(err)
		}

		if _, err := f.sfn.SendTaskSuccess(f.t.Context(), &sfn.SendTaskSuccessInput{TaskToken: token, Output: aws.String(`{"state":"SHIPPED"}`)}); err != nil {
			t.Fatal(err)
		}

		same(t, "end", f.ended(arn), `SUCCEEDED {"id":"o-1","order":{"state":"SHIPPED"}}`)
		same(t, "history", f.history(arn), "ExecutionStarted TaskStateEntered TaskScheduled TaskStarted TaskSubmitted TaskSucceeded TaskStateExited ExecutionSucceeded")

		_, err := f.sfn.SendTaskSuccess(f.t.Context(), &sfn.SendTaskSuccessInput{TaskToken: token, Output: aws.String(`{}`)})
		refused(t, err, "TaskTimedOut", "Task Timed Out: 'Provided task does not exist anymore'")
	})
}

func TestARefusedCallFailsTheTaskUnderTheNameOfTheSDK(t *testing.T) {
	for _, row := range []struct{ is, resource, parameters, want string }{
		{"a condition that does not hold", "aws-sdk:dynamodb:updateItem.waitForTaskToken", `{"TableName":"tokens","Key":{"id":{"S":"o-1"}},"UpdateExpression":"SET x = :x","ConditionExpression":"attribute_not_exists(moved)","ExpressionAttributeValues":{":x":{"S":"a"}}}`, "DynamoDb.ConditionalCheckFailedException"},
		{"the same, optimized", "dynamodb:updateItem", `{"TableName":"tokens","Key":{"id":{"S":"o-1"}},"UpdateExpression":"SET x = :x","ConditionExpression":"attribute_not_exists(moved)","ExpressionAttributeValues":{":x":{"S":"a"}}}`, "DynamoDB.ConditionalCheckFailedException"},
		{"a table that does not exist", "aws-sdk:dynamodb:getItem", `{"TableName":"none","Key":{"id":{"S":"o-1"}}}`, "DynamoDb.ResourceNotFoundException"},
		{"a request that is not valid", "aws-sdk:dynamodb:getItem", `{"TableName":"tokens","Key":{"wrong":{"S":"o-1"}}}`, "DynamoDb.DynamoDbException"},
	} {
		t.Run(row.is, func(t *testing.T) {
			inFlow(t, t.TempDir(), func(t *testing.T, f *flow) {
				f.table("tokens", "id", "", "")
				f.put("tokens", item{"id": str("o-1"), "moved": num("3")})

				arn := f.start(`{"A":{"Type":"Task","Resource":"arn:aws:states:::`+row.resource+`","Parameters":`+row.parameters+`,
					"Catch":[{"ErrorEquals":["States.TaskFailed"],"ResultPath":"$.failure","Next":"B"}],"End":true},
					"B":{"Type":"Pass","InputPath":"$.failure.Error","End":true}}`, `{}`)
				same(t, "end", f.ended(arn), `SUCCEEDED "`+row.want+`"`)
			})
		})
	}
}

func TestADeadlineEndsTheWaitForAToken(t *testing.T) {
	inFlow(t, t.TempDir(), func(t *testing.T, f *flow) {
		f.table("tokens", "id", "", "")
		began := time.Now()
		arn := f.start(`{"A":{`+park+`,"TimeoutSeconds":300,"Retry":[{"ErrorEquals":["States.Timeout"],"MaxAttempts":1,"IntervalSeconds":1}],"End":true}}`, `{"id":"o-1"}`)

		same(t, "end", f.ended(arn), "FAILED States.Timeout")
		same(t, "ten minutes", time.Since(began).Round(time.Minute), 10*time.Minute)
		same(t, "the retry wrote a token of its own", number(f.get("tokens", item{"id": str("o-1")})["retries"]), "1")

		if _, err := f.sfn.RedriveExecution(f.t.Context(), &sfn.RedriveExecutionInput{ExecutionArn: arn}); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()

		if _, err := f.sfn.SendTaskSuccess(f.t.Context(), &sfn.SendTaskSuccessInput{TaskToken: f.parked(), Output: aws.String(`1`)}); err != nil {
			t.Fatal(err)
		}
		same(t, "after the redrive", f.ended(arn), "SUCCEEDED 1")
	})
}

func TestACallThatWasNotMadeBeforeAStopIsMadeAfterwards(t *testing.T) {
	f := open(t)
	f.table("tokens", "id", "", "")
	dir := f.cfg.Dir

	// An engine that does not run schedules the call and does not make it.
	arn := (&flow{fixture: f, sfn: sfn.NewFromConfig(f.Engine.AWSConfig())}).start(`{"A":{`+park+`,"End":true}}`, `{"id":"o-1"}`)
	if row := f.get("tokens", item{"id": str("o-1")}); row != nil {
		t.Fatalf("the row is there: %v", row)
	}

	if err := f.Engine.Close(); err != nil {
		t.Fatal(err)
	}

	inFlow(t, dir, func(t *testing.T, f *flow) {
		if _, err := f.sfn.SendTaskFailure(f.t.Context(), &sfn.SendTaskFailureInput{TaskToken: f.parked(), Error: aws.String("Order.WrongState")}); err != nil {
			t.Fatal(err)
		}
		same(t, "end", f.ended(arn), "FAILED Order.WrongState")
	})
}

func TestATaskReadsAndWritesItemsAndSendsMessages(t *testing.T) {
	inFlow(t, t.TempDir(), func(t *testing.T, f *flow) {
		f.table("tokens", "id", "", "")
		queue := sqs.NewFromConfig(f.Engine.AWSConfig())

		q, err := queue.CreateQueue(t.Context(), &sqs.CreateQueueInput{QueueName: aws.String("q")})
		if err != nil {
			t.Fatal(err)
		}

		arn := f.start(`{
			"A":{"Type":"Task","Resource":"arn:aws:states:::dynamodb:putItem","Parameters":{"TableName":"tokens","Item":{"id":{"S.$":"$.id"},"n":{"N":"7"}}},"ResultPath":null,"Next":"B"},
			"B":{"Type":"Task","Resource":"arn:aws:states:::aws-sdk:dynamodb:getItem","Parameters":{"TableName":"tokens","Key":{"id":{"S.$":"$.id"}}},"ResultSelector":{"n.$":"$.Item.n.N"},"Next":"C"},
			"C":{"Type":"Task","Resource":"arn:aws:states:::sqs:sendMessage.waitForTaskToken","Parameters":{"QueueUrl":"`+*q.QueueUrl+`","MessageBody":{"n.$":"$.n","token.$":"$$.Task.Token"}},"End":true}}`, `{"id":"o-1"}`)
		synctest.Wait()

		got, err := queue.ReceiveMessage(t.Context(), &sqs.ReceiveMessageInput{QueueUrl: q.QueueUrl, WaitTimeSeconds: 20})
		if err != nil || len(got.Messages) != 1 {
			t.Fatalf("%d messages, %v", len(got.Messages), err)
		}

		var body struct{ N, Token string }
		if err := json.Unmarshal([]byte(*got.Messages[0].Body), &body); err != nil || body.N != "7" {
			t.Fatalf("body %s, %v", *got.Messages[0].Body, err)
		}

		if _, err := f.sfn.SendTaskSuccess(t.Context(), &sfn.SendTaskSuccessInput{TaskToken: &body.Token, Output: aws.String(`"sent"`)}); err != nil {
			t.Fatal(err)
		}
		same(t, "end", f.ended(arn), `SUCCEEDED "sent"`)
	})
}

func TestCreateStateMachineRefusesIntegrationsThatTheEngineDoesNotRun(t *testing.T) {
	f := open(t)
	client := sfn.NewFromConfig(f.Engine.AWSConfig())

	for _, resource := range []string{
		"arn:aws:states:::dynamodb:putItem.waitForTaskToken", // optimized: request and response only
		"arn:aws:states:::dynamodb:query",
		"arn:aws:states:::aws-sdk:s3:getObject",
		"arn:aws:states:::lambda:invokeAsync",
		"arn:aws:states:::aws-sdk:dynamodb:putItem.sync",
	} {
		_, err := client.CreateStateMachine(t.Context(), &sfn.CreateStateMachineInput{
			Name:       aws.String("m"),
			RoleArn:    aws.String("arn:aws:iam::000000000000:role/r"),
			Definition: aws.String(`{"StartAt":"A","States":{"A":{"Type":"Task","Resource":"` + resource + `","End":true}}}`),
		})
		if err == nil || !strings.Contains(err.Error(), resource) {
			t.Errorf("%s: %v", resource, err)
		}
	}
}
