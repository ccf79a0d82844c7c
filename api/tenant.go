package api

import (
	"strings"

	"ratchet/api/auth"
	"ratchet/transitions"
)

// tenant converts a caller's ids to stored ids and back. Only this file makes stored ids
// from parts of a request, so no call of a domain package can lack the tenant.
//
// The default tenant's ids are stored as they are. The ids of other tenants are stored behind
// the tenant's name and a colon. Ids of requests (package input) and names of tenants contain
// no colon, so two different pairs of tenant and id never have the same stored id. A tenant's
// name of 20 characters, the colon and an id of 96 fit into the 128 characters of an order's
// id.
type tenant auth.Tenant

// storedID returns the id under which the tenant's thing is stored.
func (t tenant) storedID(id string) string {
	if auth.Tenant(t) == auth.DefaultTenant {
		return id
	}

	return string(t) + ":" + id
}

// owner returns the text before the colon of the tenant's stored ids, "" without a colon.
func (t tenant) owner() string {
	if auth.Tenant(t) == auth.DefaultTenant {
		return ""
	}

	return string(t)
}

// ownID returns the tenant's id of a thing with the stored id. It reports false if the thing
// belongs to another tenant.
func (t tenant) ownID(stored string) (id string, ok bool) {
	name, rest, prefixed := strings.Cut(stored, ":")
	if auth.Tenant(t) == auth.DefaultTenant {
		return stored, !prefixed
	}

	return rest, prefixed && name == string(t)
}

// publicID returns the tenant's id for a stored id in a thing of the tenant's own.
func (t tenant) publicID(stored string) string {
	if id, ok := t.ownID(stored); ok {
		return id
	}

	// The thing was not made through the API, and refers to an id without the tenant's name.
	return stored
}

func (t tenant) orderID(id string) transitions.OrderID { return transitions.OrderID(t.storedID(id)) }

// storedAfter returns the stored id at which a page continues. A cursor is sealed by this
// service, so it holds an id as it is stored.
func storedAfter(cursor string) transitions.OrderID { return transitions.OrderID(cursor) }
