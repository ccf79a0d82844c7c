package embedded

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/sfn"
	sfntypes "github.com/aws/aws-sdk-go-v2/service/sfn/types"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/smithy-go"

	"ratchet/embedded/internal/smalldisk"
	"ratchet/embedded/internal/store"
	"ratchet/embedded/internal/wire"
)

// TestAFullDiskRefusesCallsThatChange: each service says so, and reads go on. Changes are accepted
// again when there is room.
func TestAFullDiskRefusesCallsThatChange(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		disk := smalldisk.New()

		e, err := openOn(disk, Config{Dir: "data", Log: slog.New(slog.DiscardHandler)})
		if err != nil {
			t.Fatal(err)
		}
		defer func() {
			if err := e.Close(); err != nil {
				t.Error(err)
			}
		}()

		f := newFlow(t, e)
		queues := sqs.NewFromConfig(e.AWSConfig(), func(o *sqs.Options) { o.RetryMaxAttempts = 1 })
		f.db = dynamodb.NewFromConfig(e.AWSConfig(), func(o *dynamodb.Options) { o.RetryMaxAttempts = 1 })
		f.sfn = sfn.NewFromConfig(e.AWSConfig(), func(o *sfn.Options) { o.RetryMaxAttempts = 1 })

		f.table("orders", "id", "", "")
		f.put("orders", item{"id": str("o-1")})

		queue, err := queues.CreateQueue(t.Context(), &sqs.CreateQueueInput{QueueName: aws.String("q")})
		if err != nil {
			t.Fatal(err)
		}

		changes := map[string]func() error{
			"PutItem": func() error {
				_, err := f.db.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: aws.String("orders"), Item: item{"id": str("o-2")}})
				return err
			},
			"SendMessage": func() error {
				_, err := queues.SendMessage(t.Context(), &sqs.SendMessageInput{QueueUrl: queue.QueueUrl, MessageBody: aws.String("m")})
				return err
			},
			"CreateActivity": func() error {
				_, err := f.sfn.CreateActivity(t.Context(), &sfn.CreateActivityInput{Name: aws.String("a")})
				return err
			},
		}

		disk.Free.Store(5 << 20)
		time.Sleep(time.Second)

		for name, change := range changes {
			var refused smithy.APIError
			if err := change(); !errors.As(err, &refused) || refused.ErrorCode() != "InsufficientStorage" ||
				!strings.Contains(refused.ErrorMessage(), "takes no changes: the disk is full: data has 5 MB of free space and needs 32 MB") {
				t.Errorf("%s: %v", name, err)
			}
		}

		if f.get("orders", item{"id": str("o-1")}) == nil || f.get("orders", item{"id": str("o-2")}) != nil {
			t.Error("reads do not show what was stored before, and no more")
		}

		attributes, err := f.sfn.ListActivities(t.Context(), &sfn.ListActivitiesInput{})
		if err != nil || len(attributes.Activities) != 0 {
			t.Error(attributes, err)
		}

		disk.Free.Store(1 << 30)
		time.Sleep(time.Second)

		for name, change := range changes {
			if err := change(); err != nil {
				t.Errorf("with room again, %s: %v", name, err)
			}
		}
	})
}

