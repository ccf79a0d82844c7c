package api

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"time"

	"ratchet/actions"
)

type makeActionsInput struct {
	Batch string `path:"batch" minLength:"1" maxLength:"96" pattern:"^[A-Za-z0-9_.-]*[A-Za-z0-9_-][A-Za-z0-9_.-]*$" example:"spring-mailing"`
	Body  newBatch
}

// newBatch is a part of a batch; 500 codes are within a request's time.
type newBatch struct {
	Prefix    string          `json:"prefix" minLength:"2" maxLength:"16" pattern:"^[A-Za-z0-9]+$" doc:"Begins every code." example:"SPRING"`
	From      int64           `json:"from,omitempty" minimum:"0" maximum:"999500" doc:"The index of the first code. Default 0."`
	Count     int64           `json:"count" minimum:"1" maximum:"500" doc:"How many codes from there on."`
	Payload   json.RawMessage `json:"payload,omitempty" doc:"Any JSON; who uses an action gets it."`
	ActiveAt  *time.Time      `json:"activeAt,omitempty" doc:"From when they may be used. Default: at once."`
	ExpiresAt time.Time       `json:"expiresAt" doc:"From when they may no more be used; at most 5 years from now."`
}

// coded is one action of a batch.
type coded struct {
	Index int64  `json:"index"`
	Code  string `json:"code" doc:"The action's id: a secret of whoever may use it."`
	Made  bool   `json:"made" doc:"False when an earlier request had made it."`
}

type batchOutput struct {
	Body struct {
		Codes []coded `json:"codes"`
		Next  int64   `json:"next" doc:"Where the batch goes on."`
	}
}

func (s *service) makeActions(ctx context.Context, c caller, in *makeActionsInput) (*batchOutput, error) {
	all, err := s.actionsOf(c)
	if err != nil {
		return nil, err
	}

	b := actions.Batch{
		ID:        in.Batch,
		Prefix:    in.Body.Prefix,
		From:      int(in.Body.From),
		Count:     int(in.Body.From + in.Body.Count),
		Payload:   in.Body.Payload,
		ExpiresAt: in.Body.ExpiresAt,
	}
	if in.Body.ActiveAt != nil {
		b.ActiveAt = *in.Body.ActiveAt
	}
	out := &batchOutput{}
	out.Body.Next = int64(b.Count)

	err = all.Bulk(ctx, b, func(made actions.BatchAction) error {
		out.Body.Codes = append(out.Body.Codes, coded{int64(made.Index), string(made.Code), made.Made})
		return nil
	})
	if errors.Is(err, actions.ErrConflict) {
		return nil, newProblem(http.StatusConflict, "conflict", "The batch was begun with another content.")
	}

	if err != nil {
		return nil, err
	}

	return out, nil
}
