package main

import (
	"github.com/spf13/cobra"

	"ratchet/server"
)

func locksAcquire(s *settings) *cobra.Command {
	c := &cobra.Command{
		Use: "acquire KEY --holder NAME", Short: "Take a key for all time, or say who has it", Args: cobra.ExactArgs(1),
		Long: "Takes the key with one write. Exit status 0 when the holder has it, now or from before, and 3 when\n" +
			"somebody else does. Nothing ever frees it: what is done under a lock is done at most once, and not\n" +
			"at all when its holder crashes. Use `ratchet claims run` for what must be done.",
	}
	holder := c.Flags().String("holder", "", "who takes it, unique to the request (required)")
	c.RunE = func(c *cobra.Command, args []string) error {
		if *holder == "" {
			return usageError("acquire needs --holder")
		}

		return s.with(c.Context(), func(b *server.Backend) error {
			lock, err := b.Locks.Acquire(c.Context(), args[0], *holder)
			if err != nil {
				return err
			}

			if err := printLock(c, s, lock); err != nil || lock.Acquired {
				return err
			}

			return &statusError{exitRefused, nil}
		})
	}

	return c
}
