package api

import (
	"context"
	"net/http"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"ratchet/api/auth"
	"ratchet/api/internal/input"
	"ratchet/once/inventory"
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
		summary: "Read the stock of a SKU",
	}, s.getStock)
	register(s, h, route{
		id:          "list-stock",
		method:      http.MethodGet,
		path:        "/v1/inventory",
		tag:         "inventory",
		scope:       auth.Read,
		status:      http.StatusOK,
		summary:     "List the stock of all SKUs, page by page",
		description: "The order of the list is not specified. A page examines at most 1,000 items of the table, in which reservations are, too: it may be shorter than the limit, even empty, and have a next one.",
	}, s.listStock)
	register(s, h, route{
		// A second write of the same level would undo the reservations since the first one.
		id:          "set-stock",
		method:      http.MethodPut,
		path:        "/v1/inventory/{sku}",
		tag:         "inventory",
		scope:       auth.Admin,
		mutates:     true,
		repeats:     ifKeyed,
		body:        true,
		auditParams: []string{"sku"},
		status:      http.StatusOK,
		summary:     "Set the available pieces of a SKU",
		description: "The reserved and committed pieces do not change. Each request sets them, unless it repeats one with the same Idempotency-Key.",
		links: map[string]*huma.Link{"get": {
			OperationID: "get-stock",
			Parameters:  map[string]any{"sku": "$response.body#/sku"},
		}},
	}, s.setStock)
	verb := func(id, path, summary, description string, body bool) route {
		return route{
			id:          id,
			method:      http.MethodPost,
			path:        "/v1/reservations/{orderId}" + path,
			tag:         "inventory",
			scope:       auth.Act,
			mutates:     true,
			repeats:     firstStored,
			body:        body,
			auditParams: []string{"orderId"},
			status:      http.StatusOK,
			errors:      []int{http.StatusConflict},
			summary:     summary,
			description: description,
		}
	}
	reserve := verb("reserve-stock", "", "Reserve stock for an order, all lines or none", "An order has one reservation, so its id makes the request idempotent.", true)
	// Other lines or another end are another request: the stock decides whether it may replace the first.
	reserve.method, reserve.contentIsIdentity = http.MethodPut, true
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
		summary: "Read the reservation of an order",
	}, s.getReservation)
	register(s, h, reserve, s.reserveStock)
	register(s, h, verb("commit-stock", "/commit", "Sell the reserved pieces of an order", "A repeat succeeds.", false), s.commitStock)
	register(s, h, verb("release-stock", "/release", "Give the reserved pieces of an order back",
		"A repeat succeeds. If the order has no reservation, a later one is refused.", false), s.releaseStock)
}

// level is the stock of a SKU, in pieces.
type level struct {
	SKU       string `json:"sku"`
	Available int64  `json:"available"`
	Reserved  int64  `json:"reserved"`
	Committed int64  `json:"committed"`
}

type levelOutput struct {
	input.Repeat
	Body level
}

func (s *service) getStock(ctx context.Context, c caller, in *input.Item) (*levelOutput, error) {
	l, known, err := s.cfg.Stock.Level(ctx, c.tenant.storedID(in.SKU))
	switch {
	case err != nil:
		return nil, err
	case !known:
		return nil, notFound("sku")
	}

	return &levelOutput{Body: level{in.SKU, l.Available, l.Reserved, l.Committed}}, nil
}

type listStockOutput struct {
	Body struct {
		Levels []level `json:"levels"`
		Next   string  `json:"next,omitempty" doc:"The cursor of the next page. Absent at the end."`
	}
}

// listStock reads one page of the table, in which all tenants have their SKUs.
func (s *service) listStock(ctx context.Context, c caller, in *input.Page) (*listStockOutput, error) {
	binding := []string{"stock", string(c.tenant)}

	position, p := s.cursors.open(in.Cursor, binding...)
	if p != nil {
		return nil, p
	}

	found, next, err := s.cfg.Stock.Levels(ctx, position, in.Limit)
	if err != nil {
		return nil, err
	}

	out := &listStockOutput{}
	out.Body.Levels, out.Body.Next = []level{}, s.cursors.seal(next, binding...)

	for _, l := range found {
		if sku, own := c.tenant.ownID(l.SKU); own {
			out.Body.Levels = append(out.Body.Levels, level{sku, l.Available, l.Reserved, l.Committed})
		}
	}

	return out, nil
}

