package dynamo_test

import (
	"context"
	"errors"
	"net/http"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/smithy-go/middleware"
	smithyhttp "github.com/aws/smithy-go/transport/http"

	"ratchet/embedded/embeddedtest"
	"ratchet/internal/dynamo"
)

// twoClocks are the clock of the service and the clock of a machine, which is ahead of the service's.
type twoClocks struct {
	service time.Time
	ahead   time.Duration
	dynamo.Clock
}

func newTwoClocks(ahead time.Duration) *twoClocks {
	c := &twoClocks{service: time.Date(2026, 11, 26, 12, 0, 0, 999e6, time.UTC), ahead: ahead}
	c.Local = func() time.Time { return c.service.Add(c.ahead) }

	return c
}

// call makes a call that takes 2*d, and is answered in the middle.
func (c *twoClocks) call(d time.Duration) {
	began := c.LocalNow()
	c.service = c.service.Add(d)

	date := c.service.Truncate(time.Second)

	c.service = c.service.Add(d)
	c.Hear(began, middleware.Metadata{}, statedAt(date))
}

// statedAt is an answer with the Date.
func statedAt(date time.Time) error {
	return &awshttp.ResponseError{ResponseError: &smithyhttp.ResponseError{
		Response: &smithyhttp.Response{Response: &http.Response{
			StatusCode: http.StatusBadRequest,
			Header:     http.Header{"Date": {date.Format(http.TimeFormat)}},
		}},
		Err: errors.New("the service's error"),
	}}
}

func TestTheClockTellsTheTimeOfTheService(t *testing.T) {
	for _, ahead := range []time.Duration{0, 400 * time.Millisecond, -900 * time.Millisecond} {
		c := newTwoClocks(ahead)
		for range 20 {
			c.call(time.Millisecond)
		}

		if got := c.Ahead().Abs(); got > ahead.Abs() {
			t.Errorf("%s ahead: corrected by %s, beyond the difference", ahead, got)
		}
	}

	for _, ahead := range []time.Duration{3 * time.Hour, -3 * time.Hour, 5 * time.Second, -2 * time.Second} {
		c := newTwoClocks(ahead)
		c.call(10 * time.Millisecond)

		if off := c.Now().Sub(c.service).Abs(); off > 1100*time.Millisecond {
			t.Errorf("%s ahead: %s off", ahead, off)
		}

		// Answers at different moments of a second tighten the bounds.
		for range 40 {
			c.call(13 * time.Millisecond)
		}

		if off := c.Now().Sub(c.service).Abs(); off > 50*time.Millisecond {
			t.Errorf("%s ahead: %s off after a second of answers", ahead, off)
		}

		if local := c.LocalNow(); !c.LocalAt(c.Service(local)).Equal(local) {
			t.Error("LocalAt is the inverse of Service")
		}
	}
}

func TestASlowAnswerProvesLittle(t *testing.T) {
	c := newTwoClocks(time.Minute)
	c.call(time.Hour)

	if got := c.Ahead(); got != 0 {
		t.Errorf("%s: the answer may have been given at any time of two hours", got)
	}
	c.call(time.Millisecond)

	if off := (c.Ahead() - time.Minute).Abs(); off > 1100*time.Millisecond {
		t.Errorf("%s off", off)
	}
}

func TestAClockThatIsSetIsNoticed(t *testing.T) {
	c := newTwoClocks(0)
	c.call(time.Millisecond)

	for _, ahead := range []time.Duration{-time.Hour, time.Hour, 0} {
		c.ahead = ahead
		c.call(time.Millisecond)

		if off := (c.Ahead() - ahead).Abs(); off > 1100*time.Millisecond {
			t.Errorf("%s ahead: %s off", ahead, off)
		}
	}
}

// dated states the time of the machine in every answer.
type dated struct{ aws.HTTPClient }

func (d dated) Do(r *http.Request) (*http.Response, error) {
	response, err := d.HTTPClient.Do(r)
	if err == nil {
		response.Header.Set("Date", time.Now().UTC().Format(http.TimeFormat))
	}

	return response, err
}

// A success states its time in its metadata, which only the SDK can make.
func TestASuccessStatesTheTimeToo(t *testing.T) {
	cfg := embeddedtest.Open(t).AWSConfig()
	cfg.HTTPClient = dated{cfg.HTTPClient}
	cfg.APIOptions = nil // the steps that an engine in the same process leaves out read the Date
	c := &dynamo.Clock{Local: func() time.Time { return time.Now().Add(time.Hour) }}

	began := c.LocalNow()

	out, err := dynamodb.NewFromConfig(cfg).ListTables(t.Context(), &dynamodb.ListTablesInput{})
	if err != nil {
		t.Fatal(err)
	}
	c.Hear(began, out.ResultMetadata, err)

	if off := (c.Ahead() - time.Hour).Abs(); off > 2*time.Second {
		t.Errorf("%s off", off)
	}
}

func TestTheClockLearnsBeforeAWriteThatCannotBeTakenBack(t *testing.T) {
	c := newTwoClocks(time.Hour)
	reads := 0
	learn := func(read func()) error {
		return c.Learn(t.Context(), func(context.Context) error {
			reads++

			if read == nil {
				return http.ErrHandlerTimeout
			}
			read()

			return nil
		})
	}

	if err := learn(nil); !errors.Is(err, http.ErrHandlerTimeout) || reads != 1 {
		t.Errorf("a read that fails: %v, %d reads", err, reads)
	}

	if err := learn(func() { c.call(time.Millisecond) }); err != nil || reads != 2 || c.Ahead() == 0 {
		t.Errorf("%v, %d reads", err, reads)
	}

	if err := learn(nil); err != nil || reads != 2 {
		t.Errorf("a clock that has heard needs no read: %v, %d reads", err, reads)
	}

	silent := &dynamo.Clock{}
	for range 2 {
		if err := silent.Learn(t.Context(), func(context.Context) error { reads++; return nil }); err != nil {
			t.Fatal(err)
		}
	}

	if reads != 3 {
		t.Errorf("an endpoint without a Date is asked once: %d reads", reads-2)
	}
}

// What an answer has proved ends when the clock is set: the next write that cannot be taken back is preceded
// by another read.
func TestTheClockLearnsAgainAfterItWasSet(t *testing.T) {
	var ahead time.Duration
	c := &dynamo.Clock{Local: func() time.Time { return time.Now().Add(ahead) }}
	reads := 0
	learn := func() {
		if err := c.Learn(t.Context(), func(context.Context) error {
			reads++
			c.Hear(c.LocalNow(), middleware.Metadata{}, statedAt(time.Now().Truncate(time.Second)))

			return nil
		}); err != nil {
			t.Fatal(err)
		}
	}

	for n, set := range []time.Duration{7 * time.Hour, -5 * time.Hour, 0} {
		ahead = set
		learn()
		learn()

		if off := time.Until(c.Now()).Abs(); reads != n+1 || off > time.Minute {
			t.Errorf("set to %s: %d reads, want %d; the clock is off by %s", ahead, reads, n+1, off)
		}
	}
}
