package dynamo_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"testing"

	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"
	smithyhttp "github.com/aws/smithy-go/transport/http"

	"ratchet/internal/dynamo"
)

func TestFailedConditionReturnsTheItem(t *testing.T) {
	item := dynamo.Item{"id": dynamo.S("a")}
	for _, test := range []struct {
		about  string
		err    error
		failed bool
		item   bool
	}{
		{about: "no error", err: nil},
		{about: "another error", err: io.ErrUnexpectedEOF},
		{about: "a failed condition", err: fmt.Errorf("write: %w", &types.ConditionalCheckFailedException{Item: item}), failed: true, item: true},
		{about: "a failed condition on an absent item", err: &types.ConditionalCheckFailedException{}, failed: true},
		{about: "a canceled transaction is another matter", err: &types.TransactionCanceledException{}},
	} {
		old, failed := dynamo.FailedCondition(test.err)
		if failed != test.failed || (old != nil) != test.item {
			t.Errorf("%s: %v %t", test.about, old, failed)
		}
	}
}

// answered is an error as the SDK returns it for an answer with the status.
func answered(status int) error {
	return &awshttp.ResponseError{ResponseError: &smithyhttp.ResponseError{
		Response: &smithyhttp.Response{Response: &http.Response{StatusCode: status}},
		Err:      errors.New("the service's error"),
	}}
}

func ofSDK(err error) error {
	return &smithy.OperationError{ServiceID: "DynamoDB", OperationName: "UpdateItem", Err: err}
}

func TestOnlyAnAmbiguousErrorLeavesTheOutcomeUnknown(t *testing.T) {
	ended, cancel := context.WithCancel(t.Context())
	cancel()

	for _, test := range []struct {
		about              string
		err                error
		retryable, unknown bool
	}{
		{about: "a connection that broke", err: io.ErrUnexpectedEOF, unknown: true},
		{about: "a connection that broke, as the SDK says it", err: ofSDK(&smithyhttp.RequestSendError{Err: io.ErrUnexpectedEOF}), retryable: true, unknown: true},
		{about: "credentials that are missing", err: ofSDK(errors.New("get identity: no credentials"))},
		{about: "an answer that was cut off", err: ofSDK(answered(http.StatusOK)), unknown: true},
		{about: "a request that was canceled", err: ofSDK(&smithy.CanceledError{Err: context.Canceled}), unknown: true},
		{about: "throttling", err: &types.ProvisionedThroughputExceededException{}, retryable: true},
		{about: "a transaction on the same item", err: &types.TransactionConflictException{}, retryable: true},
		{about: "a fault of the service", err: answered(http.StatusInternalServerError), retryable: true, unknown: true},
		{about: "a fault of the service by its name", err: &types.InternalServerError{}, unknown: true},
		{about: "a timeout that the service reports", err: &smithy.GenericAPIError{Code: "RequestTimeout"}, retryable: true, unknown: true},
		{about: "a request that the service refuses", err: answered(http.StatusBadRequest)},
		{about: "a missing permission", err: &smithy.GenericAPIError{Code: "AccessDeniedException"}},
		{about: "a failed condition", err: &types.ConditionalCheckFailedException{}},
	} {
		if got := dynamo.Retryable(test.err); got != test.retryable {
			t.Errorf("%s: Retryable = %t", test.about, got)
		}

		if got := dynamo.OutcomeUnknown(t.Context(), test.err); got != test.unknown {
			t.Errorf("%s: OutcomeUnknown = %t", test.about, got)
		}
	}

	if !dynamo.OutcomeUnknown(ended, ofSDK(context.Canceled)) {
		t.Error("the context has ended: the request may have left before")
	}

	if dynamo.Retryable(nil) || dynamo.OutcomeUnknown(ended, nil) {
		t.Error("a write without an error has a known outcome")
	}
}
