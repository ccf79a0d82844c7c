package develop

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"ratchet/cmd/cli/internal/exit"
	"ratchet/cmd/cli/internal/settings"
	"ratchet/once"
	"ratchet/server"
)

func claimsCommand(s *settings.Settings) *cobra.Command {
	return settings.Group("claims", "Show claims, run a command once, release a key",
		append(s.PrintsJSON(claimsGet(s), claimsUnsettled(s), claimsForceRelease(s)), claimsRun(s))...)
}

// claimRecord returns the record under the key, or exit.ErrNotFound if there is none.
func claimRecord(ctx context.Context, b *server.Backend, key string) (once.Record, error) {
	r, found, err := b.Claims.Get(ctx, key)
	if err == nil && !found {
		return r, fmt.Errorf("claim %s: %w", key, exit.ErrNotFound)
	}

	return r, err
}
