package api

import (
	"context"
	"errors"
	"net/http"

	"ratchet/api/auth"
)

// Identity is the caller of a request that another part of this process makes.
type Identity struct {
	auth.Principal
	// Valid returns an error when the caller's credential has ended: [auth.ErrRefused] ends its requests, other
	// errors say that it could not be checked. It is called before each request and, while an event stream is
	// open, every two seconds. Nil: the caller stays valid.
	Valid func(context.Context) error
	// Via names the part of the process that makes the request, such as "console". Audit lines and the rows of
	// acts have it in place of "api". Default "api".
	Via string
}

// identityKey is the key of an Identity in the context of a request. No header becomes a part of a context, so a
// request from the network never has one.
type identityKey struct{}

// As returns a copy of the request that the handler of [New] serves as a request of the caller, whatever
// credentials it carries. Scope, tenant, grants, the limits of the caller and its tenant, repeats and audit are those
// of a request from the network. Not checked are Host and Origin, which belong to the listener that the request came
// to: one that turns requests of browsers into such calls must check them itself (package door). Nor does the call count
// for an address, since it has no connection of its own.
func As(r *http.Request, by Identity) *http.Request {
	return r.WithContext(context.WithValue(r.Context(), identityKey{}, by))
}

// identityOf returns the caller that the process itself has named.
func identityOf(ctx context.Context) (Identity, bool) {
	by, has := ctx.Value(identityKey{}).(Identity)
	return by, has
}

// validity asks whether the caller is still valid. An identity without a caller that keys and tokens could name is
// refused: a part of the process has left something out.
func (i Identity) validity(ctx context.Context) error {
	switch {
	case i.ID == "" || !i.Scope.Valid() || i.Tenant.Validate() != nil:
		return auth.ErrRefused
	case i.Valid == nil:
		return nil
	}

	return i.Valid(ctx)
}

// admitIdentity returns the problem of an identity that is not valid, nil for others.
func (s *service) admitIdentity(ctx context.Context, by Identity) *problem {
	err := by.validity(ctx)

	switch {
	case err == nil:
		return nil
	case errors.Is(err, auth.ErrRefused):
		return unauthenticated()
	}

	s.cfg.Log.WarnContext(ctx, "the caller of a call in this process cannot be checked", "request", callOf(ctx).id, "error", err)

	return newProblem(http.StatusServiceUnavailable, "unavailable", "Credentials cannot be checked now.").retryAfter(1)
}
