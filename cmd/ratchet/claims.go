package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"os/user"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"ratchet/once"
	"ratchet/server"
)

func claimsCommand(s *settings) *cobra.Command {
	return group("claims", "Look at claims, run a command once, free a key",
		claimsGet(s), claimsUnsettled(s), claimsRun(s), claimsForceRelease(s))
}

func claimsGet(s *settings) *cobra.Command {
	return &cobra.Command{
		Use: "get KEY", Short: "Show the record under a key", Args: cobra.ExactArgs(1),
		Long: "Shows what the claims table holds under an idempotency key. \"ref\" is how the logs abbreviate\n" +
			"the key. A result is not shown, only its size.",
		RunE: func(c *cobra.Command, args []string) error {
			return s.with(c.Context(), func(b *server.Backend) error {
				r, err := claimRecord(c.Context(), b, args[0])
				if err != nil {
					return err
				}

				if s.json {
					return printJSON(c.OutOrStdout(), struct {
						once.Record
						Ref string `json:"ref"`
					}{r, b.Claims.Ref(r.Key)})
				}

				return printClaim(c.OutOrStdout(), r, b.Claims.Ref(r.Key))
			})
		},
	}
}

func claimRecord(ctx context.Context, b *server.Backend, key string) (once.Record, error) {
	r, there, err := b.Claims.Get(ctx, key)
	if err == nil && !there {
		return r, fmt.Errorf("claim %s: %w", key, errNotFound)
	}

	return r, err
}

func printClaim(out io.Writer, r once.Record, ref string) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintf(w, "key\t%s\nref\t%s\nstatus\t%s\n", r.Key, ref, r.Status)

	for _, line := range []struct{ name, value string }{
		{"operation", r.Operation}, {"failure", r.FailureCode}, {"released by", r.ReleasedBy}, {"because", r.Reason}} {
		if line.value != "" {
			fmt.Fprintf(w, "%s\t%s\n", line.name, line.value)
		}
	}
	fmt.Fprintf(w, "fence\t%d\nclaimed\t%s\nlease until\t%s\nupdated\t%s\n", r.Fence, stamp(r.ClaimedAt), stamp(r.LeaseUntil), stamp(r.UpdatedAt))

	kept := "for ever"
	if !r.ExpiresAt.IsZero() {
		kept = "until " + stamp(r.ExpiresAt)
	}
	fmt.Fprintf(w, "kept\t%s\nresult\t%d bytes\n", kept, r.ResultBytes)

	return w.Flush()
}

func claimsUnsettled(s *settings) *cobra.Command {
	c := &cobra.Command{
		Use: "unsettled", Short: "List keys that nobody finishes: unknown outcomes and expired leases", Args: cobra.NoArgs,
		Long: "Reads the whole claims table, in pages, and lists records with an unknown outcome, and those in\n" +
			"progress whose lease ran out --age ago. Exit status 1 when there are any.",
	}
	age := c.Flags().Duration("age", time.Minute, "how long ago a lease must have run out")
	limit := c.Flags().Int("limit", 100, "list at most so many")
	c.RunE = func(c *cobra.Command, _ []string) error {
		if *age < 0 || *limit < 1 {
			return usageError("--age must not be negative, and --limit at least 1")
		}
		return s.with(c.Context(), func(b *server.Backend) error { return listUnsettled(c, s, b, time.Now().Add(-*age), *limit) })
	}

	return c
}

func listUnsettled(c *cobra.Command, s *settings, b *server.Backend, before time.Time, limit int) error {
	found := 0
	for after := ""; ; {
		page, next, err := b.Claims.Unsettled(c.Context(), before, after, 1000)
		if err != nil {
			return err
		}

		for _, r := range page {
			if found++; found > limit {
				return &statusError{exitFailure, nil}
			}

			if s.json {
				if err := printJSON(c.OutOrStdout(), r); err != nil {
					return err
				}
				continue
			}
			fmt.Fprintf(c.OutOrStdout(), "%s\t%s\t%s\tsince %s\n", r.Key, r.Status, r.Operation, stamp(r.ClaimedAt))
		}

		if after = next; next == "" {
			break
		}
	}

	if found > 0 {
		return &statusError{exitFailure, nil}
	}

	return nil
}

