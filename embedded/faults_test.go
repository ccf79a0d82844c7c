package embedded

import (
	"errors"
	"io"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/ratelimit"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"
	"github.com/aws/aws-sdk-go-v2/service/sfn"
	sfntypes "github.com/aws/aws-sdk-go-v2/service/sfn/types"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/smithy-go"

	"ratchet/embedded/faults"
)

// inject puts a fault into effect until the test ends.
func (f *fixture) inject(fault faults.Fault) *faults.Injection {
	f.t.Helper()

	i, err := f.Inject(fault)
	if err != nil {
		f.t.Fatal(err)
	}
	f.t.Cleanup(i.Remove)

	return i
}

// retrying is the SDK's own retryer without its pauses.
func retrying() aws.Retryer {
	return retry.NewStandard(func(o *retry.StandardOptions) {
		o.RateLimiter = ratelimit.None
		o.Backoff = retry.BackoffDelayerFunc(func(int, error) (time.Duration, error) { return 0, nil })
	})
}

// inBothWays runs a test in the engine's process and over a socket.
func inBothWays(t *testing.T, test func(t *testing.T, f *fixture, cfg aws.Config)) {
	t.Run("in process", func(t *testing.T) {
		f := open(t)
		test(t, f, f.AWSConfig())
	})

	t.Run("over a socket", func(t *testing.T) {
		f := open(t)
		server := httptest.NewServer(f.Handler())
		t.Cleanup(server.Close)
		test(t, f, overHTTP(server))
	})
}

// A fault has the code and status that the service would answer, and the SDK's own retryer tells
// throttling from errors that must not be sent again.
func TestAFaultHasTheShapeThatTheServiceGivesIt(t *testing.T) {
	putOrder := func(f *fixture, cfg aws.Config) error { return putOver(f, cfg, "o-1") }
	readRecords := func(f *fixture, cfg aws.Config) error {
		_, err := dynamodbstreams.NewFromConfig(cfg).GetRecords(f.t.Context(), &dynamodbstreams.GetRecordsInput{ShardIterator: aws.String("x")})
		return err
	}

	for _, row := range []struct {
		name      string
		fault     faults.Fault
		call      func(f *fixture, cfg aws.Config) error
		code      string
		throttles bool
		attempts  int
	}{
		{"an item", faults.ExceedThroughput(), putOrder, "ProvisionedThroughputExceededException", true, 3},
		{"a table", faults.ExceedThroughput(), func(f *fixture, cfg aws.Config) error {
			_, err := dynamodb.NewFromConfig(cfg).ListTables(f.t.Context(), nil)
			return err
		}, "ThrottlingException", true, 3},
		{"a transaction", faults.ExceedThroughput(), transact, "TransactionCanceledException", false, 1},
		{"stream records", faults.ExceedThroughput(), readRecords, "LimitExceededException", true, 3},
		{"Step Functions", faults.ExceedThroughput(), func(f *fixture, cfg aws.Config) error {
			_, err := sfn.NewFromConfig(cfg).ListActivities(f.t.Context(), nil)
			return err
		}, "ThrottlingException", true, 3},
		{"SQS", faults.ExceedThroughput(), func(f *fixture, cfg aws.Config) error {
			_, err := sqs.NewFromConfig(cfg).ListQueues(f.t.Context(), nil)
			return err
		}, "RequestThrottled", true, 3},
		{"a server error", faults.Fail("PutItem"), putOrder, "InternalServerError", false, 3},
		{"a conflict of an item", faults.Conflict("PutItem"), putOrder, "TransactionConflictException", false, 1},
		{"an expired iterator", faults.ExpireIterators(), readRecords, "ExpiredIteratorException", false, 1},
	} {
		t.Run(row.name, func(t *testing.T) {
			inBothWays(t, func(t *testing.T, f *fixture, cfg aws.Config) {
				cfg.Retryer = retrying
				injection := f.inject(row.fault)

				err := row.call(f, cfg)
				if refusal := as[smithy.APIError](t, err); refusal.ErrorCode() != row.code {
					t.Errorf("got %v, want %s", err, row.code)
				}

				throttles := retry.IsErrorThrottles(retry.DefaultThrottles).IsErrorThrottle(err) == aws.TrueTernary
				if throttles != row.throttles || injection.Strikes() != row.attempts {
					t.Errorf("throttles %v, %d attempts; want %v, %d", throttles, injection.Strikes(), row.throttles, row.attempts)
				}
			})
		})
	}
}

// putOver puts an order with a client of its own.
func putOver(f *fixture, cfg aws.Config, id string) error {
	_, err := dynamodb.NewFromConfig(cfg).PutItem(f.t.Context(), &dynamodb.PutItemInput{TableName: aws.String("orders"), Item: item{"id": str(id)}})
	return err
}

