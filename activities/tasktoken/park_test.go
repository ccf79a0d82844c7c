package tasktoken_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/sfn"

	"ratchet/activities/tasktoken"
	"ratchet/embedded/embeddedtest"
)

// service is an engine with an activity, whose tasks are parked in a store.
type service struct {
	*sfn.Client
	transport         *embeddedtest.Transport
	activity, machine string
	store             *tasktoken.Store
}

func newService(t *testing.T) *service {
	t.Helper()
	engine := embeddedtest.Open(t)
	embeddedtest.Run(t, engine)

	cfg := engine.AWSConfig()
	s := &service{transport: embeddedtest.Intercept(&cfg)}
	s.Client = sfn.NewFromConfig(cfg)

	db := dynamodb.NewFromConfig(cfg)
	embeddedtest.Create(t, db, tasktoken.TableInput("parked"))

	activity, err := s.CreateActivity(t.Context(), &sfn.CreateActivityInput{Name: aws.String("await")})
	if err != nil {
		t.Fatal(err)
	}
	s.activity = *activity.ActivityArn
	definition := fmt.Sprintf(`{"StartAt":"T","States":{"T":{"Type":"Task","Resource":%q,"End":true}}}`, s.activity)

	machine, err := s.CreateStateMachine(t.Context(), &sfn.CreateStateMachineInput{
		Name: aws.String("m"), Definition: &definition, RoleArn: aws.String("arn:aws:iam::000000000000:role/any"),
	})
	if err != nil {
		t.Fatal(err)
	}
	s.machine = *machine.StateMachineArn

	if s.store, err = tasktoken.New(tasktoken.Config{DynamoDB: db, Table: "parked", SFN: s}); err != nil {
		t.Fatal(err)
	}

	return s
}

// task starts an execution and returns its task, and what ends it.
func (s *service) task(t *testing.T) (task tasktoken.Task, end func()) {
	t.Helper()

	execution, err := s.StartExecution(t.Context(), &sfn.StartExecutionInput{StateMachineArn: &s.machine})
	if err != nil {
		t.Fatal(err)
	}

	out, err := s.GetActivityTask(t.Context(), &sfn.GetActivityTaskInput{ActivityArn: &s.activity})
	if err != nil {
		t.Fatal(err)
	}

	return tasktoken.Task{OrderID: "o-1", Awaited: "SHIPPED", Since: 2, Token: tasktoken.Token(*out.TaskToken)}, func() {
		if _, err := s.StopExecution(t.Context(), &sfn.StopExecutionInput{ExecutionArn: execution.ExecutionArn}); err != nil {
			t.Error(err)
		}
	}
}

func TestALateParkNeverReplacesALiveToken(t *testing.T) {
	s := newService(t)
	first, endFirst := s.task(t)
	second, _ := s.task(t)

	park(t, s.store, first)
	endFirst()
	park(t, s.store, second)
	waiting(t, s.store, "o-1", second)

	// The worker of the first attempt was suspended, and repeats its write.
	if err := s.store.Park(t.Context(), first, expires); !errors.Is(err, tasktoken.ErrEnded) {
		t.Errorf("got %v, want ErrEnded", err)
	}
	waiting(t, s.store, "o-1", second)

	// The worker of the second attempt repeats its write, for want of an answer.
	calls := s.transport.Count("SendTaskHeartbeat")
	park(t, s.store, second)
	waiting(t, s.store, "o-1", second)

	if n := s.transport.Count("SendTaskHeartbeat") - calls; n != 0 {
		t.Errorf("Park asked %d times about the token that it found", n)
	}
}

// TestParkAsksAgainAfterAnotherToken suspends a worker between its question and its write.
func TestParkAsksAgainAfterAnotherToken(t *testing.T) {
	s := newService(t)
	dead, endDead := s.task(t)
	suspended, endSuspended := s.task(t)
	live, _ := s.task(t)

	park(t, s.store, dead)
	endDead()

	suspend := true // the hook runs on the goroutine of the test
	s.transport.After(func(c *embeddedtest.Call) error {
		if suspend && c.Is("SendTaskHeartbeat") {
			suspend = false
			endSuspended()
			park(t, s.store, live)
		}

		return nil
	})

	if err := s.store.Park(t.Context(), suspended, expires); !errors.Is(err, tasktoken.ErrEnded) {
		t.Errorf("got %v, want ErrEnded", err)
	}
	waiting(t, s.store, "o-1", live)
}

// TestParkNeedsSFNToReplaceAToken: only the service knows which token is newer.
func TestParkNeedsSFNToReplaceAToken(t *testing.T) {
	store, _ := open(t)
	first := tasktoken.Task{OrderID: "o-1", Awaited: "SHIPPED", Since: 2, Token: "first"}
	park(t, store, first, first)

	second := first
	second.Token = "second"

	if err := store.Park(t.Context(), second, expires); err == nil {
		t.Error("the token was replaced")
	}
	waiting(t, store, "o-1", first)
}
