package embeddedtest_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"runtime"
	"slices"
	"strings"
	"sync"
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
	"go.uber.org/goleak"

	"ratchet/embedded/embeddedtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var countersTable = &dynamodb.CreateTableInput{
	TableName:            aws.String("counters"),
	BillingMode:          types.BillingModePayPerRequest,
	AttributeDefinitions: []types.AttributeDefinition{{AttributeName: aws.String("id"), AttributeType: types.ScalarAttributeTypeS}},
	KeySchema:            []types.KeySchemaElement{{AttributeName: aws.String("id"), KeyType: types.KeyTypeHash}},
}

type item = map[string]types.AttributeValue

// counter counts in an item of a table, through a transport.
type counter struct {
	db        *dynamodb.Client
	direct    *dynamodb.Client // around the transport
	transport *embeddedtest.Transport
}

func newCounter(t *testing.T, retryer func() aws.Retryer) *counter {
	t.Helper()

	cfg := embeddedtest.Open(t).AWSConfig()
	cfg.Retryer = retryer
	direct := dynamodb.NewFromConfig(cfg)
	embeddedtest.Create(t, direct, countersTable)
	transport := embeddedtest.Intercept(&cfg)

	return &counter{db: dynamodb.NewFromConfig(cfg), direct: direct, transport: transport}
}

func (c *counter) add(ctx context.Context) error {
	_, err := c.db.UpdateItem(ctx, &dynamodb.UpdateItemInput{
		TableName:                 aws.String("counters"),
		Key:                       item{"id": &types.AttributeValueMemberS{Value: "a"}},
		UpdateExpression:          aws.String("ADD n :one"),
		ExpressionAttributeValues: item{":one": &types.AttributeValueMemberN{Value: "1"}},
	})

	return err
}

func (c *counter) value(t *testing.T) (value int) {
	t.Helper()

	out, err := c.direct.GetItem(t.Context(), &dynamodb.GetItemInput{
		TableName:      aws.String("counters"),
		Key:            item{"id": &types.AttributeValueMemberS{Value: "a"}},
		ConsistentRead: aws.Bool(true),
	})
	if err != nil {
		t.Fatal(err)
	}

	if n, ok := out.Item["n"].(*types.AttributeValueMemberN); ok {
		fmt.Sscan(n.Value, &value)
	}

	return value
}

// TestFaultsStrikeTheCallsTheySelect adds ten times without retries and shows each
// result as one letter: . for applied and answered, a for applied and unanswered,
// x for neither.
func TestFaultsStrikeTheCallsTheySelect(t *testing.T) {
	for _, c := range []struct {
		name  string
		fault embeddedtest.Fault
		want  string
	}{
		{"every request is lost", embeddedtest.LoseRequest(), "xxxxxxxxxx"},
		{"the next two requests are lost", embeddedtest.LoseRequest("UpdateItem").Next(2), "xx........"},
		{"the operation may be named with its service", embeddedtest.LoseRequest("dynamodb.UpdateItem").Next(1), "x........."},
		{"another service's operation is not meant", embeddedtest.LoseRequest("sqs.UpdateItem"), ".........."},
		{"another operation is not meant", embeddedtest.LoseRequest("PutItem"), ".........."},
		{"writes are meant", embeddedtest.LoseRequest(embeddedtest.Writes()...).Next(1), "x........."},
		{"the next answer is lost", embeddedtest.LoseAnswer("UpdateItem").Next(1), "a........."},
		{"every third answer is lost", embeddedtest.LoseAnswer("UpdateItem").EveryNth(3), "..a..a..a."},
		{"all answers are lost from the eighth on", embeddedtest.LoseAnswer("UpdateItem").From(8), ".......aaa"},
		{"two answers are lost from the eighth on", embeddedtest.LoseAnswer("UpdateItem").From(8).Next(2), ".......aa."},
		{"AWS answers an error once", embeddedtest.Answer("InternalServerError", "UpdateItem").Next(1), "x........."},
		{"AWS answers an error although it did the work", embeddedtest.LoseAnswer("UpdateItem").Next(1).With(&embeddedtest.Error{Code: "InternalServerError"}), "a........."},
		{"AWS throttles", embeddedtest.Throttle("UpdateItem").Next(3), "xxx......."},
		{"the content selects the call", embeddedtest.LoseRequest().If(func(c *embeddedtest.Call) bool { return bytes.Contains(c.Body(), []byte("ADD n")) }), "xxxxxxxxxx"},
		{"the number selects the call", embeddedtest.LoseRequest().If(func(c *embeddedtest.Call) bool { return c.N == 4 }), "...x......"},
		{"the seed makes chance repeatable", embeddedtest.LoseAnswer("UpdateItem").WithProbability(0.3, 7), "..aa.aa..."},
	} {
		t.Run(c.name, func(t *testing.T) {
			counter := newCounter(t, embeddedtest.NoRetries)
			injection := counter.transport.Inject(c.fault)

			var got strings.Builder
			applied := 0
			for range 10 {
				err := counter.add(t.Context())
				now := counter.value(t)

				switch {
				case err == nil && now == applied+1:
					got.WriteByte('.')
				case err != nil && now == applied+1:
					got.WriteByte('a')
				case err != nil && now == applied:
					got.WriteByte('x')
				default:
					t.Fatalf("error %v, value %d after %d", err, now, applied)
				}
				applied = now
			}

			if got.String() != c.want {
				t.Errorf("got %s, want %s", got.String(), c.want)
			}

			if want := len(c.want) - strings.Count(c.want, "."); injection.Strikes() != want {
				t.Errorf("%d strikes, want %d", injection.Strikes(), want)
			}
		})
	}
}

func TestTheRetryerRetriesAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		counter := newCounter(t, embeddedtest.RetryAtOnce)
		counter.transport.Inject(embeddedtest.Throttle("UpdateItem").Next(1))
		began := time.Now()

		// Far more retries than the SDK's token bucket allows.
		for range 200 {
			counter.transport.Inject(embeddedtest.LoseRequest("UpdateItem").Next(1))

			if err := counter.add(t.Context()); err != nil {
				t.Fatal(err)
			}
		}

		if waited := time.Since(began); waited != 0 {
			t.Errorf("retries waited %v", waited)
		}

		if got := counter.value(t); got != 200 {
			t.Errorf("value %d, want 200", got)
		}
	})
}

func TestADelayEndsWithTheContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		counter := newCounter(t, embeddedtest.NoRetries)
		counter.transport.Inject(embeddedtest.Delay(time.Minute, "UpdateItem"))
		began := time.Now()

		if err := counter.add(t.Context()); err != nil || time.Since(began) != time.Minute {
			t.Errorf("error %v after %v, want none after a minute", err, time.Since(began))
		}

		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()

		if err := counter.add(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("error %v, want that of the context", err)
		}

		if got := counter.value(t); got != 1 {
			t.Errorf("value %d, want 1", got)
		}
	})
}

func TestADelayAndAnErrorOfTwoFaultsAddUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		counter := newCounter(t, embeddedtest.NoRetries)
		counter.transport.Inject(embeddedtest.Delay(time.Minute))
		second := counter.transport.Inject(embeddedtest.LoseAnswer())
		began := time.Now()

		if err := counter.add(t.Context()); !errors.Is(err, embeddedtest.ErrAnswerLost) || time.Since(began) != time.Minute {
			t.Errorf("error %v after %v, want a lost answer after a minute", err, time.Since(began))
		}

		second.Remove()

		if err := counter.add(t.Context()); err != nil {
			t.Errorf("error %v after the fault was removed", err)
		}
	})
}

func TestErrorsOfAWSArriveAsTheServicesTypes(t *testing.T) {
	engine := embeddedtest.Open(t)
	cfg := engine.AWSConfig()
	cfg.Retryer = embeddedtest.NoRetries
	transport := embeddedtest.Intercept(&cfg)

	transport.Inject(embeddedtest.Answer("TaskTimedOut", "sfn.SendTaskSuccess"))

	_, err := sfn.NewFromConfig(cfg).SendTaskSuccess(t.Context(), &sfn.SendTaskSuccessInput{TaskToken: aws.String("t"), Output: aws.String("{}")})
	if _, ok := errors.AsType[*sfntypes.TaskTimedOut](err); !ok {
		t.Errorf("Step Functions: %v", err)
	}

	transport.Inject(embeddedtest.Answer("QueueDoesNotExist", "sqs.ReceiveMessage"))

	_, err = sqs.NewFromConfig(cfg).ReceiveMessage(t.Context(), &sqs.ReceiveMessageInput{QueueUrl: aws.String("http://queue")})
	if e, ok := errors.AsType[smithy.APIError](err); !ok || e.ErrorCode() != "QueueDoesNotExist" {
		t.Errorf("SQS: %v", err)
	}

	transport.Inject(embeddedtest.Fault{On: []string{"TransactWriteItems"}, Err: embeddedtest.Canceled("None", "TransactionConflict")})

	_, err = dynamodb.NewFromConfig(cfg).TransactWriteItems(t.Context(), &dynamodb.TransactWriteItemsInput{TransactItems: []types.TransactWriteItem{
		{Delete: &types.Delete{TableName: aws.String("counters"), Key: item{"id": &types.AttributeValueMemberS{Value: "a"}}}},
	}})
	canceled, ok := errors.AsType[*types.TransactionCanceledException](err)
	if !ok || len(canceled.CancellationReasons) != 2 || aws.ToString(canceled.CancellationReasons[1].Code) != "TransactionConflict" {
		t.Errorf("DynamoDB: %v", err)
	}
}

