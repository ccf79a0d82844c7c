package server

import (
	"context"
	"fmt"
	"strings"

	"ratchet/executions"
	"ratchet/shipping"
	"ratchet/shipping/httpcarrier"
	"ratchet/shipping/reports"
	"ratchet/shipping/sandbox"
	"ratchet/shipping/sfncarrier"
	"ratchet/transitions"
)

// assembleShipping builds the carrier that the configuration names, the booker, and the desk that
// judges the carrier's reports.
func (b *Backend) assembleShipping() error {
	callbacks, err := callbackKeys("carrier-secret", b.Config.CarrierSecret)
	if err != nil {
		return err
	}

	cfg := reports.Config{
		DynamoDB:  b.DynamoDB,
		Table:     b.Tables.CarrierReports,
		Orders:    b.Orders,
		Locks:     b.Locks,
		Callbacks: callbacks,
		Log:       b.log,
	}

	carrier, err := b.newCarrier()
	if err != nil {
		return fmt.Errorf("carrier: %w", err)
	}

	if asker, can := carrier.(shipping.Asker); can && b.Carrier == nil {
		cfg.Asker = asker
	}

	if b.Reports, err = reports.New(cfg); err != nil {
		return err
	}

	b.Booker, err = shipping.New(shipping.Config{Claims: b.Claims, Carrier: carrier})

	return err
}

// newCarrier returns the carrier that the configuration names.
func (b *Backend) newCarrier() (shipping.Carrier, error) {
	if arn, execution := strings.CutPrefix(b.Config.Carrier, executionCarrier); execution {
		return sfncarrier.New(b.SFN, arn)
	}

	if b.Config.Carrier != CarrierSandbox {
		return httpcarrier.New(httpcarrier.Config{URL: b.Config.Carrier, Token: b.Config.CarrierToken})
	}

	var err error
	b.Carrier, err = sandbox.New(sandbox.Config{
		DynamoDB: b.DynamoDB,
		Table:    b.Tables.SandboxShipments,
		Delay:    b.Config.CarrierDelay,
		Deliver: func(ctx context.Context, r shipping.Report) (shipping.Answer, error) {
			return b.Reports.Take(ctx, r)
		},
		Faults: b.Config.CarrierFaults.faults(),
		Log:    b.log,
	})

	return b.Carrier, err
}

// RunCarrier runs the sandbox carrier until ctx ends. It only waits if another carrier is
// configured.
func (b *Backend) RunCarrier(ctx context.Context) error {
	if b.Carrier == nil {
		<-ctx.Done()
		return nil
	}

	return b.Carrier.Run(ctx)
}

// lostParcel returns the recorded report of a lost parcel of the order.
func (b *Backend) lostParcel(ctx context.Context, id transitions.OrderID) (lost executions.LostParcel, found bool, err error) {
	lock, found, err := b.Locks.Get(ctx, reports.LostKey(id))

	tracking := lock.Holder // another carrier's report has the tracking number in no known place
	if b.Carrier != nil {
		tracking = sandbox.Tracking(lock.Holder)
	}

	return executions.LostParcel{Tracking: tracking, Report: lock.Holder, At: lock.Since}, found, err
}
