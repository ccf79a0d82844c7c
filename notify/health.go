package notify

import (
	"context"
	"maps"
	"slices"
	"time"

	"ratchet/internal/dynamo"
)

// health is how long an endpoint has failed. Only time with attempts counts: an endpoint that gets
// nothing for days has not failed for days.
type health struct {
	failedAt  time.Time     // the newest failure that was counted
	failedFor time.Duration // the counted time, up to failedAt
}

// maxSilence is the longest time between two attempts that counts as time with attempts, unless the
// schedule has longer pauses.
const maxSilence = 24 * time.Hour

// failing returns the endpoint's health after a failure at the time. It reports false if the stored
// health need not change: a failing endpoint costs a write for each tenth of disableAfter, at most one
// an hour.
func (e Endpoint) failing(at time.Time, disableAfter, silence time.Duration) (next health, write bool) {
	if e.FailingSince.IsZero() {
		return health{failedAt: at}, true
	}

	next = health{failedAt: at, failedFor: e.health.failedFor}

	since := at.Sub(e.health.failedAt)
	if since <= silence {
		next.failedFor += since
	}

	return next, since >= min(time.Hour, disableAfter/10)
}

// removeHealth makes an update forget how the endpoint has answered.
func removeHealth(u *dynamo.Update) *dynamo.Update {
	for _, name := range []string{endpointFailing, endpointFailedAt, endpointFailedFor, endpointUntil, endpointOpened} {
		u.RemoveAttribute(name)
	}

	return u
}

// sendsLike reports whether both endpoints send the same to the same place, so that the answers of one
// say something about the other.
func (e Endpoint) sendsLike(other Endpoint) bool {
	return e.Destination == other.Destination && e.Format == other.Format && e.Version == other.Version &&
		maps.Equal(e.Headers, other.Headers) &&
		slices.EqualFunc(e.Secrets, other.Secrets, func(a, b Secret) bool { return slices.Equal(a.Key, b.Key) })
}

// healthUpdate begins an update of the endpoint after an attempt. It is refused if the endpoint has
// been changed or created again since: the attempt says nothing about the present one.
func (s *Endpoints) healthUpdate(e Endpoint) *dynamo.Update {
	update := s.statusUpdate(e.ID)
	if !e.Configured {
		update.IfEquals(endpointGeneration, dynamo.S(e.generation)).IfEquals(endpointRevision, dynamo.N(e.Revision))
	}

	return update
}

// noteFailure stores the endpoint's health after a failure, unless another worker has stored another
// since it was read. If the endpoint has failed for disableAfter, noteFailure disables it.
func (s *Endpoints) noteFailure(ctx context.Context, e Endpoint, next health, disableAfter time.Duration, reason string) (disabled bool, err error) {
	update := s.healthUpdate(e).
		SetValue(endpointFailedAt, dynamo.Millis(next.failedAt)).
		SetValue(endpointFailedFor, dynamo.N(next.failedFor.Milliseconds()))

	if e.FailingSince.IsZero() {
		update.IfAbsent(endpointFailing).SetValue(endpointFailing, dynamo.Millis(next.failedAt))
	} else {
		update.IfEquals(endpointFailedAt, dynamo.Millis(e.health.failedAt))
	}

	if next.failedFor >= disableAfter {
		disable(update.If(isActive).Bind(":active", dynamo.S(string(Active))), reason, next.failedAt)
	}
	_, applied, err := s.update(ctx, update)

	return applied && next.failedFor >= disableAfter, err
}

// noteSuccess removes the health of the endpoint and the end of its pause.
func (s *Endpoints) noteSuccess(ctx context.Context, e Endpoint) error {
	_, _, err := s.update(ctx, removeHealth(s.healthUpdate(e)))
	return err
}

// noteOpen stores the time until which the circuit of this worker is open, unless a later time is
// stored.
func (s *Endpoints) noteOpen(ctx context.Context, e Endpoint, c circuit) error {
	update := s.healthUpdate(e).
		If("attribute_not_exists(#openUntil) OR #openUntil < :until").
		Bind(":until", dynamo.Millis(c.until)).
		SetValue(endpointUntil, dynamo.Millis(c.until)).
		SetValue(endpointOpened, dynamo.N(int64(c.opened)))
	_, _, err := s.update(ctx, update)

	return err
}

// isActive is the condition that the endpoint is not disabled.
const isActive = "attribute_not_exists(#status) OR #status = :active"

// disableNow disables an endpoint that wants no more messages. It reports false if the endpoint is
// disabled already.
func (s *Endpoints) disableNow(ctx context.Context, e Endpoint, reason string, now time.Time) (bool, error) {
	update := disable(s.healthUpdate(e).If(isActive).Bind(":active", dynamo.S(string(Active))), reason, now)
	_, applied, err := s.update(ctx, update)

	return applied, err
}
