package poller

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"ratchet/streams"
	"ratchet/streams/deadletters"
	"ratchet/streams/lambda"
)

func lambdaEvent(records ...string) json.RawMessage {
	return json.RawMessage(`{"Records":[` + strings.Join(records, ",") + `]}`)
}

func lambdaModify(id string, version, seq int) string {
	return fmt.Sprintf(`{"eventID":"e","eventName":"MODIFY","eventSourceARN":"arn:aws:dynamodb:r:1:table/orders/stream/L",
		"userIdentity":{"principalId":"dynamodb.amazonaws.com","type":"Service"},
		"dynamodb":{"ApproximateCreationDateTime":1700000000.0,"SequenceNumber":"%d","SizeBytes":12,
		"Keys":{"id":{"S":%q}},"NewImage":{"id":{"S":%q},"version":{"N":"%d"}},"OldImage":{"id":{"S":%q}}}}`, seq, id, id, version, id)
}

func newLambda(t *testing.T, cfg lambda.Config) *lambda.Function {
	t.Helper()

	l, err := lambda.New(cfg)
	if err != nil {
		t.Fatal(err)
	}

	return l
}

func TestLambdaReportsFailedRecordsAndTheLaterOnesOfTheirItems(t *testing.T) {
	l := newRecorder()
	fn := newLambda(t, lambda.Config{Handlers: []streams.Handler{
		{Name: "all", Handle: func(ctx context.Context, r streams.Record) error {
			if id, v := keyAndVersion(r); id == "o-1" && v == 2 {
				return errors.New("no")
			}
			return l.handle(ctx, r)
		}},
		{Name: "exits", Filter: func(r streams.Record) bool { id, _ := keyAndVersion(r); return id == "o-3" }, Handle: func(context.Context, streams.Record) error {
			runtime.Goexit()
			return nil
		}},
		{Name: "none", Filter: func(streams.Record) bool { return false }, Handle: func(context.Context, streams.Record) error { panic("not asked for") }},
	}})

	out, err := fn.Handle(context.Background(), lambdaEvent(
		lambdaModify("o-1", 1, 98), lambdaModify("o-2", 1, 99), lambdaModify("o-1", 2, 100), lambdaModify("o-1", 3, 101), lambdaModify("o-2", 2, 102), lambdaModify("o-3", 1, 103)))
	if err != nil {
		t.Fatal(err)
	}

	body, _ := json.Marshal(out)
	if string(body) != `{"batchItemFailures":[{"itemIdentifier":"100"},{"itemIdentifier":"101"},{"itemIdentifier":"103"}]}` {
		t.Errorf("response %s", body)
	}

	if got := fmt.Sprint(l.of("o-1"), l.of("o-2")); got != "[1] [1 2]" {
		t.Errorf("handled %s", got)
	}

	ok, err := fn.Handle(context.Background(), lambdaEvent())
	if body, _ := json.Marshal(ok); err != nil || string(body) != `{"batchItemFailures":[]}` {
		t.Errorf("empty batch: %s, %v", body, err)
	}

	if _, err := fn.Handle(context.Background(), json.RawMessage(`{"Records":[{}]}`)); err == nil {
		t.Error("a record without a sequence number was accepted")
	}
}

func TestLambdaStoresPermanentFailuresAsDeadLetters(t *testing.T) {
	virtually(t, func(t *testing.T) {
		w := newTestEnv(t, 1)
		fn := newLambda(t, lambda.Config{DynamoDB: w.db, DeadLetterTable: deadTable, Handlers: []streams.Handler{
			{Name: "h", Handle: func(context.Context, streams.Record) error { return streams.Permanent(errors.New("never")) }},
		}})

		out, err := fn.Handle(context.Background(), lambdaEvent(lambdaModify("o-1", 1, 1)))
		if err != nil || len(out.Failures) != 0 {
			t.Fatalf("%v, %v", out, err)
		}

		letters, _, err := deadletters.Letters{DynamoDB: w.db, Table: deadTable}.List(context.Background(), "h", "", 0)
		if err != nil || len(letters) != 1 || letters[0].Record.Identity.Type != "Service" || letters[0].Record.CreatedAt.Unix() != 1700000000 {
			t.Fatalf("%+v, %v", letters, err)
		}
	})
}

func TestLambdaConfigFaultsAreReportedAtOnce(t *testing.T) {
	_, err := lambda.New(lambda.Config{DeadLetterTable: deadTable, Concurrency: -1})

	want := "streams: LambdaConfig.Handlers is empty\n" +
		"streams: LambdaConfig.DynamoDB and LambdaConfig.DeadLetterTable must be set together\n" +
		"streams: LambdaConfig.Concurrency is -1, want at least 1"
	if err == nil || err.Error() != want {
		t.Errorf("NewLambda: %v, want %s", err, want)
	}
}

