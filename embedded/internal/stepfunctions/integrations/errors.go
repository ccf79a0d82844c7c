package integrations

import (
	"cmp"
	"crypto/rand"
	"errors"
	"fmt"
	"strings"

	"ratchet/embedded/internal/stepfunctions/arns"
	"ratchet/embedded/internal/stepfunctions/execution"
	"ratchet/embedded/internal/stepfunctions/lambda"
	"ratchet/embedded/internal/wire"
)

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
	"MissingRequiredParameterException": "MissingParameter",
	"InvalidParameterValueException":    "InvalidParameterValue",
}

// Refusal names an error of a call as the service does.
func (c *Caller) Refusal(call execution.Call, err error) *execution.CallFailure {
	names := optimizedErrors[call.Service]
	if call.SDK {
		names = sdkErrors[call.Service]
	}

	// An error of a function's own has the name that the function gives it, without a service's prefix.
	if own := (*lambda.Error)(nil); errors.As(err, &own) {
		return own.Failure()
	}

	if lost, ok := errors.AsType[*wire.Broken](err); ok {
		return &execution.CallFailure{Name: names.prefix + ".SdkClientException", Cause: lost.Error()}
	}

	var e *wire.Error
	// Not an answer of the API but a fault of the engine: its text goes to the log, not into the history.
	if !errors.As(err, &e) {
		c.Log.Error("step functions: service integration", "service", call.Service, "operation", call.Operation, "error", err)
		e = &wire.Error{Type: c.Services[call.Service].InternalError, Status: 500, Message: "the embedded engine failed; its log has the cause"}
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
