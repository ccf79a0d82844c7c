package stepfunctions

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"ratchet/embedded/internal/stepfunctions/arns"
	"ratchet/embedded/internal/stepfunctions/execution"
	"ratchet/embedded/internal/stepfunctions/rawjson"
	"ratchet/embedded/internal/stepfunctions/requests"
	"ratchet/embedded/internal/stepfunctions/waiting"
	"ratchet/embedded/internal/wire"
)

// callers is how many calls of other services run at the same time. functionsAtATime is how many functions
// of the embedding program do. Further ones wait.
// Source: https://docs.aws.amazon.com/lambda/latest/dg/gettingstarted-limits.html
const (
	callers          = 32
	functionsAtATime = 1000
)

// runCalls makes the calls of other services that tasks wait for, until ctx ends. A call
// that a crash interrupts is made again, as on AWS: a service integration runs at least
// once.
func (s *Service) runCalls(ctx context.Context) error {
	g, ctx := errgroup.WithContext(ctx)
	for range callers {
		g.Go(func() error {
			for s.takeCall(ctx, s.queues.Of(execution.CallQueue), s.makeCall) {
			}

			return nil
		})
	}

	// Functions have slots of their own: a function may wait for other
	// executions, whose calls must not wait for it.
	places := make(chan struct{}, functionsAtATime)
	begin := func(ctx context.Context, q *waiting.Queue, task waiting.Placed) {
		g.Go(func() error {
			s.makeCall(ctx, q, task)
			<-places

			return nil
		})
	}

	g.Go(func() error {
		// The slot is taken before the task, so that a task stays in its queue, where a timeout can remove
		// it, while all slots are in use.
		for {
			select {
			case places <- struct{}{}:
			case <-ctx.Done():
				return nil
			}

			if !s.takeCall(ctx, s.queues.Of(execution.FunctionQueue), begin) {
				return nil
			}
		}
	})

	return g.Wait()
}

// takeCall waits for a task, and for room on the disk, and passes it on. It returns false if ctx ends.
func (s *Service) takeCall(ctx context.Context, q *waiting.Queue, pass func(context.Context, *waiting.Queue, waiting.Placed)) bool {
	task, ok := q.Take(ctx)
	if !ok {
		return false
	}

	// The queue is memory only, so the task goes back for a later Run of this service.
	if !s.waitForRoom(ctx) {
		q.Put(task)
		return false
	}

	pass(ctx, q, task)

	return true
}

// retryCall puts back a task whose call could not be made or whose answer could not be stored.
func (s *Service) retryCall(ctx context.Context, q *waiting.Queue, task waiting.Placed, err error) {
	if ctx.Err() == nil {
		s.log.Error("step functions: service integration", "machine", task.Execution.Machine,
			"execution", task.Execution.ID, "error", err)

		// Without the wait, a lasting fault would make this loop busy.
		select {
		case <-ctx.Done():
		case <-time.After(timerRetry):
		}
	}

	q.Put(task)
}

// call returns the call that a task waits for.
func (s *Service) call(ctx context.Context, task waiting.Placed) (call execution.Call, err error) {
	// No turn is returned: this stimulus reads the state under the lock and stores nothing.
	_, err = s.stimulate(ctx, task.Execution, func(env *execution.Env, st *execution.State) (_ *execution.Turn, err error) {
		call, err = env.Call(st, task.Thread, task.Attempt)
		return nil, err
	})

	return call, err
}

// makeCall makes the call of one task and applies its answer. If the answer cannot be stored, the task
// goes back into the queue and the call is made again.
func (s *Service) makeCall(ctx context.Context, q *waiting.Queue, task waiting.Placed) {
	call, err := s.call(ctx, task)
	if err == nil {
		output, refused := s.callService(ctx, call, startName(task.Task))

		// The end of ctx interrupts a call with an error, which is not the service's answer.
		err = ctx.Err()
		if err == nil {
			err = s.storeAnswer(ctx, task, output, refused)
		}
	}

	if errors.Is(err, execution.ErrNotScheduled) || errors.Is(err, requests.ErrNoExecution) {
		return // the task was over before its call was answered
	}

	if err != nil {
		s.retryCall(ctx, q, task, err)
	}
}

