package activities

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sfn"
)

// Client is what this package calls of Step Functions. *sfn.Client is one; a caller may
// wrap it. The options that the package passes turn the SDK's own retries off, because
// the package retries each call by rules of its own.
type Client interface {
	GetActivityTask(context.Context, *sfn.GetActivityTaskInput, ...func(*sfn.Options)) (*sfn.GetActivityTaskOutput, error)
	SendTaskSuccess(context.Context, *sfn.SendTaskSuccessInput, ...func(*sfn.Options)) (*sfn.SendTaskSuccessOutput, error)
	SendTaskFailure(context.Context, *sfn.SendTaskFailureInput, ...func(*sfn.Options)) (*sfn.SendTaskFailureOutput, error)
	SendTaskHeartbeat(context.Context, *sfn.SendTaskHeartbeatInput, ...func(*sfn.Options)) (*sfn.SendTaskHeartbeatOutput, error)
}

// withoutRetries turns the SDK's retries off.
func withoutRetries(o *sfn.Options) { o.Retryer = aws.NopRetryer{} }
