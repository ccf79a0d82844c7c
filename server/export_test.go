package server

import (
	"context"

	"ratchet/embedded/embeddedtest"
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

	process, err := assemble(b.Config, clients, b.Engine, b.log, Events{})

	return process, wire, err
}
