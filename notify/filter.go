package notify

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"

	"ratchet/workflow"
)

// AllTenants is the [Filter.Tenant] of an endpoint that gets the notifications of all tenants.
const AllTenants = "*"

// Filter selects notifications. An empty field selects all notifications, except for Tenant. Those about an
// event that keeps the order's state ([Notification].Named) are selected by the event's name only.
type Filter struct {
	// States are the states that the order enters, Events the events that moved it, at most 64 of
	// each.
	States []workflow.State `json:"states,omitempty"`
	Events []workflow.Event `json:"events,omitempty"`
	// Tenant is the tenant whose orders are meant: a tenant of the HTTP API, "" for the tenant
	// without a name, or [AllTenants].
	Tenant string `json:"tenant,omitempty"`
	// Attributes are values that the order must have. [AttributeNames] has the names.
	Attributes map[string]string `json:"attributes,omitempty"`
}

const (
	maxFilterNames = 64
	maxFilterValue = 256
)

var (
	nameRule   = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z0-9_.-]{1,64}$`) })
	tenantRule = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^([A-Za-z0-9_-]{0,64}|\*)$`) })
)

func (f Filter) check() (faults []error) {
	require := func(ok bool, format string, args ...any) {
		if !ok {
			faults = append(faults, fmt.Errorf("%w: filter: "+format, append([]any{ErrInvalid}, args...)...))
		}
	}

	require(len(f.States) <= maxFilterNames, "%d states, at most %d", len(f.States), maxFilterNames)
	require(len(f.Events) <= maxFilterNames, "%d events, at most %d", len(f.Events), maxFilterNames)

	for _, state := range f.States {
		require(nameRule().MatchString(string(state)), "state %q: 1 to 64 of A-Z a-z 0-9 _ . -", state)
	}

	for _, event := range f.Events {
		require(nameRule().MatchString(string(event)), "event %q: 1 to 64 of A-Z a-z 0-9 _ . -", event)
	}

	require(tenantRule().MatchString(f.Tenant), "tenant %q: a tenant's name, or * for all", f.Tenant)

	for _, name := range slices.Sorted(maps.Keys(f.Attributes)) {
		require(slices.Contains(AttributeNames(), name), "attribute %q: one of %s", name, strings.Join(AttributeNames(), ", "))
		require(len(f.Attributes[name]) <= maxFilterValue, "attribute %s: at most %d bytes", name, maxFilterValue)
	}

	return faults
}

// Matches reports whether the filter selects the notification.
func (f Filter) Matches(n Notification) bool {
	switch {
	case f.Tenant != AllTenants && f.Tenant != tenantOf(string(n.OrderID)):
		return false
	case len(f.States) > 0 && !slices.Contains(f.States, n.State):
		return false
	case (n.Named || len(f.Events) > 0) && !slices.Contains(f.Events, n.Event):
		return false
	}

	for name, value := range f.Attributes {
		// An attribute that the order does not have, or has no longer, matches no value.
		if has, known := n.Attributes[name]; !known || has != value {
			return false
		}
	}

	return true
}
