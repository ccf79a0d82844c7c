package api

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"time"

	"ratchet/api/internal/input"
	"ratchet/once/actions"
)

type makeActionsInput struct {
	Batch string `path:"batch" minLength:"1" maxLength:"96" pattern:"^[A-Za-z0-9_.-]*[A-Za-z0-9_-][A-Za-z0-9_.-]*$" example:"spring-mailing"`
	Body  newBatch
}

// newBatch is a part of a batch. 500 codes can be created within the timeout of a request.
type newBatch struct {
	Prefix    string          `json:"prefix" minLength:"2" maxLength:"16" pattern:"^[A-Za-z0-9]+$" doc:"The beginning of every code." example:"SPRING"`
	From      int64           `json:"from,omitempty" minimum:"0" maximum:"999500" doc:"The index of the first code. Default 0."`
	Count     int64           `json:"count" minimum:"1" maximum:"500" doc:"How many codes."`
	Payload   json.RawMessage `json:"payload,omitempty" doc:"Any JSON. Who uses an action receives it."`
	ActiveAt  *time.Time      `json:"activeAt,omitempty" doc:"When the actions can first be used. Default: now."`
	ExpiresAt time.Time       `json:"expiresAt" doc:"When the actions expire, at most 5 years from now."`
}

// coded is one action of a batch.
type coded struct {
	Index int64  `json:"index"`
	Code  string `json:"code" doc:"The action's id, a secret: who has it can use the action."`
	Made  bool   `json:"made" doc:"False if an earlier request created it."`
}

type batchOutput struct {
	input.Repeat
	Body struct {
		Codes []coded `json:"codes"`
		Next  int64   `json:"next" doc:"The index at which the next part begins."`
	}
}

func (s *service) makeActions(ctx context.Context, c caller, in *makeActionsInput) (*batchOutput, error) {
	all, err := s.tenantActions(c)
	if err != nil {
		return nil, err
	}

	// The count of a batch includes the indexes before From.
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
		return nil, newProblem(http.StatusConflict, "conflict", "The batch was begun with other content.")
	}

	if err != nil {
		return nil, err
	}

	return out, nil
}
