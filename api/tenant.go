package api

import (
	"strings"

	"ratchet/api/auth"
	"ratchet/transitions"
)

// tenant turns a caller's ids into stored ones and back. Only this file makes stored
// ids from what a request brought, so no call of a domain package lacks a tenant.
//
// The default tenant's ids are stored as they are; another's with its name and a colon
// in front. No id of a request and no tenant has a colon (package input), so two pairs of
// tenant and id never make one stored id, and the default tenant reaches nobody else's.
// With a tenant's 20 characters and the colon, an id of 96 is within an order's 128.
type tenant auth.Tenant

func (t tenant) stored(id string) string {
	if auth.Tenant(t) == auth.DefaultTenant {
		return id
	}
	return string(t) + ":" + id
}

// own takes the tenant off a stored id; false: it is another's.
func (t tenant) own(stored string) (id string, ok bool) {
	name, rest, prefixed := strings.Cut(stored, ":")
	if auth.Tenant(t) == auth.DefaultTenant {
		return stored, !prefixed
	}

	return rest, prefixed && name == string(t)
}

// shown is own for what hangs on something that is the tenant's already.
func (t tenant) shown(stored string) string {
	if id, ok := t.own(stored); ok {
		return id
	}
	return stored
}

func (t tenant) order(id string) transitions.OrderID { return transitions.OrderID(t.stored(id)) }

// storedAfter returns the stored id at which a page continues. A cursor is sealed by this
// service, so it holds an id as it is stored.
func storedAfter(cursor string) transitions.OrderID { return transitions.OrderID(cursor) }
