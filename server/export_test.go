package server

import (
	"context"
	"errors"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/ratelimit"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/aws-sdk-go-v2/credentials"

	"ratchet/embedded/embeddedtest"
	"ratchet/operate/doctor"
	"ratchet/shipping"
)

// ApplyCarrierReport gives a report of the carrier to the backend.
func (b *Backend) ApplyCarrierReport(ctx context.Context, report shipping.Report) (shipping.Answer, error) {
	return b.Reports.Take(ctx, report)
}

// Process returns a Backend on the same engine, as another process would have one on AWS, and
// the transport that all of its calls go through. It has nothing to close.
func (b *Backend) Process() (*Backend, *embeddedtest.Transport, error) {
	clients := b.Engine.AWSConfig()
	wire := embeddedtest.Intercept(&clients)

	seen, err := observe(b.Config, b.log)
	if err != nil {
		return nil, nil, err
	}

	process, err := assemble(b.Config, clients, b.Engine, seen, Events{})

	return process, wire, err
}

// OnAWS returns a Backend that takes the server behind client for AWS. It has nothing to close.
func (b *Backend) OnAWS(client aws.HTTPClient) (*Backend, error) {
	cfg := b.Config
	cfg.Bank, cfg.Carrier = Sandbox, Sandbox

	seen, err := observe(cfg, b.log)
	if err != nil {
		return nil, err
	}

	return assemble(cfg, aws.Config{
		Region:      "us-east-1",
		Credentials: credentials.NewStaticCredentialsProvider("key", "secret", ""),
		HTTPClient:  client,
		Retryer: func() aws.Retryer {
			return retry.NewStandard(func(o *retry.StandardOptions) {
				o.Backoff = retry.BackoffDelayerFunc(func(int, error) (time.Duration, error) { return 0, nil })
				o.RateLimiter = ratelimit.None
			})
		},
	}, nil, seen, Events{})
}

// NeededAlarms returns the alarms that the doctor looks for on AWS.
func (b *Backend) NeededAlarms() ([]doctor.Alarm, error) { return b.neededAlarms() }

// SweepAll sweeps everything once that a worker sweeps.
func (b *Backend) SweepAll(ctx context.Context) error {
	var faults []error

	for _, sweeps := range b.sweeps() {
		for _, sweep := range sweeps {
			faults = append(faults, sweep(ctx))
		}
	}

	return errors.Join(faults...)
}

// RefusePayments stands before the API if there is no bank.
var RefusePayments = refusePayments

// SurveyStuck is a loop that a worker runs beside its other loops.
func (b *Backend) SurveyStuck(ctx context.Context) error { return b.surveyStuck(ctx) }

const PaymentCapture = paymentCapture