// TestCopiesThatHaveNoRoomSaySo: a compaction and a backup are answered with a status of their own.
func TestCopiesThatHaveNoRoomSaySo(t *testing.T) {
	disk := smalldisk.New()
	disk.Free.Store(0)

	e, err := openOn(disk, Config{Dir: t.TempDir(), Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	}()

	for target, want := range map[string]string{
		CompactTarget: `{"__type":"ratchet.engine#InsufficientStorage","message":"compact the store: the disk is full: `,
		BackupTarget:  "backup: checkpoint into ",
	} {
		request := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/", nil)
		request.Header["X-Amz-Target"] = []string{target}

		answer := httptest.NewRecorder()
		e.Handler().ServeHTTP(answer, request)

		text := answer.Body.String()
		if answer.Code != http.StatusInsufficientStorage || !strings.HasPrefix(text, want) || !strings.Contains(text, "has 0 MB of free space and needs ") {
			t.Errorf("%s: %d %s", target, answer.Code, text)
		}
	}
}

// TestACallThatTheFullDiskEndsSaysSo: in the same way as a call that is refused at its beginning.
func TestACallThatTheFullDiskEndsSaysSo(t *testing.T) {
	e := open(t).Engine
	fills := func(context.Context, []byte) (any, error) { return nil, fmt.Errorf("put: %w", store.ErrFull) }
	service := e.withRoom(wire.Service{InternalError: "InternalServerError", Operations: map[string]wire.Operation{"PutItem": fills, "BatchWriteItem": fills}})

	// A part of a batch may have been stored, so its outcome is not certain.
	for operation, want := range map[string]string{"PutItem": "InsufficientStorage", "BatchWriteItem": "InternalServerError"} {
		_, err := service.Operations[operation](t.Context(), nil)

		var refused *wire.Error
		if !errors.As(err, &refused) || refused.Type != want || refused.Message != "the embedded engine takes no changes: put: the disk is full" {
			t.Errorf("%s: %v", operation, err)
		}
	}
}

// TestTheEngineRunsOnAFullDisk: timers, calls of executions, sweeps and saves wait until there is room, and
// fail nothing.
func TestTheEngineRunsOnAFullDisk(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		disk := smalldisk.New()

		e, err := openOn(disk, Config{Dir: "data", Log: slog.New(slog.DiscardHandler), Streams: StreamsConfig{RollEvery: time.Minute}})
		if err != nil {
			t.Fatal(err)
		}

		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- e.Run(ctx) }()

		f := newFlow(t, e)
		f.table("orders", "id", "", types.StreamViewTypeNewImage)

		arn := f.start(`{"A":{"Type":"Wait","Seconds":60,"Next":"B"},
			"B":{"Type":"Task","Resource":"arn:aws:states:::dynamodb:putItem","Parameters":{"TableName":"orders","Item":{"id":{"S":"o-1"}}},"End":true}}`, `{}`)

		disk.Free.Store(5 << 20)
		time.Sleep(time.Hour)

		select {
		case err := <-ended:
			t.Fatalf("the engine has stopped: %v", err)
		default:
		}

		d, err := f.sfn.DescribeExecution(t.Context(), &sfn.DescribeExecutionInput{ExecutionArn: arn})
		if err != nil || d.Status != sfntypes.ExecutionStatusRunning {
			t.Fatalf("the execution is %s (%v)", d.Status, err)
		}

		disk.Free.Store(1 << 30)
		time.Sleep(time.Minute)

		d, err = f.sfn.DescribeExecution(t.Context(), &sfn.DescribeExecutionInput{ExecutionArn: arn})
		if err != nil || d.Status != sfntypes.ExecutionStatusSucceeded || f.get("orders", item{"id": str("o-1")}) == nil {
			t.Errorf("with room again, the execution is %s (%v)", d.Status, err)
		}

		stop()

		if err := errors.Join(<-ended, e.Close()); err != nil {
			t.Error(err)
		}
	})
}

// TestOperationsThatChangeNothing: every other operation is refused on a full disk.
func TestOperationsThatChangeNothing(t *testing.T) {
	for operation, want := range map[string]bool{
		"GetItem": true, "BatchGetItem": true, "TransactGetItems": true, "Query": true, "Scan": true, "ListTables": true, "DescribeTable": true,
		"GetRecords": true, "GetExecutionHistory": true, "ValidateStateMachineDefinition": true, "GetQueueUrl": true, "GetQueueAttributes": false,
		"GetActivityTask": false, "UpdateItem": false, "DeleteItem": false, "BatchWriteItem": false, "TransactWriteItems": false, "ExecuteStatement": false,
		"StartExecution": false, "SendTaskSuccess": false, "ReceiveMessage": false, "DeleteMessage": false, "CreateTable": false,
	} {
		if readsOnly(operation) != want {
			t.Errorf("%s: %v", operation, !want)
		}
	}
}
