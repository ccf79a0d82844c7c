package embeddedtest

import (
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/ratelimit"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
)

// RetryAtOnce returns the SDK's standard retryer, with its three attempts, but without waits and
// without its limit on the retries of many calls. It has the form of aws.Config.Retryer:
//
//	cfg.Retryer = embeddedtest.RetryAtOnce
func RetryAtOnce() aws.Retryer {
	return retry.NewStandard(func(o *retry.StandardOptions) {
		o.RateLimiter = ratelimit.None
		o.Backoff = retry.BackoffDelayerFunc(func(int, error) (time.Duration, error) { return 0, nil })
	})
}

// NoRetries sends every call once. It has the form of aws.Config.Retryer.
func NoRetries() aws.Retryer { return aws.NopRetryer{} }
