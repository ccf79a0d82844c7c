package api

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"ratchet/api/internal/input"
)

func (s *service) erasureRoutes(h huma.API) {
	register(s, h, adminVerb("orders", "erase-order", http.MethodPost, "/v1/orders/{orderId}/erase", "Remove the person from an order that has ended",
		"Customer, reference, addresses, metadata and notes go from the order and from everything that is stored about it. State, lines, amounts and payments stay. "+
			"Nothing brings the person back. An order that has not ended, or about which work waits, is refused with 409. A repeat changes nothing.",
		"orderId").mayConflict().withBody(), s.eraseOrder)
}

type eraseOrderInput struct {
	input.Order
	input.MayBeKeyed
	Body struct {
		DryRun bool `json:"dryRun,omitempty" doc:"Only check whether the person can be erased now."`
	}
}

type eraseOrderOutput struct {
	input.Repeat
	Body struct {
		OrderID     string `json:"orderId"`
		Result      string `json:"result" enum:"erased,selected" doc:"selected: it would be erased (dryRun)."`
		JournalRows int    `json:"journalRows" doc:"How many rows of the journal were changed."`
		Deliveries  int    `json:"deliveries" doc:"How many deliveries were deleted."`
		DeadLetters int    `json:"deadLetters" doc:"How many dead letters were changed."`
		Reports     int    `json:"reports" doc:"How many reports of the carrier were deleted."`
	}
}

func (s *service) eraseOrder(ctx context.Context, c caller, in *eraseOrderInput) (*eraseOrderOutput, error) {
	if s.cfg.Eraser == nil {
		return nil, notFound("route")
	}

	order, err := s.getOwnOrder(ctx, c, in.OrderID)
	if err != nil {
		return nil, err
	}

	out := &eraseOrderOutput{}
	out.Body.OrderID, out.Body.Result = in.OrderID, "selected"

	if in.Body.DryRun {
		return out, s.cfg.Eraser.Check(ctx, order)
	}

	done, err := s.cfg.Eraser.Erase(ctx, order.ID)
	out.Body.Result = "erased"
	out.Body.JournalRows, out.Body.Deliveries, out.Body.DeadLetters, out.Body.Reports = done.JournalRows, done.Deliveries, done.DeadLetters, done.Reports

	return out, err
}
