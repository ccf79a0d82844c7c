package arguments

import (
	"ratchet/api/auth"
)

// OwnerOf returns the text before the colon in the ids of a tenant's orders. It is "" for the
// default tenant, whose ids have no colon.
func OwnerOf(tenant string) string {
	if auth.Tenant(tenant) == auth.DefaultTenant {
		return ""
	}

	return tenant
}
