package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"ratchet/once"
	"ratchet/server"
)

func claimsCommand(s *settings) *cobra.Command {
	return group("claims", "Look at claims, run a command once, free a key",
		claimsGet(s), claimsUnsettled(s), claimsRun(s), claimsForceRelease(s))
}

func claimRecord(ctx context.Context, b *server.Backend, key string) (once.Record, error) {
	r, there, err := b.Claims.Get(ctx, key)
	if err == nil && !there {
		return r, fmt.Errorf("claim %s: %w", key, errNotFound)
	}

	return r, err
}
