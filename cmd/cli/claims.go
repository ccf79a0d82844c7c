package cli

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"ratchet/once"
	"ratchet/server"
)

func claimsCommand(s *settings) *cobra.Command {
	return group("claims", "Show claims, run a command once, release a key",
		append(s.printsJSON(claimsGet(s), claimsUnsettled(s), claimsForceRelease(s)), claimsRun(s))...)
}

// claimRecord returns the record under the key, or errNotFound if there is none.
func claimRecord(ctx context.Context, b *server.Backend, key string) (once.Record, error) {
	r, found, err := b.Claims.Get(ctx, key)
	if err == nil && !found {
		return r, fmt.Errorf("claim %s: %w", key, errNotFound)
	}

	return r, err
}
