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

// Every answer of the service carries its time in the Date header, with a precision of a
// second. Without the header the clocks are not compared. An answer that was delayed makes
// this caller's clock look ahead. A takeover is then refused, and the caller may retry.
const datePrecision = time.Second

// ahead returns how far this caller's clock is ahead of the service's. It is negative if
// the clock is behind, and 0 if the difference is too small to see.
func (c *Claims) ahead(m middleware.Metadata) time.Duration {
	service, ok := awsmiddleware.GetServerTime(m)
	if !ok {
		return 0
	}

	return offset(c.cfg.Now(), service)
}

// aheadOf is ahead for the answer in an error.
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

// offset returns how far now is ahead of a Date, which may stand for any moment of its
// second.
func offset(now, date time.Time) time.Duration {
	switch d := now.Sub(date); {
	case d < 0:
		return d
	case d > datePrecision:
		return d - datePrecision
	}

	return 0
}
