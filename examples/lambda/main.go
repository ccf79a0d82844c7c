// Command lambda runs handlers of package streams as a Lambda function behind the event
// source mapping of a table's stream. template.yaml deploys it, with the mapping.
//
// It needs no other package than streams: the function talks to Lambda's runtime API itself.
// With github.com/aws/aws-lambda-go, main is lambda.Start(handlers.Handle) instead.
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net/http"
	"os"
	"time"

	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"ratchet/streams"
	"ratchet/streams/lambda"
)

func main() {
	ctx := context.Background()

	cfg, err := config.LoadDefaultConfig(ctx)
	if err != nil {
		log.Fatal(err)
	}

	handlers, err := newHandlers(dynamodb.NewFromConfig(cfg), os.Getenv("DEAD_LETTER_TABLE"), log.Default())
	if err != nil {
		log.Fatal(err)
	}

	runtime := &runtime{api: os.Getenv("AWS_LAMBDA_RUNTIME_API")}
	// Lambda freezes the process between invocations, inside the call for the next one.
	for {
		if err := runtime.serveOne(ctx, handlers); err != nil {
			log.Fatal(err)
		}
	}
}

// newHandlers returns a handler for single records and one for batches. A record becomes a dead
// letter in the table when its handler gives up on it.
func newHandlers(db *dynamodb.Client, deadLetters string, out *log.Logger) (*lambda.Function, error) {
	return lambda.New(lambda.Config{
		DynamoDB:        db,
		DeadLetterTable: deadLetters,
		Handlers: []streams.Handler{
			{
				Name: "removals",
				// An item that the time to live removed was not removed by a person.
				Filter: func(r streams.Record) bool { return r.EventName == streams.Remove && !r.ExpiredByTTL() },
				MaxAge: 12 * time.Hour,
				Handle: func(_ context.Context, r streams.Record) error {
					out.Printf("removed: %v", r.Keys)
					return nil
				},
			},
			{
				Name: "copies",
				Batch: &streams.Batch{Size: 25, Window: 5 * time.Millisecond, Handle: func(_ context.Context, records []streams.Record) []error {
					results := make([]error, len(records))
					for i, r := range records {
						if len(r.Item()) == 0 {
							// A retry reads the same record, so the error is permanent.
							results[i] = streams.Permanent(fmt.Errorf("record %s has no image", r.SequenceNumber))
						}
					}
					out.Printf("copied %d records", len(records))

					return results
				}},
			},
		},
	})
}

// runtime is Lambda's runtime API (2018-06-01).
type runtime struct{ api string }

func (r *runtime) url(path string) string {
	return "http://" + r.api + "/2018-06-01/runtime/invocation/" + path
}

// serveOne waits for an invocation and answers it. Its error means that the runtime API
// does not work, which ends the process.
func (r *runtime) serveOne(ctx context.Context, handlers *lambda.Function) error {
	event, header, err := r.send(ctx, http.MethodGet, "next", nil)
	if err != nil {
		return err
	}

	answer, path := any(nil), header.Get("Lambda-Runtime-Aws-Request-Id")+"/response"
	// An error makes Lambda send the batch again; a partial failure is in the answer.
	if answer, err = handlers.Handle(ctx, event); err != nil {
		answer, path = map[string]string{"errorMessage": err.Error()}, header.Get("Lambda-Runtime-Aws-Request-Id")+"/error"
	}

	body, err := json.Marshal(answer)
	if err != nil {
		return err
	}

	_, _, err = r.send(ctx, http.MethodPost, path, body)

	return err
}

func (r *runtime) send(ctx context.Context, method, path string, body []byte) ([]byte, http.Header, error) {
	request, err := http.NewRequestWithContext(ctx, method, r.url(path), bytes.NewReader(body))
	if err != nil {
		return nil, nil, err
	}

	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, nil, err
	}
	defer response.Body.Close()

	text, err := io.ReadAll(response.Body)
	// Lambda's API answers 200 and 202.
	if err == nil && response.StatusCode/100 != 2 {
		err = fmt.Errorf("runtime API: %s %s: %s", method, path, response.Status)
	}

	return text, response.Header, err
}