func TestLambdaRefusesABatchThatItCannotRead(t *testing.T) {
	fn := newLambda(t, lambda.Config{Handlers: []streams.Handler{{Name: "h", Handle: newRecorder().handle}}})

	for name, event := range map[string]string{
		"not JSON":              `{`,
		"records of no list":    `{"Records":{}}`,
		"a record of no object": `{"Records":[7]}`,
		"no sequence number":    `{"Records":[{"dynamodb":{}}]}`,
	} {
		if _, err := fn.Handle(t.Context(), json.RawMessage(event)); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

// TestLambdaPutsARecordAsideThatItCannotDecode: the records beside it are handled, and it is listed with the reason
// and can be read when a later program knows its form. Without a table it fails alone.
func TestLambdaPutsARecordAsideThatItCannotDecode(t *testing.T) {
	for name, dynamodb := range map[string]string{
		"a bad value":      `"Keys":{"id":{"S":7}}`,
		"a bad old image":  `"OldImage":{"id":{}}`,
		"an unknown type":  `"NewImage":{"id":{"Z":"7"}}`,
		"a list of no set": `"NewImage":{"id":{"Z":["7"]}}`,
		"a set of numbers": `"NewImage":{"id":{"NS":[7]}}`,
		"bad base64":       `"NewImage":{"id":{"B":"!"}}`,
		"no image":         `"NewImage":7`,
	} {
		t.Run(name, func(t *testing.T) {
			virtually(t, func(t *testing.T) {
				w := newTestEnv(t, 1)
				bad := `{"eventID":"e-1","eventName":"MODIFY","dynamodb":{"SequenceNumber":"2",` + dynamodb + `}}`
				event := lambdaEvent(lambdaModify("o-1", 1, 1), bad, lambdaModify("o-2", 1, 3))

				handled := 0
				handlers := []streams.Handler{{Name: "h", Handle: func(context.Context, streams.Record) error { handled++; return nil }}}

				out, err := newLambda(t, lambda.Config{Handlers: handlers, Concurrency: 1}).Handle(context.Background(), event)
				if err != nil || len(out.Failures) != 1 || out.Failures[0].ItemIdentifier != "2" || handled != 2 {
					t.Errorf("without a table: %v, %v, %d handled", out, err, handled)
				}

				fn := newLambda(t, lambda.Config{DynamoDB: w.db, DeadLetterTable: deadTable, Handlers: handlers, Concurrency: 1})

				if out, err := fn.Handle(context.Background(), event); err != nil || len(out.Failures) != 0 || handled != 4 {
					t.Errorf("%v, %v, %d handled", out, err, handled)
				}

				letters, _, err := deadletters.Letters{DynamoDB: w.db, Table: deadTable}.List(context.Background(), "h", "", 0)
				if err != nil || len(letters) != 1 || letters[0].Error == "" || !letters[0].Permanent {
					t.Fatalf("%+v, %v", letters, err)
				}
			})
		})
	}
}

// TestABatchHandlerBehindLambdaFailsRecordsOneByOne: the second version of o-1 fails, and so
// its third one is reported without a call.
func TestABatchHandlerBehindLambdaFailsRecordsOneByOne(t *testing.T) {
	l := newRecorder()
	fn := newLambda(t, lambda.Config{Handlers: []streams.Handler{{Name: "many", Batch: &streams.Batch{
		Window: 5 * time.Millisecond,
		Handle: func(ctx context.Context, records []streams.Record) []error {
			results := make([]error, len(records))
			for i, r := range records {
				if id, v := keyAndVersion(r); id == "o-1" && v == 2 {
					results[i] = errOutage
				} else {
					results[i] = l.handle(ctx, r)
				}
			}

			return results
		},
	}}}})

	out, err := fn.Handle(t.Context(), lambdaEvent(lambdaModify("o-1", 1, 1), lambdaModify("o-2", 1, 2), lambdaModify("o-1", 2, 3), lambdaModify("o-2", 2, 4), lambdaModify("o-1", 3, 5)))
	if err != nil {
		t.Fatal(err)
	}

	body, _ := json.Marshal(out)
	if string(body) != `{"batchItemFailures":[{"itemIdentifier":"3"},{"itemIdentifier":"5"}]}` || fmt.Sprint(l.of("o-1"), l.of("o-2")) != "[1] [1 2]" {
		t.Errorf("response %s, handled %v and %v", body, l.of("o-1"), l.of("o-2"))
	}
}