type setStockInput struct {
	input.Item
	input.MayBeKeyed
	Body struct {
		Available int64 `json:"available" minimum:"0" maximum:"1000000000"`
	}
}

func (s *service) setStock(ctx context.Context, c caller, in *setStockInput) (*levelOutput, error) {
	if err := s.cfg.Stock.Set(ctx, c.tenant.storedID(in.SKU), in.Body.Available); err != nil {
		return nil, err
	}
	return s.getStock(ctx, c, &in.Item)
}

type reserveInput struct {
	input.Reservation
	Body struct {
		Lines []pieces `json:"lines" minItems:"1" maxItems:"98"`
		// ExpiresAt is a time and not a duration, so that a repeat has the same content.
		ExpiresAt *time.Time `json:"expiresAt,omitempty" doc:"When the reservation ends: it can no longer be committed, and its pieces are given back. A later time, or none, extends the reservation; an earlier one is a conflict."`
	}
}

// pieces is a number of pieces of one SKU.
type pieces struct {
	SKU      string `json:"sku" minLength:"1" maxLength:"96" pattern:"^[A-Za-z0-9_.-]*[A-Za-z0-9_-][A-Za-z0-9_.-]*$"`
	Quantity int64  `json:"quantity" minimum:"1" maximum:"1000000"`
}

// reservation is the stock reserved for an order.
type reservation struct {
	OrderID   string     `json:"orderId"`
	Status    string     `json:"status" enum:"reserved,committed,released,expired"`
	Lines     []held     `json:"lines,omitempty"`
	ExpiresAt *time.Time `json:"expiresAt,omitempty"`
}

// held is a number of reserved pieces of one SKU.
type held struct {
	SKU      string `json:"sku"`
	Quantity int64  `json:"quantity"`
}

type reservationOutput struct {
	input.Repeat
	Body reservation
}

func (s *service) reserveStock(ctx context.Context, c caller, in *reserveInput) (*reservationOutput, error) {
	lines := make([]inventory.Line, len(in.Body.Lines))
	for i, l := range in.Body.Lines {
		lines[i] = inventory.Line{SKU: c.tenant.storedID(l.SKU), Quantity: l.Quantity}
	}

	var err error
	if until := in.Body.ExpiresAt; until != nil {
		err = s.cfg.Stock.ReserveUntil(ctx, c.tenant.storedID(in.OrderID), lines, *until)
	} else {
		err = s.cfg.Stock.Reserve(ctx, c.tenant.storedID(in.OrderID), lines)
	}

	if err != nil {
		return nil, err
	}

	return &reservationOutput{Body: reservation{OrderID: in.OrderID, Status: "reserved", ExpiresAt: in.Body.ExpiresAt}}, nil
}

func (s *service) getReservation(ctx context.Context, c caller, in *input.Reservation) (*reservationOutput, error) {
	r, found, err := s.cfg.Stock.Reservation(ctx, c.tenant.storedID(in.OrderID))
	if err == nil && !found {
		err = notFound("reservation")
	}

	if err != nil {
		return nil, err
	}

	out := reservation{OrderID: in.OrderID, Status: strings.ToLower(string(r.Status)), ExpiresAt: optionalTime(r.ExpiresAt)}
	for _, l := range r.Lines {
		out.Lines = append(out.Lines, held{c.tenant.publicID(l.SKU), l.Quantity})
	}

	return &reservationOutput{Body: out}, nil
}

func (s *service) commitStock(ctx context.Context, c caller, in *input.Reservation) (*reservationOutput, error) {
	if err := s.cfg.Stock.Commit(ctx, c.tenant.storedID(in.OrderID)); err != nil {
		return nil, err
	}
	return &reservationOutput{Body: reservation{OrderID: in.OrderID, Status: "committed"}}, nil
}

func (s *service) releaseStock(ctx context.Context, c caller, in *input.Reservation) (*reservationOutput, error) {
	if err := s.cfg.Stock.Release(ctx, c.tenant.storedID(in.OrderID)); err != nil {
		return nil, err
	}
	return &reservationOutput{Body: reservation{OrderID: in.OrderID, Status: "released"}}, nil
}
