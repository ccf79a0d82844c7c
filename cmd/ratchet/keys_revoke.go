package main

import (
	"github.com/spf13/cobra"

	"ratchet/server"
)

func keysRevoke(s *settings) *cobra.Command {
	return &cobra.Command{
		Use: "revoke KEY", Short: "Revoke a key; servers refuse it within 10 seconds", Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			return s.with(c.Context(), func(b *server.Backend) error {
				return b.APIKeys.Revoke(c.Context(), args[0])
			})
		},
	}
}