func TestTheStatusOfAnErrorFollowsItsCode(t *testing.T) {
	for code, want := range map[string]int{
		"InternalServerError":                    http.StatusInternalServerError,
		"InternalFailure":                        http.StatusInternalServerError,
		"ServiceUnavailable":                     http.StatusServiceUnavailable,
		"ThrottlingException":                    http.StatusBadRequest,
		"ProvisionedThroughputExceededException": http.StatusBadRequest,
	} {
		transport := embeddedtest.NewTransport(nil)
		transport.Inject(embeddedtest.Answer(code))

		r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/", http.NoBody)
		response, err := transport.Do(r)
		if err != nil {
			t.Fatal(err)
		}

		if response.StatusCode != want {
			t.Errorf("%s: status %d, want %d", code, response.StatusCode, want)
		}
		_ = response.Body.Close()
	}
}

func TestHooksSeeEachCallAndMayStopIt(t *testing.T) {
	counter := newCounter(t, embeddedtest.NoRetries)
	errHook := errors.New("by the test")

	counter.transport.Before(func(*embeddedtest.Call) error { return errHook })

	if err := counter.add(t.Context()); !errors.Is(err, errHook) || counter.value(t) != 0 {
		t.Errorf("Before: error %v, value %d, want the hook's error and nothing done", err, counter.value(t))
	}

	counter.transport.Before(func(*embeddedtest.Call) error { return embeddedtest.ErrAnswerLost })

	if err := counter.add(t.Context()); !errors.Is(err, io.ErrUnexpectedEOF) || counter.value(t) != 1 {
		t.Errorf("Before with a lost answer: error %v, value %d, want 1", err, counter.value(t))
	}

	counter.transport.Clear()
	counter.transport.After(func(c *embeddedtest.Call) error {
		if c.N != 3 || c.String() != "dynamodb.UpdateItem" {
			t.Errorf("call %s number %d", c, c.N)
		}

		return &embeddedtest.Error{Code: "ConditionalCheckFailedException"}
	})

	err := counter.add(t.Context())
	if _, ok := errors.AsType[*types.ConditionalCheckFailedException](err); !ok || counter.value(t) != 2 {
		t.Errorf("After: error %v, value %d, want a failed condition and 2", err, counter.value(t))
	}
}

func TestAHookMayEndTheGoroutine(t *testing.T) {
	counter := newCounter(t, embeddedtest.NoRetries)
	counter.transport.After(func(*embeddedtest.Call) error {
		runtime.Goexit()
		return nil
	})

	done := make(chan struct{})
	go func() {
		defer close(done)
		err := counter.add(context.Background())
		t.Errorf("the call returned %v", err)
	}()
	<-done
	counter.transport.Clear()

	if err := counter.add(t.Context()); err != nil || counter.value(t) != 2 {
		t.Errorf("error %v, value %d, want 2", err, counter.value(t))
	}
}

// openBody answers every request and records whether the body of its answer was closed.
type openBody struct {
	io.Reader
	closed bool
}

func (b *openBody) Close() error {
	b.closed = true
	return nil
}

func (b *openBody) Do(r *http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: http.StatusOK, Body: b, Request: r}, nil
}

