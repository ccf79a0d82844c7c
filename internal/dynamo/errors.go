package dynamo

import (
	"context"
	"errors"
	"net/http"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"
	smithyhttp "github.com/aws/smithy-go/transport/http"
)

// FailedCondition reports whether err says that the condition of a single write failed. It returns
// the item that failed the condition. The item is nil if it does not exist, or if the call did not
// ask for it with ReturnValuesOnConditionCheckFailure: ALL_OLD.
func FailedCondition(err error) (old Item, failed bool) {
	var failure *types.ConditionalCheckFailedException
	if !errors.As(err, &failure) {
		return nil, false
	}

	return failure.Item, true
}

// FailedPart is FailedCondition for the part of a transaction with this index, from 0.
func FailedPart(err error, index int) (old Item, failed bool) {
	var canceled *types.TransactionCanceledException
	if !errors.As(err, &canceled) || index >= len(canceled.CancellationReasons) {
		return nil, false
	}
	reason := canceled.CancellationReasons[index]

	return reason.Item, aws.ToString(reason.Code) == conditionFailed
}

const conditionFailed = "ConditionalCheckFailed"

// InTheWay returns the codes for which a transaction was canceled if no condition has failed, nil otherwise: another
// write was in its way, or it was throttled. It has written nothing. The SDK does not send it again.
func InTheWay(err error) (codes []string) {
	var canceled *types.TransactionCanceledException
	if !errors.As(err, &canceled) {
		return nil
	}

	for _, r := range canceled.CancellationReasons {
		switch code := aws.ToString(r.Code); code {
		case "", "None":
		case conditionFailed:
			return nil
		default:
			codes = append(codes, code)
		}
	}

	return codes
}

var retryables = retry.IsErrorRetryables(retry.DefaultRetryables)

// Retryable reports whether the same call may succeed when it is sent again: throttling, timeouts,
// lost connections, server faults, and a conflict with a transaction, which the SDK does not retry
// by itself.
func Retryable(err error) bool {
	var conflict *types.TransactionConflictException

	return errors.As(err, &conflict) || retryables.IsErrorRetryable(err).Bool()
}

var throttles = retry.IsErrorThrottles(retry.DefaultThrottles)

// Throttled reports whether DynamoDB has refused the call for lack of capacity. It has written nothing.
func Throttled(err error) bool {
	return throttles.IsErrorThrottle(err).Bool() || slices.ContainsFunc(InTheWay(err), isThrottle)
}

// isThrottle is about the codes of InTheWay.
func isThrottle(code string) bool {
	return code == "ThrottlingError" || code == "ProvisionedThroughputExceeded"
}

// OutcomeUnknown reports whether a write that ended in err may have been made, or may still be
// made: there was no answer, or the answer reports a fault of the service. Throttling, a conflict
// with a transaction and every other refusal are answers: that attempt has written nothing. The
// call must be sent without the SDK's own retries ([WithoutRetries]), because they report only the
// error of their last attempt.
func OutcomeUnknown(ctx context.Context, err error) bool {
	if err == nil || DiskFull(err) {
		return false
	}

	var api smithy.APIError
	if errors.As(err, &api) {
		_, timeout := retry.DefaultRetryableErrorCodes[api.ErrorCode()]

		return timeout || api.ErrorFault() == smithy.FaultServer || statusOf(err) >= http.StatusInternalServerError
	}

	// An answer whose body could not be read is no answer, unless its status is a refusal.
	if status := statusOf(err); status != 0 {
		return status < http.StatusBadRequest || status >= http.StatusInternalServerError
	}

	// The SDK marks every error that follows the sending of the request. Without this mark, it has
	// sent nothing: the credentials or the endpoint are missing.
	var (
		ofSDK    *smithy.OperationError
		sent     *smithyhttp.RequestSendError
		canceled *smithy.CanceledError
	)
	if errors.As(err, &ofSDK) && !errors.As(err, &sent) && !errors.As(err, &canceled) {
		return ctx.Err() != nil
	}

	return true
}

// DiskFull reports whether the embedded engine has refused a write, because its disk is full. Nothing was written, and the
// same call may succeed when there is room.
func DiskFull(err error) bool { return statusOf(err) == http.StatusInsufficientStorage }

// statusOf returns the HTTP status of the answer in err, 0 without an answer.
func statusOf(err error) int {
	var answer *smithyhttp.ResponseError
	if !errors.As(err, &answer) || answer.Response == nil || answer.Response.Response == nil {
		return 0
	}

	return answer.HTTPStatusCode()
}
