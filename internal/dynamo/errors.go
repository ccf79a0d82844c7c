package dynamo

import (
	"context"
	"errors"

	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
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

var retryables = retry.IsErrorRetryables(retry.DefaultRetryables)

// Retryable reports whether the same call may succeed when it is sent again: throttling, timeouts,
// lost connections, server faults, and a conflict with a transaction, which the SDK does not retry
// by itself.
func Retryable(err error) bool {
	var conflict *types.TransactionConflictException

	return errors.As(err, &conflict) || retryables.IsErrorRetryable(err).Bool()
}

// OutcomeUnknown reports whether a write that ended in err may have been applied, or may still be
// applied: every retryable error, and any error at all once ctx has ended, because the request may
// have been sent before.
func OutcomeUnknown(ctx context.Context, err error) bool {
	// A canceled request can end in any error of the transport, so after ctx's end the error itself
	// proves nothing.
	return err != nil && (ctx.Err() != nil || Retryable(err))
}
