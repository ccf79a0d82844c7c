package api

import (
	"context"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"ratchet/api/auth"
	"ratchet/api/internal/input"
	"ratchet/once/ledger"
)

func (s *service) transferRoutes(h huma.API) {
	register(s, h, route{
		id:          "post-transfer",
		method:      http.MethodPut,
		path:        "/v1/transfers/{transferId}",
		tag:         "transfers",
		scope:       auth.Act,
		mutates:     true,
		repeats:     fromRecord,
		body:        true,
		auditParams: []string{"transferId"},
		status:      http.StatusCreated,
		errors:      []int{http.StatusNotFound, http.StatusConflict},
		summary:     "Move money between accounts, all legs or none",
		description: "The legs sum to zero. The transfer's id makes the request idempotent. Other content is a conflict.",
		links: map[string]*huma.Link{"get": {
			OperationID: "get-transfer",
			Parameters:  map[string]any{"transferId": "$response.body#/transferId"},
		}},
	}, s.postTransfer)
	register(s, h, route{
		id:      "get-transfer",
		method:  http.MethodGet,
		path:    "/v1/transfers/{transferId}",
		tag:     "transfers",
		scope:   auth.Read,
		status:  http.StatusOK,
		errors:  []int{http.StatusNotFound},
		summary: "Read a transfer",
	}, s.getTransfer)
}

type newLeg struct {
	Account string `json:"account" minLength:"1" maxLength:"77" pattern:"^[A-Za-z0-9_.-]*[A-Za-z0-9_-][A-Za-z0-9_.-]*$"`
	Amount  int64  `json:"amount" minimum:"-1000000000000000" maximum:"1000000000000000" doc:"In minor units: credited when positive, debited when negative."`
	Hold    string `json:"hold,omitempty" minLength:"1" maxLength:"64" pattern:"^[A-Za-z0-9_.-]*[A-Za-z0-9_-][A-Za-z0-9_.-]*$" doc:"The hold of the account that is debited."`
	Release bool   `json:"release,omitempty" doc:"Whether to give the rest of the hold back and close it."`
}

type postTransferInput struct {
	input.Transfer
	Body struct {
		Currency  string   `json:"currency" minLength:"3" maxLength:"3" pattern:"^[A-Z]{3}$" doc:"ISO 4217." example:"EUR"`
		Legs      []newLeg `json:"legs" minItems:"2" maxItems:"24" doc:"Debits and credits of different accounts. They sum to zero."`
		Reference string   `json:"reference,omitempty" maxLength:"256" doc:"The purpose, at most 256 bytes."`
	}
}

// transfer is a posted transfer.
type transfer struct {
	TransferID string    `json:"transferId"`
	Currency   string    `json:"currency"`
	Legs       []leg     `json:"legs"`
	Reference  string    `json:"reference,omitempty" personal:"text"`
	At         time.Time `json:"at"`
}

type leg struct {
	Account string `json:"account"`
	Amount  int64  `json:"amount"`
	Hold    string `json:"hold,omitempty"`
	Release bool   `json:"release,omitempty"`
}

type transferOutput struct {
	input.Repeat
	Status int
	Body   transfer
}

func (t tenant) showTransfer(p ledger.Posted) transfer {
	out := transfer{
		TransferID: t.publicID(p.ID),
		Currency:   p.Currency,
		Legs:       make([]leg, len(p.Legs)),
		Reference:  p.Reference,
		At:         p.At,
	}
	for i, l := range p.Legs {
		out.Legs[i] = leg{t.publicID(l.Account), l.Amount, t.publicID(l.Hold), l.Release}
	}

	return out
}

func (s *service) postTransfer(ctx context.Context, c caller, in *postTransferInput) (*transferOutput, error) {
	t := ledger.Transfer{
		ID:        c.tenant.storedID(in.TransferID),
		Currency:  in.Body.Currency,
		Legs:      make([]ledger.Leg, len(in.Body.Legs)),
		Reference: in.Body.Reference,
	}
	for i, l := range in.Body.Legs {
		t.Legs[i] = ledger.Leg{Account: c.tenant.storedID(l.Account), Amount: l.Amount, Release: l.Release}
		// The stored id of "" would not be empty.
		if l.Hold != "" {
			t.Legs[i].Hold = c.tenant.storedID(l.Hold)
		}
	}

	posted, err := s.cfg.Ledger.Post(ctx, t)
	if err != nil {
		return nil, err
	}

	out := &transferOutput{Status: http.StatusCreated, Body: c.tenant.showTransfer(posted)}
	if posted.Replayed {
		out.MarkReplayed()
	}

	return out, nil
}

func (s *service) getTransfer(ctx context.Context, c caller, in *input.StoredTransfer) (*transferOutput, error) {
	posted, found, err := s.cfg.Ledger.Transfer(ctx, c.tenant.storedID(in.TransferID))
	if err == nil && !found {
		err = notFound("transfer")
	}

	if err != nil {
		return nil, err
	}

	return &transferOutput{Status: http.StatusOK, Body: c.tenant.showTransfer(posted)}, nil
}
