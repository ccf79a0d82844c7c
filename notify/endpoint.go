package notify

import (
	"time"

	"ratchet/notify/webhooks"
)

// EndpointStatus says whether an endpoint gets notifications.
type EndpointStatus string

// The statuses of endpoints.
const (
	Active   EndpointStatus = "ACTIVE"
	Disabled EndpointStatus = "DISABLED"
	// Unreadable is the status of an endpoint in a list whose item cannot be read. It gets no notifications, and
	// its deliveries wait. It can be removed, and created again.
	Unreadable EndpointStatus = "UNREADABLE"
)

// Endpoint is a receiver of notifications: a destination with a filter, secrets and limits. Its
// secrets and the values of its headers are not part of its JSON.
type Endpoint struct {
	// ID is 1 to 64 of A-Z a-z 0-9 _ -. If a tenant owns the endpoint, the tenant's name and a
	// colon come first.
	ID string `json:"id"`
	Settings

	Status EndpointStatus `json:"status"`
	// Reason says why the endpoint is disabled, and since when.
	Reason     string    `json:"reason,omitempty"`
	DisabledAt time.Time `json:"disabledAt,omitzero"`
	// FailingSince is the first failure after the last success, zero if the last attempt succeeded.
	FailingSince time.Time `json:"failingSince,omitzero"`
	health       health
	// OpenUntil is the end of the newest pause in which no worker tries the endpoint, because it
	// failed several times in a row or asked for a pause. Zero after a success.
	OpenUntil time.Time `json:"openUntil,omitzero"`
	CreatedAt time.Time `json:"createdAt,omitzero"`
	UpdatedAt time.Time `json:"updatedAt,omitzero"`
	// Revision counts the changes of the settings and secrets.
	Revision int64 `json:"revision"`
	// Configured says that the endpoint is one of EndpointsConfig.Configured. Only its
	// status can be changed.
	Configured bool `json:"configured,omitempty"`

	opened int // circuit.opened of the worker that has set OpenUntil

	// generation names one creation of the endpoint, and never comes again: an endpoint that is created
	// under the id of a removed one has another. Deliveries have it, too.
	generation string

	// Secrets sign messages to webhooks, the newest first.
	Secrets []Secret `json:"-"`
}

// Secret signs webhooks until Until. If Until is zero, it signs without end.
type Secret struct {
	Key   webhooks.Secret
	Until time.Time
}

// Signing returns the secrets that sign at the time, the newest first.
func (e Endpoint) Signing(at time.Time) (keys []webhooks.Secret) {
	for _, s := range e.Secrets {
		if s.Until.IsZero() || at.Before(s.Until) {
			keys = append(keys, s.Key)
		}
	}

	return keys
}

// signing returns the endpoint with the secrets that sign at the time, without their ends: opening its
// destination needs no clock.
func (e Endpoint) signing(at time.Time) Endpoint {
	keys := e.Signing(at)
	e.Secrets = make([]Secret, len(keys))

	for i, key := range keys {
		e.Secrets[i].Key = key
	}

	return e
}

// configuredGeneration is the generation of all endpoints of the configuration: whatever the
// configuration says now, it is the same endpoint.
const configuredGeneration = "configured"

// version names the settings and secrets of an endpoint. It never comes again.
type version struct {
	generation string
	revision   int64
}

func (e Endpoint) version() version { return version{e.generation, e.Revision} }

// owns reports whether the delivery is for this endpoint. A delivery of an endpoint that had the id
// before is not, unless it was stored by a worker that had not heard of the new endpoint yet.
func (e Endpoint) owns(d Delivery) bool {
	return d.generation == e.generation || e.wants(d.Notification)
}

// wants reports whether the endpoint gets the notification. An endpoint gets nothing that happened more than
// startMargin before it was created.
func (e Endpoint) wants(n Notification) bool {
	return e.Status != Unreadable && !n.isBefore(e.CreatedAt) && e.Filter.Matches(n)
}

// rotated returns the secrets after a change: the new secret, and the one before it until until.
// Older secrets end at once. If until is zero, the one before ends at once, too.
func (e Endpoint) rotated(key webhooks.Secret, until time.Time) []Secret {
	next := []Secret{{Key: key}}
	if len(e.Secrets) > 0 && !until.IsZero() {
		// Only the newest of the old secrets: a message has at most two signatures.
		next = append(next, Secret{e.Secrets[0].Key, until})
	}

	return next
}
