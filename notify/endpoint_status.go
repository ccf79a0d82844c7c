package notify

import (
	"context"
	"fmt"
	"time"

	"ratchet/internal/dynamo"
)

const maxReason = 256

// Enable lets an endpoint get notifications again. It does not send the MISSED deliveries: see
// [Deliveries.List] and [Deliveries.Resend].
func (s *Endpoints) Enable(ctx context.Context, id string) (Endpoint, error) {
	update := removeHealth(s.statusUpdate(id)).
		SetValue(endpointStatus, dynamo.S(string(Active))).
		RemoveAttribute(endpointReason).
		RemoveAttribute(endpointDisabled)

	return s.setStatus(ctx, id, update)
}

// Disable stops notifications to an endpoint until Enable. The notifications in between are stored
// as MISSED. The reason is for people, at most 256 bytes.
func (s *Endpoints) Disable(ctx context.Context, id, reason string) (Endpoint, error) {
	if len(reason) > maxReason || !isPrintable(reason) {
		return Endpoint{}, fmt.Errorf("%w: reason: at most %d printable bytes", ErrInvalid, maxReason)
	}

	return s.setStatus(ctx, id, disable(s.statusUpdate(id), reason, s.clock.Now()))
}

// disable makes an update disable its endpoint.
func disable(u *dynamo.Update, reason string, at time.Time) *dynamo.Update {
	return u.SetValue(endpointStatus, dynamo.S(string(Disabled))).
		SetValue(endpointReason, dynamo.S(reason)).
		SetValue(endpointDisabled, dynamo.Millis(at))
}

// statusUpdate begins an update of an endpoint's status. The update creates the item of a
// configured endpoint. The item of any other endpoint must exist.
func (s *Endpoints) statusUpdate(id string) *dynamo.Update {
	update := dynamo.NewUpdate(s.cfg.Table, endpointItemKey(id))
	if _, fixed := s.configured(id); !fixed {
		update.IfPresent(endpointSettings)
	}

	return update
}

func (s *Endpoints) setStatus(ctx context.Context, id string, update *dynamo.Update) (Endpoint, error) {
	e, applied, err := s.update(ctx, update)
	switch {
	case err != nil:
		return Endpoint{}, err
	case !applied:
		return Endpoint{}, fmt.Errorf("endpoint %s: %w", id, ErrNotFound)
	}

	if configured, ok := s.configured(id); ok {
		return configured.withStatusOf(e), nil
	}

	return e, nil
}