func TestAnAnswerThatIsLostIsClosed(t *testing.T) {
	for name, after := range map[string]func(*embeddedtest.Call) error{
		"by an error": func(*embeddedtest.Call) error { return embeddedtest.ErrLost },
		"by an exit":  func(*embeddedtest.Call) error { runtime.Goexit(); return nil },
	} {
		body := &openBody{Reader: strings.NewReader("answer")}
		transport := embeddedtest.NewTransport(body)
		transport.After(after)

		done := make(chan struct{})
		go func() {
			defer close(done)
			_, _ = transport.Do(httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", http.NoBody)) //nolint:bodyclose // there is no response
		}()
		<-done

		if !body.closed {
			t.Errorf("%s: the body is open", name)
		}
	}
}

func TestAnAroundHookStandsForTheService(t *testing.T) {
	counter := newCounter(t, embeddedtest.NoRetries)

	counter.transport.Around(func(c *embeddedtest.Call, send embeddedtest.Sender) (*http.Response, error) {
		c.Body() // buffered, so that it can be sent twice

		first, err := send()
		if err != nil {
			return nil, err
		}
		_ = first.Body.Close()

		return send()
	})

	if err := counter.add(t.Context()); err != nil || counter.value(t) != 2 {
		t.Errorf("sent twice: error %v, value %d, want 2", err, counter.value(t))
	}

	counter.transport.Around(func(c *embeddedtest.Call, send embeddedtest.Sender) (*http.Response, error) {
		c.SetBody(bytes.ReplaceAll(c.Body(), []byte(`"N":"1"`), []byte(`"N":"40"`)))
		return send()
	})

	if err := counter.add(t.Context()); err != nil || counter.value(t) != 42 {
		t.Errorf("changed: error %v, value %d, want 42", err, counter.value(t))
	}

	counter.transport.Around(func(c *embeddedtest.Call, _ embeddedtest.Sender) (*http.Response, error) {
		return c.Respond(http.StatusOK, `{}`), nil
	})

	if err := counter.add(t.Context()); err != nil || counter.value(t) != 42 {
		t.Errorf("answered by the hook: error %v, value %d, want 42", err, counter.value(t))
	}

	counter.transport.Around(func(*embeddedtest.Call, embeddedtest.Sender) (*http.Response, error) {
		return nil, &embeddedtest.Error{Code: "ItemCollectionSizeLimitExceededException"}
	})

	if _, ok := errors.AsType[*types.ItemCollectionSizeLimitExceededException](counter.add(t.Context())); !ok || counter.value(t) != 42 {
		t.Errorf("an error of the hook did not arrive as AWS's; value %d, want 42", counter.value(t))
	}
}

func TestCallsAreCounted(t *testing.T) {
	counter := newCounter(t, embeddedtest.RetryAtOnce)
	counter.transport.Inject(embeddedtest.LoseRequest("UpdateItem").Next(2))

	if err := counter.add(t.Context()); err != nil {
		t.Fatal(err)
	}

	if _, err := counter.db.ListTables(t.Context(), &dynamodb.ListTablesInput{}); err != nil {
		t.Fatal(err)
	}

	for want, operations := range map[int][]string{
		4: nil,
		3: {"UpdateItem"},
		1: {"dynamodb.ListTables"},
		0: {"sqs.ListTables", "PutItem"},
	} {
		if got := counter.transport.Count(operations...); got != want {
			t.Errorf("%d calls of %v, want %d", got, operations, want)
		}
	}

	if want := []string{"UpdateItem", "UpdateItem", "UpdateItem", "ListTables"}; !slices.Equal(counter.transport.Calls(), want) {
		t.Errorf("calls %v, want %v", counter.transport.Calls(), want)
	}

	counter.transport.Reset()

	if n := counter.transport.Count(); n != 0 {
		t.Errorf("%d calls after Reset", n)
	}
}

func TestTheTransportCarriesPlainHTTP(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { _, _ = io.Copy(w, r.Body) }))
	defer server.Close()

	transport := embeddedtest.NewTransport(server.Client())
	lost := transport.Inject(embeddedtest.LoseAnswer("POST /charges").Next(1))
	client := &http.Client{Transport: transport}

	if _, err := client.Post(server.URL+"/charges", "text/plain", strings.NewReader("10 EUR")); !errors.Is(err, embeddedtest.ErrLost) { //nolint:bodyclose // there is no response
		t.Errorf("error %v, want a lost answer", err)
	}

	response, err := client.Post(server.URL+"/charges", "text/plain", strings.NewReader("10 EUR"))
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()

	if body, err := io.ReadAll(response.Body); string(body) != "10 EUR" || err != nil || lost.Strikes() != 1 {
		t.Errorf("body %q, error %v, %d strikes", body, err, lost.Strikes())
	}
}

func TestATransportWithoutABackendSaysSo(t *testing.T) {
	r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/x", http.NoBody)

	if _, err := embeddedtest.NewTransport(nil).Do(r); err == nil || !strings.Contains(err.Error(), "no backend answers POST /x") { //nolint:bodyclose // there is no response
		t.Errorf("got %v", err)
	}
}

