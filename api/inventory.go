package api

import (
	"context"
	"net/http"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"ratchet/api/auth"
	"ratchet/api/internal/input"
	"ratchet/inventory"
)

func (s *service) inventoryRoutes(h huma.API) {
	register(s, h, route{
		id:      "get-stock",
		method:  http.MethodGet,
		path:    "/v1/inventory/{sku}",
		tag:     "inventory",
		scope:   auth.Read,
		status:  http.StatusOK,
		errors:  []int{http.StatusNotFound},
		summary: "Read what a SKU has",
	}, s.getStock)
	register(s, h, route{
		id:      "set-stock",
		method:  http.MethodPut,
		path:    "/v1/inventory/{sku}",
		tag:     "inventory",
		scope:   auth.Admin,
		changes: true,
		body:    true,
		target:  []string{"sku"},
		status:  http.StatusOK,
		summary: "Set the available pieces of a SKU",
		about:   "What is reserved and committed stays as it is.",
		links: map[string]*huma.Link{"get": {
			OperationID: "get-stock",
			Parameters:  map[string]any{"sku": "$response.body#/sku"},
		}},
	}, s.setStock)
	verb := func(id, path, summary, about string, body bool) route {
		return route{
			id:      id,
			method:  http.MethodPost,
			path:    "/v1/reservations/{orderId}" + path,
			tag:     "inventory",
			scope:   auth.Act,
			changes: true,
			body:    body,
			target:  []string{"orderId"},
			status:  http.StatusOK,
			errors:  []int{http.StatusConflict},
			summary: summary,
			about:   about,
		}
	}
	reserve := verb("reserve-stock", "", "Set pieces aside for an order, all lines or none", "One reservation per order: its id makes it happen once.", true)
	reserve.method = http.MethodPut
	reserve.links = map[string]*huma.Link{"get": {
		OperationID: "get-reservation",
		Parameters:  map[string]any{"orderId": "$response.body#/orderId"},
	}}
	register(s, h, route{
		id:      "get-reservation",
		method:  http.MethodGet,
		path:    reserve.path,
		tag:     "inventory",
		scope:   auth.Read,
		status:  http.StatusOK,
		errors:  []int{http.StatusNotFound},
		summary: "Read what an order has reserved",
	}, s.getReservation)
	register(s, h, reserve, s.reserveStock)
	register(s, h, verb("commit-stock", "/commit", "Turn an order's reservation into sold pieces", "A repeat succeeds.", false), s.commitStock)
	register(s, h, verb("release-stock", "/release", "Put an order's reserved pieces back",
		"A repeat succeeds. An order that has reserved nothing is closed: a reservation that comes late is refused.", false), s.releaseStock)
}

// level is what a SKU has, in pieces.
type level struct {
	SKU       string `json:"sku"`
	Available int64  `json:"available"`
	Reserved  int64  `json:"reserved"`
	Committed int64  `json:"committed"`
}

type levelOutput struct{ Body level }

func (s *service) getStock(ctx context.Context, c caller, in *input.Item) (*levelOutput, error) {
	l, known, err := s.cfg.Stock.Level(ctx, c.tenant.stored(in.SKU))
	switch {
	case err != nil:
		return nil, err
	case !known:
		return nil, notFound("sku")
	}

	return &levelOutput{level{in.SKU, l.Available, l.Reserved, l.Committed}}, nil
}

type setStockInput struct {
	input.Item
	Body struct {
		Available int64 `json:"available" minimum:"0" maximum:"1000000000"`
	}
}

func (s *service) setStock(ctx context.Context, c caller, in *setStockInput) (*levelOutput, error) {
	if err := s.cfg.Stock.Set(ctx, c.tenant.stored(in.SKU), in.Body.Available); err != nil {
		return nil, err
	}
	return s.getStock(ctx, c, &in.Item)
}

type reserveInput struct {
	input.Order
	Body struct {
		Lines []pieces `json:"lines" minItems:"1" maxItems:"98"`
		// ExpiresAt is absolute, so that a repeat asks for the same.
		ExpiresAt *time.Time `json:"expiresAt,omitempty" doc:"From when it can no longer be committed, and the pieces come back. A later time, or none, extends the reservation; an earlier one is a conflict."`
	}
}

// pieces is a number of pieces of one SKU.
type pieces struct {
	SKU      string `json:"sku" minLength:"1" maxLength:"96" pattern:"^[A-Za-z0-9_.-]*[A-Za-z0-9_-][A-Za-z0-9_.-]*$"`
	Quantity int64  `json:"quantity" minimum:"1" maximum:"1000000"`
}

// reservation is what became of an order's pieces.
type reservation struct {
	OrderID   string     `json:"orderId"`
	Status    string     `json:"status" enum:"reserved,committed,released,expired"`
	Lines     []held     `json:"lines,omitempty"`
	ExpiresAt *time.Time `json:"expiresAt,omitempty"`
}

// held is a number of pieces of one SKU, as it was reserved.
type held struct {
	SKU      string `json:"sku"`
	Quantity int64  `json:"quantity"`
}

type reservationOutput struct{ Body reservation }

func (s *service) reserveStock(ctx context.Context, c caller, in *reserveInput) (*reservationOutput, error) {
	lines := make([]inventory.Line, len(in.Body.Lines))
	for i, l := range in.Body.Lines {
		lines[i] = inventory.Line{SKU: c.tenant.stored(l.SKU), Quantity: l.Quantity}
	}

	var err error
	if until := in.Body.ExpiresAt; until != nil {
		err = s.cfg.Stock.ReserveUntil(ctx, c.tenant.stored(in.OrderID), lines, *until)
	} else {
		err = s.cfg.Stock.Reserve(ctx, c.tenant.stored(in.OrderID), lines)
	}

	if err != nil {
		return nil, err
	}

	return &reservationOutput{reservation{OrderID: in.OrderID, Status: "reserved", ExpiresAt: in.Body.ExpiresAt}}, nil
}

func (s *service) getReservation(ctx context.Context, c caller, in *input.Order) (*reservationOutput, error) {
	r, found, err := s.cfg.Stock.Reservation(ctx, c.tenant.stored(in.OrderID))
	if err == nil && !found {
		err = notFound("reservation")
	}

	if err != nil {
		return nil, err
	}

	out := reservation{OrderID: in.OrderID, Status: strings.ToLower(string(r.Status)), ExpiresAt: moment(r.ExpiresAt)}
	for _, l := range r.Lines {
		out.Lines = append(out.Lines, held{c.tenant.shown(l.SKU), l.Quantity})
	}

	return &reservationOutput{out}, nil
}

func (s *service) commitStock(ctx context.Context, c caller, in *input.Order) (*reservationOutput, error) {
	if err := s.cfg.Stock.Commit(ctx, c.tenant.stored(in.OrderID)); err != nil {
		return nil, err
	}
	return &reservationOutput{reservation{OrderID: in.OrderID, Status: "committed"}}, nil
}

func (s *service) releaseStock(ctx context.Context, c caller, in *input.Order) (*reservationOutput, error) {
	if err := s.cfg.Stock.Release(ctx, c.tenant.stored(in.OrderID)); err != nil {
		return nil, err
	}
	return &reservationOutput{reservation{OrderID: in.OrderID, Status: "released"}}, nil
}