// shell is the operation of commands that are run once.
const shell = "shell/v1"

func claimsRun(s *settings) *cobra.Command {
	c := &cobra.Command{
		Use: "run KEY -- COMMAND [ARG...]", Short: "Run a command once under a key, and print its output", Args: cobra.MinimumNArgs(2),
		Long: "Claims the key, runs the command, stores what it printed, and prints it. Later calls with the same\n" +
			"key and command print the same without running it. While it runs the claim is extended. When it\n" +
			"fails the key is free again.",
	}
	wait := c.Flags().Duration("wait", 0, "wait so long for another one who runs it")
	c.RunE = func(c *cobra.Command, args []string) error {
		if *wait < 0 {
			return usageError("wait %s: must not be negative", *wait)
		}

		return s.with(c.Context(), func(b *server.Backend) error {
			claims, err := once.New(once.Config{DynamoDB: b.DynamoDB, Table: b.Tables.Once, Operation: shell, Heartbeat: true})
			if err != nil {
				return err
			}
			line := strings.Join(args[1:], "\x00")

			output, _, err := claims.Waiting(*wait).Do(c.Context(), args[0], []byte(line), func(ctx context.Context, _ *once.Claim) ([]byte, error) {
				command := exec.CommandContext(ctx, args[1], args[2:]...) //nolint:gosec // G204: running the user's command is what it is for
				command.Stderr = os.Stderr
				return command.Output()
			})
			if err != nil {
				return err
			}
			_, err = c.OutOrStdout().Write(output)

			return err
		})
	}

	return c
}

func claimsForceRelease(s *settings) *cobra.Command {
	c := &cobra.Command{
		Use: "force-release KEY", Short: "Free a key, whoever holds it", Args: cobra.ExactArgs(1),
		Long: "Frees the key: the next caller does the work again. A former holder is fenced off. Make sure that\n" +
			"the work had no effect, or may have it twice. Who and why are kept in the record and logged.",
	}
	reason := c.Flags().String("reason", "", "why (required)")
	by := c.Flags().String("by", "", "who (default: the user who runs this)")
	finished := c.Flags().Bool("finished", false, "free it although its work is done")
	c.RunE = func(c *cobra.Command, args []string) error {
		if *by == "" {
			if u, err := user.Current(); err == nil {
				*by = u.Username
			}
		}

		if *reason == "" || *by == "" {
			return usageError("force-release needs --reason, and --by where the user is not known")
		}

		return s.with(c.Context(), func(b *server.Backend) error {
			r, err := claimRecord(c.Context(), b, args[0])
			if err != nil {
				return err
			}

			if (r.Status == once.StatusCompleted || r.Status == once.StatusFailed) && !*finished {
				return &statusError{exitRefused, fmt.Errorf("claim %s is %s: releasing it repeats work that was done; say --finished", r.Key, r.Status)}
			}

			if err := b.Claims.ForceRelease(c.Context(), r, *by, *reason); err != nil {
				return err
			}
			slog.New(slog.NewTextHandler(c.ErrOrStderr(), nil)).LogAttrs(c.Context(), slog.LevelWarn, "audit: claim force-released",
				slog.String("ref", b.Claims.Ref(r.Key)), slog.String("was", string(r.Status)), slog.Int64("fence", r.Fence), slog.String("by", *by), slog.String("reason", *reason))

			if s.json {
				return printJSON(c.OutOrStdout(), map[string]any{"key": r.Key, "was": r.Status, "released": true})
			}
			fmt.Fprintf(c.OutOrStdout(), "released: it was %s, claimed %s\n", r.Status, stamp(r.ClaimedAt))

			return nil
		})
	}

	return c
}