func TestTheTransportIsSafeForConcurrentUse(t *testing.T) {
	counter := newCounter(t, embeddedtest.RetryAtOnce)
	lost := counter.transport.Inject(embeddedtest.LoseRequest("UpdateItem").EveryNth(4))

	var callers sync.WaitGroup
	for range 8 {
		callers.Go(func() {
			for range 25 {
				counter.transport.Inject(embeddedtest.Delay(time.Microsecond)).Remove()

				if err := counter.add(t.Context()); err != nil && !errors.Is(err, embeddedtest.ErrLost) {
					t.Error(err)
				}
			}
		})
	}
	callers.Wait()

	if n := counter.transport.Count("UpdateItem"); lost.Strikes() != n/4 || counter.value(t) != n-n/4 {
		t.Errorf("%d calls, %d lost, value %d", n, lost.Strikes(), counter.value(t))
	}
}

func TestBackendIsDynamoDBLocalIfTheEnvironmentNamesOne(t *testing.T) {
	local := httptest.NewServer(embeddedtest.Open(t).Handler())
	defer local.Close()
	t.Setenv(embeddedtest.LocalURL, local.URL)

	users := map[string]bool{}
	for range 2 {
		cfg := embeddedtest.Backend(t)
		transport := embeddedtest.Intercept(&cfg)

		if _, err := dynamodb.NewFromConfig(cfg).ListTables(t.Context(), &dynamodb.ListTablesInput{}); err != nil {
			t.Fatal(err)
		}

		user, err := cfg.Credentials.Retrieve(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		users[user.AccessKeyID] = true

		if transport.Count("ListTables") != 1 {
			t.Errorf("calls %v, want one", transport.Calls())
		}
	}

	if len(users) != 2 {
		t.Errorf("two tests share an access key: %v", users)
	}
}

func TestBackendIsAnEngineOtherwise(t *testing.T) {
	t.Setenv(embeddedtest.LocalURL, "")
	db := dynamodb.NewFromConfig(embeddedtest.Backend(t))
	embeddedtest.Create(t, db, countersTable)

	out, err := db.ListTables(t.Context(), &dynamodb.ListTablesInput{})
	if err != nil || len(out.TableNames) != 1 {
		t.Errorf("tables %v, error %v", out, err)
	}
}

func TestAClockMovesOnlyWhenToldTo(t *testing.T) {
	var clock embeddedtest.Clock

	if !clock.Now().Equal(embeddedtest.Start) {
		t.Errorf("a new clock shows %v", clock.Now())
	}

	var movers sync.WaitGroup
	for range 10 {
		movers.Go(func() { clock.Advance(time.Minute) })
	}
	movers.Wait()

	if want := embeddedtest.Start.Add(10 * time.Minute); !clock.Now().Equal(want) {
		t.Errorf("the clock shows %v, want %v", clock.Now(), want)
	}

	leapDay := time.Date(2028, 2, 29, 0, 0, 0, 1, time.UTC)
	clock.Set(leapDay)
	clock.Advance(-time.Nanosecond)

	if want := leapDay.Add(-time.Nanosecond); !clock.Now().Equal(want) {
		t.Errorf("the clock shows %v, want %v", clock.Now(), want)
	}
}

func TestTheEngineOfATestKeepsItsTimers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		engine := embeddedtest.Open(t)
		embeddedtest.Run(t, engine)
		db := dynamodb.NewFromConfig(engine.AWSConfig())
		embeddedtest.Create(t, db, countersTable)

		if _, err := db.UpdateTimeToLive(t.Context(), &dynamodb.UpdateTimeToLiveInput{
			TableName:               aws.String("counters"),
			TimeToLiveSpecification: &types.TimeToLiveSpecification{AttributeName: aws.String("ttl"), Enabled: aws.Bool(true)},
		}); err != nil {
			t.Fatal(err)
		}

		if _, err := db.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: aws.String("counters"), Item: item{
			"id":  &types.AttributeValueMemberS{Value: "old"},
			"ttl": &types.AttributeValueMemberN{Value: fmt.Sprint(time.Now().Add(time.Hour).Unix())},
		}}); err != nil {
			t.Fatal(err)
		}

		for hours, want := range []int32{1, 0} {
			out, err := db.Scan(t.Context(), &dynamodb.ScanInput{TableName: aws.String("counters")})
			if err != nil || out.Count != want {
				t.Errorf("after %d hours: %d items, error %v, want %d", 2*hours, out.Count, err, want)
			}
			time.Sleep(2 * time.Hour)
		}
	})
}