// transact sends a transaction of two items.
func transact(f *fixture, cfg aws.Config) error {
	key := func(id string) *types.Delete {
		return &types.Delete{TableName: aws.String("orders"), Key: item{"id": str(id)}}
	}
	_, err := dynamodb.NewFromConfig(cfg).TransactWriteItems(f.t.Context(), &dynamodb.TransactWriteItemsInput{
		TransactItems: []types.TransactWriteItem{{Delete: key("o-1")}, {Delete: key("o-2")}},
	})

	return err
}

func TestAConflictCancelsATransactionForItsFirstItem(t *testing.T) {
	inBothWays(t, func(t *testing.T, f *fixture, cfg aws.Config) {
		f.table("orders", "id", "", "")
		f.inject(faults.Conflict("TransactWriteItems").Next(1))

		reasons := as[*types.TransactionCanceledException](t, transact(f, cfg)).CancellationReasons
		if len(reasons) != 2 || aws.ToString(reasons[0].Code) != "TransactionConflict" || aws.ToString(reasons[1].Code) != "None" {
			t.Errorf("got reasons %+v", reasons)
		}

		if err := transact(f, cfg); err != nil {
			t.Errorf("the second transaction: %v", err)
		}
	})
}

func TestALostAnswerLeavesTheWrite(t *testing.T) {
	inBothWays(t, func(t *testing.T, f *fixture, cfg aws.Config) {
		f.table("orders", "id", "", "")
		cfg.Retryer = func() aws.Retryer { return aws.NopRetryer{} }
		lost := f.inject(faults.LoseAnswer("dynamodb.PutItem").Next(1))

		err := putOver(f, cfg, "o-1")
		if !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("got %v, want a broken connection", err)
		}

		if got := f.get("orders", item{"id": str("o-1")}); got == nil || lost.Strikes() != 1 {
			t.Errorf("%d answers lost, the item is %v", lost.Strikes(), got)
		}

		dropped := f.inject(faults.LoseRequest("dynamodb.PutItem").Next(1))

		err = putOver(f, cfg, "o-2")
		if got := f.get("orders", item{"id": str("o-2")}); err == nil || got != nil || dropped.Strikes() != 1 {
			t.Errorf("a lost request: error %v, item %v", err, got)
		}
	})
}

func TestAFaultDelaysCalls(t *testing.T) {
	inFlow(t, t.TempDir(), func(t *testing.T, f *flow) {
		f.table("orders", "id", "", "")
		f.inject(faults.Delay(30*time.Second, "PutItem"))

		start := time.Now()
		f.put("orders", item{"id": str("o-1")})

		if took := time.Since(start); took != 30*time.Second {
			t.Errorf("it took %v", took)
		}
	})
}

const oneTask = `{"A":{"Type":"Task","Resource":"arn:aws:states:us-east-1:000000000000:activity:a","TimeoutSeconds":60,"End":true}}`

func TestALostTokenLeavesAStartedTask(t *testing.T) {
	inFlow(t, t.TempDir(), func(t *testing.T, f *flow) {
		lost := f.inject(faults.LoseToken())
		poll := &sfn.GetActivityTaskInput{ActivityArn: f.activity("a")}

		if _, err := f.sfn.GetActivityTask(t.Context(), poll); err != nil || lost.Strikes() != 0 {
			t.Errorf("a poll without a task: error %v, %d struck", err, lost.Strikes())
		}

		execution := f.start(oneTask, `{}`)

		_, err := f.sfn.GetActivityTask(t.Context(), poll, func(o *sfn.Options) { o.Retryer = aws.NopRetryer{} })
		if !errors.Is(err, faults.ErrLost) || lost.Strikes() != 1 {
			t.Errorf("the poll: error %v, %d struck", err, lost.Strikes())
		}

		lost.Remove()
		expect(t, "the execution", f.ended(execution), `FAILED States.Timeout`)
	})
}

func TestACompletionWhoseAnswerIsLostTimesOutTheSecondTime(t *testing.T) {
	inFlow(t, t.TempDir(), func(t *testing.T, f *flow) {
		a := f.activity("a")
		execution := f.start(oneTask, `{}`)

		task, err := f.sfn.GetActivityTask(t.Context(), &sfn.GetActivityTaskInput{ActivityArn: a})
		if err != nil {
			t.Fatal(err)
		}

		lost := f.inject(faults.LoseAnswer("SendTaskSuccess").Next(1))
		success := &sfn.SendTaskSuccessInput{TaskToken: task.TaskToken, Output: aws.String(`{"done":true}`)}

		_, err = f.sfn.SendTaskSuccess(t.Context(), success)
		as[*sfntypes.TaskTimedOut](t, err)

		if lost.Strikes() != 1 {
			t.Errorf("%d answers lost", lost.Strikes())
		}
		expect(t, "the execution", f.ended(execution), `SUCCEEDED {"done":true}`)
	})
}

