package server

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"ratchet/operate/executions"
	"ratchet/shipping"
	"ratchet/shipping/httpcarrier"
	"ratchet/shipping/reports"
	"ratchet/shipping/sandbox"
	"ratchet/shipping/sfncarrier"
	"ratchet/transitions"
)

// assembleShipping builds the carrier that the configuration names, the booker, and the receiver of the
// carrier's reports.
func (b *Backend) assembleShipping() error {
	callbacks, err := callbackKeys("carrier-secret", b.Config.CarrierSecret)
	if err != nil {
		return err
	}

	cfg := reports.Config{
		DynamoDB:  b.DynamoDB,
		Table:     b.Tables.CarrierReports,
		Orders:    b.Orders,
		Payments:  b.Payments,
		Callbacks: callbacks,

		RefundReturns: b.Config.RefundReturns,

		Log: b.log,
	}

	carrier, err := b.newCarrier()
	if err != nil {
		return fmt.Errorf("carrier: %w", err)
	}
	b.carrier = b.Tracing.Carrier(carrier)

	// The sandbox calls Reports in this process, so its reports need no confirmation.
	if asker, can := b.carrier.(shipping.Asker); can && b.Carrier == nil {
		cfg.Asker = asker
	}

	if b.Reports, err = reports.New(cfg); err != nil {
		return err
	}

	// The booker must exist even without a carrier. Each of its calls then fails with the reason.
	booked := b.carrier
	if booked == nil {
		booked = noCarrier{}
	}

	b.Booker, err = shipping.New(shipping.Config{Claims: b.Claims, Carrier: booked, Numbers: b.Reports})

	return err
}

// BookAgain books a shipment in the place of one that the carrier has canceled, as
// [shipping.Booker.BookAgain] describes, and returns its tracking number. A person must have decided so.
func (b *Backend) BookAgain(ctx context.Context, id transitions.OrderID) (tracking string, err error) {
	key, err := b.Reports.Shipment(ctx, id)
	if err != nil {
		return "", fmt.Errorf("book shipment of order %s again: %w", id, err)
	}

	return b.Booker.BookAgain(ctx, key, string(id))
}

// newCarrier returns the program's carrier, or the configured one. It returns nil if there is neither.
func (b *Backend) newCarrier() (shipping.Carrier, error) {
	arn, execution := strings.CutPrefix(b.Config.Carrier, executionCarrier)

	switch {
	case b.Config.Parts.Carrier != nil:
		return b.Config.Parts.Carrier, nil
	case execution:
		return sfncarrier.New(b.SFN, arn)
	case b.Config.Carrier == Sandbox, b.Config.Carrier == "" && b.usesSandbox():
		return b.newSandboxCarrier()
	case b.Config.Carrier == "":
		return nil, nil
	}

	return httpcarrier.New(httpcarrier.Config{URL: b.Config.Carrier, Token: b.Config.CarrierToken.Reveal(), Transport: b.carrierTransport()})
}

func (b *Backend) newSandboxCarrier() (shipping.Carrier, error) {
	var err error
	b.Carrier, err = sandbox.New(sandbox.Config{
		DynamoDB: b.DynamoDB,
		Table:    b.Tables.SandboxShipments,
		Delay:    b.Config.CarrierDelay,
		// A closure, because Reports is built after the carrier.
		Deliver: func(ctx context.Context, r shipping.Report) (shipping.Answer, error) {
			return b.Reports.Take(ctx, r)
		},
		Faults: b.Config.CarrierFaults.faults(),
		Log:    b.log,
	})

	return b.Carrier, err
}

// RunCarrier runs the sandbox carrier until ctx ends. If the carrier is not the sandbox, it only waits
// for the end of ctx.
func (b *Backend) RunCarrier(ctx context.Context) (err error) {
	if b.Carrier == nil {
		<-ctx.Done()
		return nil
	}

	end := b.beginParts(ctx, partCarrier, partCarrier)
	defer func() { end(err) }()

	return b.Carrier.Run(ctx)
}

// lostParcel returns the recorded report of a lost parcel of the order.
func (b *Backend) lostParcel(ctx context.Context, order *transitions.Order) (lost executions.LostParcel, found bool, err error) {
	report, found, err := b.Reports.Lost(ctx, order)

	return executions.LostParcel{Tracking: cmp.Or(report.Tracking, report.ID), Report: report.ID, At: report.Since}, found, err
}
