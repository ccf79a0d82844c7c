package dynamo

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"time"

	awsmiddleware "github.com/aws/aws-sdk-go-v2/aws/middleware"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/smithy-go/middleware"
)

// datePrecision is the precision of the Date header, which every answer of the service carries.
const datePrecision = time.Second

// Clock tells the time of the service. The clock of a machine may be wrong by any amount, so a time
// that others will compare, and a time that is compared with another machine's, is the service's.
//
// Each answer states the service's time in whole seconds. It also lies between the sending of the
// request and the arrival of the answer, so it bounds the difference of the clocks from both sides.
// The bounds of all answers together are tighter. While they allow that the clocks agree, the local
// time is used as it is. An answer that contradicts the bounds replaces them: one of the clocks was
// set, or they drift apart.
//
// It is safe for concurrent use. The zero value uses time.Now and has heard nothing; so does nil, for good.
type Clock struct {
	// Local is the clock of this machine; nil is time.Now.
	Local func() time.Time

	mu     sync.Mutex
	asked  bool          // Learn has made its call
	heard  bool          // the bounds are set
	lo, hi time.Duration // bounds of how far the local clock is ahead
	// When the newest answer came, by the local clock, and by the monotonic one.
	local, elapsed time.Time
}

// LocalNow returns the time of the machine's clock without its monotonic reading, for Hear.
func (c *Clock) LocalNow() time.Time {
	if c == nil || c.Local == nil {
		// The monotonic clock may stop while the machine sleeps.
		return time.Now().Round(0)
	}

	return c.Local().Round(0)
}

// Hear notes the time in an answer: in its metadata, or in err if the call has failed. The call
// began at the given LocalNow and has ended just now. An answer without a Date is ignored.
func (c *Clock) Hear(began time.Time, answer middleware.Metadata, err error) {
	if c == nil {
		return
	}

	date, found := awsmiddleware.GetServerTime(answer)
	if !found {
		date, found = dateOf(err)
	}

	if found {
		c.note(began, c.LocalNow(), date)
	}
}

// Listen is an option of a call: the clock hears its answer, also if that is an error.
func (c *Clock) Listen(o *dynamodb.Options) {
	o.APIOptions = append(o.APIOptions, func(stack *middleware.Stack) error {
		// Initialize is the outermost step: the metadata of all retries and of errors passes it.
		return stack.Initialize.Add(middleware.InitializeMiddlewareFunc("ServiceClock",
			func(ctx context.Context, in middleware.InitializeInput, next middleware.InitializeHandler) (middleware.InitializeOutput, middleware.Metadata, error) {
				began := c.LocalNow()
				out, answer, err := next.HandleInitialize(ctx, in)
				c.Hear(began, answer, err)

				return out, answer, err
			}), middleware.After)
	})
}

func (c *Clock) note(began, ended, date time.Time) {
	// The service answered in the second that begins at date, not before the call began and not after
	// it ended.
	lo, hi := began.Round(0).Sub(date)-datePrecision, ended.Sub(date)
	if hi < lo {
		return // the local clock was set back during the call
	}

	c.mu.Lock()
	defer c.mu.Unlock()

	if c.heard && lo <= c.hi && hi >= c.lo {
		lo, hi = max(lo, c.lo), min(hi, c.hi)
	}
	c.heard, c.lo, c.hi = true, lo, hi
	c.local, c.elapsed = ended, time.Now()
}

// dateOf returns the Date of the answer in err.
func dateOf(err error) (time.Time, bool) {
	var answer *awshttp.ResponseError
	if !errors.As(err, &answer) || answer.Response == nil {
		return time.Time{}, false
	}
	date, err := http.ParseTime(answer.Response.Header.Get("Date"))

	return date, err == nil
}

// Learn makes sure that the clock has heard the service before a time is used in a write that cannot
// be taken back. If no answer has stated the time so far, it calls read, which makes one cheap call and
// passes its answer to Hear. It does so again if the local clock was set since the newest answer, or the
// machine has slept. An endpoint that states no time is asked once, and is then believed to agree with the
// local clock.
func (c *Clock) Learn(ctx context.Context, read func(context.Context) error) error {
	if c.learned() {
		return nil
	}

	if err := read(ctx); err != nil {
		return err
	}

	c.mu.Lock()
	defer c.mu.Unlock()
	c.asked = true

	return nil
}

// LearnFrom is Learn by get, which reads the item with the key, whether there is one or not. Its answer has to
// pass Hear.
func (c *Clock) LearnFrom(
	ctx context.Context, get func(context.Context, *dynamodb.GetItemInput, ...func(*dynamodb.Options)) (*dynamodb.GetItemOutput, error),
	table string, key Item,
) error {
	return c.Learn(ctx, func(ctx context.Context) error {
		_, err := get(ctx, &dynamodb.GetItemInput{TableName: &table, Key: key})
		return err
	})
}

func (c *Clock) learned() bool {
	c.mu.Lock()
	defer c.mu.Unlock()

	if c.heard {
		return !c.wasSet()
	}

	return c.asked
}

// wasSet reports whether the local clock and the monotonic one disagree about how long ago the newest answer
// came. A clock without a monotonic reading is a test's.
func (c *Clock) wasSet() bool {
	now := time.Now()
	if c.Local != nil {
		now = c.Local()
	}

	wall := now.Round(0)
	if wall == now {
		return false
	}

	return (wall.Sub(c.local) - time.Since(c.elapsed)).Abs() > datePrecision
}

// Ahead returns how far the local clock is ahead of the service's: 0 if they may agree, negative if it
// is behind.
func (c *Clock) Ahead() time.Duration {
	if c == nil {
		return 0
	}

	c.mu.Lock()
	defer c.mu.Unlock()

	// The bound that is closer to zero: no answer is corrected by more than it proves.
	return max(c.lo, 0) + min(c.hi, 0)
}

// Now returns the service's time.
func (c *Clock) Now() time.Time { return c.Service(c.LocalNow()) }

// Since returns how long ago the service's time was t.
func (c *Clock) Since(t time.Time) time.Duration { return c.Now().Sub(t) }

// Service returns the service's time at a moment of the local clock, zero for zero.
func (c *Clock) Service(local time.Time) time.Time {
	if local.IsZero() {
		return local
	}

	return local.Add(-c.Ahead())
}

// LocalAt returns the time of the local clock at a moment of the service's, zero for zero.
func (c *Clock) LocalAt(service time.Time) time.Time {
	if service.IsZero() {
		return service
	}

	return service.Add(c.Ahead())
}
