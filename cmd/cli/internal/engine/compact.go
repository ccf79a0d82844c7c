package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"

	"github.com/spf13/cobra"

	"ratchet/cmd/cli/internal/exit"
	"ratchet/cmd/cli/internal/settings"
	"ratchet/cmd/cli/internal/terminal"
	"ratchet/embedded"
	"ratchet/internal/plural"
	"ratchet/server"
)

func compactCommand(s *settings.Settings) *cobra.Command {
	return s.Long(&cobra.Command{
		Use: "compact", Short: "Rewrite the embedded engine's files without what was overwritten or deleted", Args: cobra.NoArgs,
		Long: `Rewrites the files in the data directory --data, so that what was overwritten or deleted leaves the
tables on disk, and prints their size before and after. While ` + "`ratchet dev` or `serve`" + ` runs the
engine, it does this and goes on. It needs room for a second copy of the data.

Run it after ` + "`ratchet orders erase`" + `, or to get space back at once. If no process serves the directory,
logs and manifests of the store are cleaned, too: then no file holds what was erased. Otherwise
they may hold some of it until the process was started twice more. docs/operate/privacy.md has the details.`,
		Example: "  ratchet orders erase o-1 && ratchet compact\n  ratchet compact --endpoint-url http://127.0.0.1:8700 --json",
		RunE: func(c *cobra.Command, _ []string) error {
			done, err := compact(c.Context(), s)
			if err != nil {
				return err
			}

			if s.JSON {
				return terminal.PrintJSON(c.OutOrStdout(), done)
			}
			_, err = fmt.Fprintf(c.OutOrStdout(), "compacted: %s before, %d after\n", plural.Of(done.BytesBefore, "byte"), done.BytesAfter)

			return err
		},
	}, compacting)
}

// compacting is the progress of a compaction that has not counted anything.
const compacting = "compacting"

// compact compacts the target's data. It is an act.
func compact(ctx context.Context, s *settings.Settings) (done embedded.Compaction, err error) {
	dir := "" // of an engine in this process

	err = withFiles(ctx, s, "compact", ", which has no files to compact; name a data directory, or its process with --endpoint-url",
		func(b *server.Backend) (err error) {
			if b.Engine != nil {
				dir = b.Config.Data
			}

			// The engine counts the bytes, and is asked whenever the progress is shown.
			s.Progress.Follow(func() string { return describeCompaction(ctx, b) })
			// The last count would stay on the terminal while the engine closes.
			defer s.Progress.Print(compacting)

			done, err = askCompaction(ctx, b, embedded.CompactTarget)

			return err
		})
	// Tidy needs the directory for itself. A directory that another process serves is left as it
	// is.
	if err != nil || dir == "" {
		return done, err
	}

	// The engine in this process has just been closed; its lock may be held by another command for
	// a moment.
	_, err = settings.UntilUnlocked(ctx, func() (struct{}, error) {
		return struct{}{}, embedded.Tidy(embedded.Config{Dir: dir, Failed: exit.EndProcess})
	})

	return done, err
}

// describeCompaction says how far the compaction of the engine is.
func describeCompaction(ctx context.Context, b *server.Backend) string {
	c, err := askCompaction(ctx, b, embedded.CompactionTarget)
	// An error of this request only hides the progress; the compaction reports its own errors.
	if err != nil || !c.Running {
		return compacting
	}

	return fmt.Sprintf("%s written, of at most about %d", plural.Of(c.BytesWritten, "byte"), c.BytesBefore)
}

// askCompaction makes one of the engine's requests about compactions.
func askCompaction(ctx context.Context, b *server.Backend, target string) (c embedded.Compaction, err error) {
	response, err := requestEngine(ctx, b, target, http.NoBody)
	if err != nil {
		return c, fmt.Errorf("compact: %w", err)
	}

	answer, err := readAnswer(response)
	if err != nil {
		return c, fmt.Errorf("compact: %w", err)
	}

	switch response.StatusCode {
	case http.StatusOK:
	case http.StatusInsufficientStorage, http.StatusForbidden, http.StatusMisdirectedRequest:
		var refused struct {
			Message string `json:"message"`
		}

		// The engine answers with AWS's form of an error.
		return c, errors.Join(json.Unmarshal(answer, &refused), errors.New(refused.Message))
	default:
		return c, exit.UsageError("compact: %s answers %s %s: only the embedded engine can be compacted, and once at a time",
			response.Request.URL, response.Status, answer)
	}

	if err := json.Unmarshal(answer, &c); err != nil {
		return c, fmt.Errorf("compact: read the answer: %w", err)
	}

	return c, nil
}