func (s *Service) storeAnswer(ctx context.Context, task waiting.Placed, output []byte, refused *execution.CallFailure) error {
	batch, err := s.stimulate(ctx, task.Execution, func(env *execution.Env, st *execution.State) (*execution.Turn, error) {
		return env.Called(st, task.Thread, task.Attempt, output, refused)
	})

	return errors.Join(err, syncBatch(batch))
}

// startName returns the name of an execution that a task starts without a name. A repeated call
// finds the execution of the first call under it.
func startName(t waiting.Task) string {
	return fmt.Sprintf("task-%d-%d-%d-%d", t.Execution.Machine, t.Execution.ID, t.Thread, t.Attempt)
}

// callService makes a call and returns its answer as the task sees it. An execution that the
// call starts without a name gets the name.
func (s *Service) callService(ctx context.Context, call execution.Call, name string) ([]byte, *execution.CallFailure) {
	// Step Functions is not among Config.Services: it does not exist yet when the Config is made.
	operations := s.cfg.Services[call.Service].Operations
	if ownService(call) {
		operations = s.operations
	}

	operation, ok := operations[call.Operation]
	if !ok {
		return nil, &execution.CallFailure{
			Name:  "States.Runtime",
			Cause: fmt.Sprintf("%s has no operation %s in the embedded engine", call.Service, call.Operation),
		}
	}

	if ownService(call) {
		operation = s.ownOperation(call, operation, name)
	}

	body, err := s.callBody(call)
	if err != nil {
		return nil, &execution.CallFailure{Name: "States.Runtime", Cause: err.Error()}
	}

	answer, err := operation(ctx, body)
	if err != nil {
		return nil, s.refusal(call, err)
	}

	// Text that is JSON already is passed on as it is: json.Marshal would compact it.
	raw, ok := answer.(json.RawMessage)
	if !ok {
		if raw, err = json.Marshal(answer); err != nil {
			return nil, s.refusal(call, err)
		}
	}

	// A function's ARN as the Resource returns the payload only, lambda:invoke the whole answer.
	if call.Function != "" {
		raw, _ = rawjson.Member(raw, "Payload")
	}

	return raw, nil
}

// errorNames are the prefix of a service's errors, the name of an error without a type of its
// own, and the name of the service in a cause by the first AWS SDK for Java.
type errorNames struct{ prefix, general, first string }

// sdkErrors are the names in AWS SDK integrations, optimizedErrors the names in optimized integrations.
// Optimized integrations, and functions by their ARN, go through the first SDK.
// Sources: https://docs.aws.amazon.com/step-functions/latest/dg/supported-services-awssdk.html;
// LocalStack's recordings of AWS (test_task_service_dynamodb, test_task_service_sqs,
// test_task_service_sfn, test_task_service_lambda, test_aws_sdk, test_sfn_send_task_outcome_with_no_such_token).
var (
	sdkErrors = map[string]errorNames{
		"dynamodb": {prefix: "DynamoDb", general: "DynamoDbException"},
		"sqs":      {prefix: "Sqs", general: "SqsException"},
		"sfn":      {prefix: "Sfn", general: "SfnException"},
	}
	optimizedErrors = map[string]errorNames{
		"dynamodb": {prefix: "DynamoDB", general: "AmazonDynamoDBException", first: "AmazonDynamoDBv2"},
		"sqs":      {prefix: "SQS", general: "AmazonSQSException", first: "AmazonSQS"},
		"lambda":   {prefix: "Lambda", general: "AWSLambdaException", first: "AWSLambda"},
		"states":   {prefix: "StepFunctions", general: "AWSStepFunctionsException", first: "AWSStepFunctions"},
	}
)

