package events

import (
	"context"

	"ratchet/once"
)

// claimKey is the context key of the claim.
type claimKey struct{}

func withClaim(ctx context.Context, claim *once.Claim) context.Context {
	return context.WithValue(ctx, claimKey{}, claim)
}

// ClaimFrom returns the claim under which a handler or a function runs, nil if there is none. If
// its Outcome is TakenOver, an earlier run may have had its effect: look for that effect before you
// repeat it. Make your writes conditional on its Fence. This package ends the claim; the handler
// must not end it.
func ClaimFrom(ctx context.Context) *once.Claim {
	claim, _ := ctx.Value(claimKey{}).(*once.Claim)
	return claim
}
