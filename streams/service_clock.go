package streams

import (
	"context"
	"sync/atomic"
	"time"

	awsmiddleware "github.com/aws/aws-sdk-go-v2/aws/middleware"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/smithy-go/middleware"
)

// clockSlack is the difference between the local clock and the service's clock up to which the
// local clock is used as it is. Smaller differences cannot be measured: the time in an answer has
// whole seconds, and an answer may arrive late.
const clockSlack = 5 * time.Second

// serviceClock tells the time by the clock of the service, which the service's answers contain. The
// clocks of workers may differ by any amount. So a time that is stored for other workers is the
// service's time, and so is a time that is compared with a time from the service or from another
// worker. Every heartbeat updates the difference. A process without heartbeats uses its own clock.
//
// The zero value, and nil, know of no difference.
type serviceClock struct {
	ahead atomic.Int64 // by how much the local clock is ahead, as a Duration
}

// hear notes the service's time in an answer that has just arrived, zero if the answer has none.
// began is when the call began. The answer to a call that took longer than clockSlack is ignored:
// the process may have been suspended.
func (c *serviceClock) hear(began, answered time.Time) {
	if c == nil || answered.IsZero() {
		return
	}

	// Wall clocks, because the monotonic one may stop while the machine sleeps.
	now := time.Now().Round(0)
	if now.Sub(began.Round(0)).Abs() > clockSlack {
		return
	}

	// A smaller change may come from the whole seconds of the answers.
	if ahead := now.Sub(answered); (ahead - c.difference()).Abs() > clockSlack {
		c.ahead.Store(int64(ahead))
	}
}

// listen is an option for a call of DynamoDB. The clock then hears the answer, even if the answer
// is an error.
func (c *serviceClock) listen(o *dynamodb.Options) {
	o.APIOptions = append(o.APIOptions, func(stack *middleware.Stack) error {
		// Initialize is the outermost step: the metadata of all retries and of errors passes it.
		return stack.Initialize.Add(middleware.InitializeMiddlewareFunc("StreamsServiceClock",
			func(ctx context.Context, in middleware.InitializeInput, next middleware.InitializeHandler) (middleware.InitializeOutput, middleware.Metadata, error) {
				began := time.Now()
				out, metadata, err := next.HandleInitialize(ctx, in)
				answered, _ := awsmiddleware.GetServerTime(metadata)
				c.hear(began, answered)

				return out, metadata, err
			}), middleware.After)
	})
}

func (c *serviceClock) difference() time.Duration {
	if c == nil {
		return 0
	}

	return time.Duration(c.ahead.Load())
}

// now returns the service's time. It has no monotonic reading if the clocks differ.
func (c *serviceClock) now() time.Time { return c.service(time.Now()) }

// since returns the time from t, a time of the service, until now.
func (c *serviceClock) since(t time.Time) time.Duration { return c.now().Sub(t) }

// service returns the service's time at a moment of the local clock, zero for zero.
func (c *serviceClock) service(local time.Time) time.Time {
	difference := c.difference()
	if local.IsZero() || difference == 0 {
		return local
	}

	return local.Round(0).Add(-difference)
}

// local returns the time of the local clock at a moment of the service's, zero for zero.
func (c *serviceClock) local(service time.Time) time.Time {
	if service.IsZero() {
		return service
	}

	return service.Add(c.difference())
}
