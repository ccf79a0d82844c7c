package notify

import (
	"context"
	"fmt"
	"time"

	"ratchet/internal/dynamo"
)

const maxReason = 256

// Enable lets an endpoint get notifications again. It does not send the MISSED deliveries: see
// [Deliveries.RedeliverMissed].
func (s *Endpoints) Enable(ctx context.Context, id string) (Endpoint, error) {
	update := s.succeeding(id).
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

	return s.setStatus(ctx, id, s.disabling(id, reason, time.Now()))
}

func (s *Endpoints) disabling(id, reason string, at time.Time) *dynamo.Update {
	return s.statusUpdate(id).
		SetValue(endpointStatus, dynamo.S(string(Disabled))).
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

// noteFailure stores at as the beginning of the endpoint's failures, unless a beginning is stored.
func (s *Endpoints) noteFailure(ctx context.Context, id string, at time.Time) error {
	update := s.statusUpdate(id).Bind(":at", dynamo.Millis(at)).Set("#failingSince = if_not_exists(#failingSince, :at)")
	_, _, err := s.update(ctx, update)

	return err
}

// noteSuccess removes the beginning of the endpoint's failures and the end of its pause.
func (s *Endpoints) noteSuccess(ctx context.Context, id string) error {
	_, _, err := s.update(ctx, s.succeeding(id))
	return err
}

func (s *Endpoints) succeeding(id string) *dynamo.Update {
	return s.statusUpdate(id).RemoveAttribute(endpointFailing).RemoveAttribute(endpointUntil).RemoveAttribute(endpointOpened)
}

// noteOpen stores the time until which the circuit of this worker is open, unless a later time is
// stored.
func (s *Endpoints) noteOpen(ctx context.Context, id string, c circuit) error {
	update := s.statusUpdate(id).
		If("attribute_not_exists(#openUntil) OR #openUntil < :until").
		Bind(":until", dynamo.Millis(c.until)).
		SetValue(endpointUntil, dynamo.Millis(c.until)).
		SetValue(endpointOpened, dynamo.N(int64(c.opened)))
	_, _, err := s.update(ctx, update)

	return err
}

// disableFailing disables an endpoint whose failures began at before or earlier. It reports false
// if the endpoint is disabled already, or has had a success meanwhile.
func (s *Endpoints) disableFailing(ctx context.Context, id, reason string, before, now time.Time) (bool, error) {
	return s.disableActive(ctx, s.disabling(id, reason, now).If("#failingSince <= :before").Bind(":before", dynamo.Millis(before)))
}

// disableNow disables an endpoint that wants no more messages. It reports false if the endpoint is
// disabled already.
func (s *Endpoints) disableNow(ctx context.Context, id, reason string, now time.Time) (bool, error) {
	return s.disableActive(ctx, s.disabling(id, reason, now))
}

// disableActive sends an update that disables an endpoint, on condition that it is active.
func (s *Endpoints) disableActive(ctx context.Context, update *dynamo.Update) (bool, error) {
	update.If("attribute_not_exists(#status) OR #status = :active").Bind(":active", dynamo.S(string(Active)))
	_, applied, err := s.update(ctx, update)

	return applied, err
}