// cause words a refusal as the SDK of the integration does. The ID of the request is made up: the call went
// through no SDK.
// Source: LocalStack's recordings of AWS, in the tests named above
func (n errorNames) cause(e *wire.Error, sdk bool) string {
	var random [16]byte
	_, _ = rand.Read(random[:]) // it never fails

	id, status := arns.UUID(random[:]), cmp.Or(e.Status, 400)
	switch {
	case n.first != "":
		const cause = "%s (Service: %s; Status Code: %d; Error Code: %s; Request ID: %s; Proxy: null)"

		return fmt.Sprintf(cause, e.Message, n.first, status, cmp.Or(queryCodes[e.Type], e.Type), id)
	case sdk:
		return fmt.Sprintf("%s (Service: %s, Status Code: %d, Request ID: %s) (SDK Attempt Count: 1)", e.Message, n.prefix, status, id)
	default:
		return fmt.Sprintf("%s (Service: %s, Status Code: %d, Request ID: %s)", e.Message, n.prefix, status, id)
	}
}

// untyped are the errors for which the SDK has no type: it reports the service's general one.
var untyped = map[string]bool{"ValidationException": true, "SerializationException": true, "UnknownOperationException": true}

// queryCodes are the codes of errors of SQS for which the first SDK has no type.
// Source: LocalStack's recordings of AWS (test_send_message_empty_body).
var queryCodes = map[string]string{
	"MissingParameterException":      "MissingParameter",
	"InvalidParameterValueException": "InvalidParameterValue",
}

// refusal names an error of a call as the service does.
func (s *Service) refusal(call execution.Call, err error) *execution.CallFailure {
	names := optimizedErrors[call.Service]
	if call.SDK {
		names = sdkErrors[call.Service]
	}

	// An error of a function's own has the name that the function gives it, without a service's prefix.
	if own := (*functionError)(nil); errors.As(err, &own) {
		return own.failure()
	}

	if lost, ok := errors.AsType[*wire.Broken](err); ok {
		return &execution.CallFailure{Name: names.prefix + ".SdkClientException", Cause: lost.Error()}
	}

	var e *wire.Error
	// Not an answer of the API but a fault of the engine: its text goes to the log, not into the history.
	if !errors.As(err, &e) {
		s.log.Error("step functions: service integration", "service", call.Service, "operation", call.Operation, "error", err)
		e = &wire.Error{Type: s.cfg.Services[call.Service].InternalError, Status: 500, Message: "the embedded engine failed; its log has the cause"}
	}

	name := e.Type
	if untyped[name] || names.first != "" && queryCodes[name] != "" {
		name = names.general
	}

	if ownService(call) && !strings.HasSuffix(name, "Exception") {
		name += "Exception" // as the SDK's class is called
	}

	return &execution.CallFailure{
		Name:  names.prefix + "." + name,
		Cause: names.cause(e, call.SDK),
	}
}

// callBody returns the request of a call. The optimized integration of SQS takes any JSON as the message
// body and sends it as text.
func (s *Service) callBody(call execution.Call) ([]byte, error) {
	if call.Service == "lambda" {
		return s.invocation(call), nil
	}

	if call.SDK || call.Service != "sqs" {
		return call.Parameters, nil
	}

	var members map[string]json.RawMessage
	if err := json.Unmarshal(call.Parameters, &members); err != nil {
		return nil, fmt.Errorf("read the parameters: %w", err)
	}

	// A body that is a string is sent as it is: encoding it again would send its quotes, too.
	if body := members["MessageBody"]; len(body) > 0 && body[0] != '"' && rawjson.KindOf(body) != rawjson.Null {
		text, err := json.Marshal(string(body))
		if err != nil {
			return nil, err
		}

		members["MessageBody"] = text
	}

	return json.Marshal(members)
}
