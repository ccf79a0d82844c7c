package jobs

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"ratchet/notify"
)

// Deliveries is the work of [ResendDeliveries].
type Deliveries struct{ Deliveries *notify.Deliveries }

// The codes of deliveries that are not sent again.
const (
	codePending  = "delivery_pending"
	codeDisabled = "endpoint_disabled"
)

// Select implements [Work].
func (w Deliveries) Select(ctx context.Context, j Job, found func(Subject) error) error {
	for after := ""; ; {
		page, next, err := w.Deliveries.List(ctx, j.Filter.Endpoint, notify.Missed, j.Filter.Since, after, rowsPage)
		if err != nil {
			return err
		}

		for _, d := range page {
			if !w.isOf(j, d) {
				continue
			}

			if err := found(w.subject(d)); err != nil {
				return err
			}
		}

		if after = next; next == "" {
			return nil
		}
	}
}

// isOf reports whether the job may act on the delivery. The endpoint of a filter may be one that the command line has made
// for the orders of a tenant: the API stores a tenant's own endpoints only.
func (w Deliveries) isOf(j Job, d notify.Delivery) bool {
	return isOf(j.Tenant, string(d.OrderID)) && (isOf(j.Tenant, d.Endpoint) || d.Endpoint == j.Filter.Endpoint)
}

// subject returns a delivery in the order of its order's transitions.
func (w Deliveries) subject(d notify.Delivery) Subject {
	s := Subject{
		ID:    d.ID(),
		Place: fmt.Sprintf("%s/%s/%016d/%s", d.OrderID, d.Incarnation, d.TransitionID, d.ID()),
		Mark:  strconv.Itoa(d.Resends),
	}
	if d.Status == notify.Pending {
		s.Code = codePending
	}

	return s
}

// Look implements [Work].
func (w Deliveries) Look(ctx context.Context, j Job, id string) (Subject, error) {
	d, err := w.Deliveries.Get(ctx, id)
	switch {
	case errors.Is(err, notify.ErrNotFound), errors.Is(err, notify.ErrInvalid), err == nil && !w.isOf(j, d):
		return Subject{ID: id, Code: codeGone}, nil
	case err != nil:
		return Subject{}, err
	}

	return w.subject(d), nil
}

// Act implements [Work].
func (w Deliveries) Act(ctx context.Context, _ Job, s Subject) (code string, err error) {
	seen, _ := strconv.Atoi(s.Mark)

	_, err = w.Deliveries.ResendFrom(ctx, s.ID, seen)

	switch {
	case err == nil:
		return codeDone, nil
	case errors.Is(err, notify.ErrPending):
		return codePending, nil
	case errors.Is(err, notify.ErrNotFound):
		return codeGone, nil
	case errors.Is(err, notify.ErrDisabled):
		return codeDisabled, nil
	}

	return "", err
}