func TestAQuotaIsATokenBucketOfEachOperation(t *testing.T) {
	inFlow(t, t.TempDir(), func(t *testing.T, f *flow) {
		for _, quota := range faults.StepFunctionsQuotas("us-east-1") {
			f.inject(quota)
		}

		// allowed counts the calls that get through at this moment.
		allowed := func() (n int) {
			for ; n < 1000; n++ {
				_, err := f.sfn.ListActivities(t.Context(), nil, func(o *sfn.Options) { o.Retryer = aws.NopRetryer{} })
				if err != nil {
					if refusal := as[smithy.APIError](t, err); refusal.ErrorCode() != "ThrottlingException" {
						t.Fatal(err)
					}

					break
				}
			}

			return n
		}

		if n := allowed(); n != 100 {
			t.Errorf("%d calls at first, want 100", n)
		}

		time.Sleep(1500 * time.Millisecond)

		if n := allowed(); n != 15 {
			t.Errorf("%d calls after 1.5 s, want 15", n)
		}

		if _, err := f.sfn.ListStateMachines(t.Context(), nil); err != nil {
			t.Errorf("another operation: %v", err)
		}
	})
}

func TestAFaultStrikesTheCallsOfExecutions(t *testing.T) {
	inFlow(t, t.TempDir(), func(t *testing.T, f *flow) {
		f.table("orders", "id", "", "")

		task := `{"A":{"Type":"Task","Resource":"arn:aws:states:::dynamodb:putItem","Parameters":{"TableName":"orders","Item":{"id":{"S":"o-1"}}},"End":true}}`
		throttle := f.inject(faults.ExceedThroughput("dynamodb.PutItem").Next(1))
		expect(t, "throttled", f.ended(f.start(task, `{}`)), `FAILED DynamoDB.ProvisionedThroughputExceededException`)

		if throttle.Strikes() != 1 {
			t.Errorf("%d calls throttled", throttle.Strikes())
		}
	})
}

func TestALostAnswerToAnExecutionIsAnErrorOfTheClient(t *testing.T) {
	inFlow(t, t.TempDir(), func(t *testing.T, f *flow) {
		f.table("orders", "id", "", "")
		f.inject(faults.LoseAnswer("dynamodb.PutItem"))

		task := `{"A":{"Type":"Task","Resource":"arn:aws:states:::dynamodb:putItem","Parameters":{"TableName":"orders","Item":{"id":{"S":"o-1"}}},"End":true}}`
		expect(t, "lost", f.ended(f.start(task, `{}`)), `FAILED DynamoDB.SdkClientException`)

		if f.get("orders", item{"id": str("o-1")}) == nil {
			t.Error("the write was not made")
		}
	})
}

func TestAFaultThatMakesNoSenseIsRefused(t *testing.T) {
	f := open(t)

	for name, fault := range map[string]faults.Fault{
		"nothing":       {},
		"probability":   faults.Fail().WithProbability(2, 1),
		"a negative":    faults.Fail().Next(-1),
		"an early look": {Err: faults.ErrLost, Answered: "x"},
		"a status":      {Err: &faults.Error{Code: "X", Status: 42}},
	} {
		if _, err := f.Inject(fault); err == nil {
			t.Errorf("%s is accepted", name)
		}
	}
}

func TestAShiftOfTheClockMakesWhatIsDueHappen(t *testing.T) {
	inFlow(t, t.TempDir(), func(t *testing.T, f *flow) {
		began := time.Now()
		execution := f.start(`{"A":{"Type":"Wait","Seconds":86400,"End":true}}`, `{}`)
		arn := *f.table("orders", "id", "", types.StreamViewTypeNewImage).LatestStreamArn
		iterator := f.iterator(arn, f.shards(arn)[0].ShardId, "TRIM_HORIZON", nil)

		q := newQueueing(f.fixture, "q", map[string]string{"DelaySeconds": "900"})
		q.send("late")
		synctest.Wait()

		f.ShiftClock(16 * time.Minute)

		_, err := f.str.GetRecords(t.Context(), &dynamodbstreams.GetRecordsInput{ShardIterator: iterator})
		if expired := as[smithy.APIError](t, err); expired.ErrorCode() != "ExpiredIteratorException" {
			t.Errorf("the iterator: %v", err)
		}
		expect(t, "the delayed message", q.bodies(1), "late")

		f.ShiftClock(25 * time.Hour)
		expect(t, "the execution", f.ended(execution), `SUCCEEDED {}`)

		if took := time.Since(began); took > 5*time.Minute {
			t.Errorf("it took %v", took)
		}
	})
}
