package notify

import (
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"strings"
	"time"

	"ratchet/internal/ids"
	"ratchet/transitions"
	"ratchet/workflow"
)

// Notification says that an event has moved an order to a state, or kept it there. Its JSON is the data of version 1 (see
// [Settings.Version]). That JSON contains no personal data: a receiver that needs to know the
// customer asks the order service.
type Notification struct {
	// Key is orderId/incarnation/transitionId/notify. A repeat has the same key. A further slash and text ask for
	// a delivery of its own, for another consumer group or a replay.
	Key     string              `json:"key"`
	OrderID transitions.OrderID `json:"orderId"`
	// Incarnation is the life of the order: an id that is used again has another one. It is in the Key.
	Incarnation  transitions.Incarnation  `json:"-"`
	TransitionID transitions.TransitionID `json:"transitionId"`
	// Previous is the transition right before it, 0 if that is not known. With it, the deliveries of an order
	// are not read for each of its notifications.
	Previous transitions.TransitionID `json:"-"`
	State    workflow.State           `json:"state"`
	At       time.Time                `json:"at"`
	// RecordedAt is when the change was recorded by the stream, by the clock of the service, in whole
	// seconds. Zero: At is used, which is by the clock of the machine that made the change.
	RecordedAt time.Time `json:"-"`

	// Named says that only an endpoint whose filter names the event gets the notification: the event has kept
	// the order's state, or leads to a state that customers are not notified of.
	Named bool `json:"-"`

	// Event is the event that moved the order, From the state before: "" if the order was placed.
	Event workflow.Event `json:"-"`
	From  workflow.State `json:"-"`
	// Cause is why the transition was requested. Version 2 of the payload shows it.
	Cause transitions.Cause `json:"-"`
	// Attributes are values by the names in [AttributeNames]. Filters can compare them, and version
	// 2 of the payload has them.
	Attributes map[string]string `json:"-"`
}

// AttributeNames returns the names of the attributes that a filter may have.
func AttributeNames() []string { return []string{"currency", "customer", "placedBy"} }

// ID is the id of the message about the notification, made of characters that webhooks allow.
// It is the same for every endpoint and attempt.
func (n Notification) ID() string {
	const bytes = 18 // of the digest, 24 characters
	sum := sha256.Sum256([]byte(n.Key))

	return "ntf_" + base64.RawURLEncoding.EncodeToString(sum[:bytes])
}

// startMargin is how much older than its endpoint a notification may be and is sent all the same: both times
// are in whole seconds, and a time without RecordedAt is by another clock.
const startMargin = 5 * time.Second

// isBefore reports whether the change was made before the time, by more than the margin.
func (n Notification) isBefore(start time.Time) bool {
	at := n.RecordedAt
	if at.IsZero() {
		at = n.At
	}

	return at.Before(start.Add(-startMargin))
}

// repeat returns the part of the key after orderId/incarnation/transitionId/notify/, or "".
func (n Notification) repeat() string {
	_, handler, _ := strings.Cut(strings.TrimPrefix(n.Key, fmt.Sprintf("%s/%s/", ids.Encode(string(n.OrderID)), n.Incarnation)), "/")
	_, again, _ := strings.Cut(handler, "/")

	return again
}

// tenantOf returns the tenant, which stands before the colon of an id; "" for the default tenant.
func tenantOf(id string) string {
	if tenant, _, prefixed := strings.Cut(id, ":"); prefixed {
		return tenant
	}

	return ""
}
