package once

import (
	"errors"
	"fmt"
	"net/http"
	"time"

	awsmiddleware "github.com/aws/aws-sdk-go-v2/aws/middleware"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/smithy-go/middleware"
)

// The service tells its time to the second in the Date header of every answer. An
// endpoint that does not send one leaves the clocks unmeasured. An answer that was long
// on its way looks like a clock that is ahead: a takeover is then refused, and tried
// again by whoever wants the key.
const granularity = time.Second

// ahead is how far this caller's clock is ahead of the service's, negative when it is
// behind, and 0 when the answer cannot tell the difference.
func (c *Claims) ahead(m middleware.Metadata) time.Duration {
	service, ok := awsmiddleware.GetServerTime(m)
	if !ok {
		return 0
	}

	return offset(c.cfg.Now(), service)
}

func (c *Claims) aheadOf(err error) time.Duration {
	var answer *awshttp.ResponseError
	if !errors.As(err, &answer) || answer.Response == nil {
		return 0
	}

	service, err := http.ParseTime(answer.Response.Header.Get("Date"))
	if err != nil {
		return 0
	}

	return offset(c.cfg.Now(), service)
}

func tooFarAhead(ahead, margin time.Duration) error {
	return fmt.Errorf("%w: %s ahead, at most %s", ErrClockSkew, ahead, margin)
}

// offset compares a clock with a Date, which stands for the second that it begins.
func offset(now, date time.Time) time.Duration {
	switch d := now.Sub(date); {
	case d < 0:
		return d
	case d > granularity:
		return d - granularity
	}

	return 0
}
