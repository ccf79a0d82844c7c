package api

import (
	"context"
	"net/http"

	"ratchet/api/internal/input"
	"ratchet/transitions"
)

type parcelInput struct {
	input.Order
	ParcelID string `path:"parcelId" minLength:"1" maxLength:"96" pattern:"^[A-Za-z0-9_.-]*[A-Za-z0-9_-][A-Za-z0-9_.-]*$" doc:"The id of the parcel within its order, such as a tracking number." example:"JD0002"`
	Body     struct {
		Lines         []pieces  `json:"lines" minItems:"1" maxItems:"50" doc:"The content, each SKU once."`
		Own           *newOwn   `json:"own,omitempty" doc:"Changes own attributes in the same write. It is a part of the parcel's content."`
		Cause         *newCause `json:"cause,omitempty" doc:"Why. A repeat has the same cause."`
		RefuseSkipped bool      `json:"refuseSkipped,omitempty" doc:"Refuse the parcel with effects_due if the order would skip an effect that is due. It costs several reads."`
	}
}

func (s *service) shipParcel(ctx context.Context, c caller, in *parcelInput) (*applyOutput, error) {
	own, refusal := c.ownChange(in.Body.Own)
	if refusal != nil {
		return nil, refusal
	}

	p := transitions.Parcel{OrderID: c.tenant.orderID(in.OrderID), ID: in.ParcelID, Own: own, Cause: c.cause(ctx, in.Body.Cause)}
	for _, l := range in.Body.Lines {
		p.Lines = append(p.Lines, transitions.ParcelLine{SKU: c.tenant.storedID(l.SKU), Quantity: l.Quantity})
	}

	// With its last parcel the order is shipped.
	if err := s.refuseSkipped(ctx, c, in.Body.RefuseSkipped, p.OrderID, s.cfg.Orders.Definition().Shipping().Left, p.MadeBy); err != nil {
		return nil, err
	}

	result, err := s.cfg.Orders.ShipParcel(ctx, p)
	switch {
	case err != nil:
		return nil, err
	case result.Verdict == transitions.Conflict:
		return nil, newProblem(http.StatusConflict, "conflict", "The parcel was reported before, with other lines or own attributes.").withOrder(result.Order)
	case !result.Verdict.Done():
		return nil, verdictProblem(transitions.Request{}, result)
	}

	return s.appliedOutput(c, result), nil
}
