package api

import (
	"context"
	"errors"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"ratchet/api/internal/input"
	"ratchet/internal/dynamo"
)

func (s *service) shipmentRoutes(h huma.API) {
	register(s, h, adminVerb("shipments", "book-shipment-again", http.MethodPost, "/v1/orders/{orderId}/shipment/book-again",
		"Book another shipment in the place of one that the carrier has canceled",
		"The carrier must say that the shipment is canceled. The other one has the key of the first and a number (.../shipping/2). An order on hold is released first. Without a key, a repeat after a lost answer gets shipment_not_canceled.",
		"orderId").mayConflict(), s.bookAgain)
}

type bookAgainInput struct {
	input.Order
	input.MayBeKeyed
}

type bookAgainOutput struct {
	input.Repeat
	Body struct {
		OrderID  string `json:"orderId"`
		Tracking string `json:"tracking" personal:"text" doc:"The tracking number of the other shipment."`
	}
}

func (s *service) bookAgain(ctx context.Context, c caller, in *bookAgainInput) (*bookAgainOutput, error) {
	if s.cfg.BookAgain == nil {
		return nil, notFound("shipment")
	}

	tracking, err := s.cfg.BookAgain(ctx, c.tenant.orderID(in.OrderID))
	if err != nil {
		return nil, s.carrierProblem(ctx, err)
	}

	out := &bookAgainOutput{}
	out.Body.OrderID, out.Body.Tracking = in.OrderID, tracking

	return out, nil
}

// carrierProblem returns the problem of an error that only the carrier can have caused, and other errors as
// they are.
func (s *service) carrierProblem(ctx context.Context, err error) error {
	var known *problem
	if errors.As(err, &known) || CodeOf(err) != "" || dynamo.Retryable(err) || ctx.Err() != nil {
		return err
	}

	s.cfg.Log.WarnContext(ctx, "the carrier did not answer a booking", "request", callOf(ctx).id, "error", err)

	return newProblem(http.StatusServiceUnavailable, "carrier_unavailable", "The carrier does not answer, or not with a shipment. Send the same request again.").retryAfter(1)
}
