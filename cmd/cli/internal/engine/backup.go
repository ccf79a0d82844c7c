package engine

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"ratchet/cmd/cli/internal/exit"
	"ratchet/cmd/cli/internal/settings"
	"ratchet/cmd/cli/internal/terminal"
	"ratchet/embedded"
	"ratchet/internal/plural"
	"ratchet/server"
)

func backupCommand(s *settings.Settings) *cobra.Command {
	return s.Long(&cobra.Command{
		Use: "backup FILE", Short: "Copy the embedded engine's data into a file, also while `ratchet dev` runs", Args: cobra.ExactArgs(1),
		Long: `Writes a copy of the data directory --data as of one moment into a new FILE, or to standard output
if FILE is -. While ` + "`ratchet dev` or `serve`" + ` runs the engine, it takes the copy and goes on. The
copy holds every write that was acknowledged before, and no transaction in part. It is read again
and compared with its digests before FILE appears.

The file holds everything, also keys of one-time actions: only its owner can read it. On AWS use
point-in-time recovery instead. docs/operate/backup.md describes what a restore repeats.`,
		Example: "  ratchet backup monday.backup\n  ratchet backup - | ssh vault 'cat > monday.backup'",
		RunE: func(c *cobra.Command, args []string) error {
			if args[0] == "-" {
				return takeBackup(c.Context(), s, c.OutOrStdout())
			}

			m, err := backupTo(c.Context(), s, args[0])
			if err != nil {
				return err
			}

			return printBackup(c.OutOrStdout(), s.JSON, "backup of", m, args[0])
		},
	}, "taking the copy")
}

func restoreCommand(s *settings.Settings) *cobra.Command {
	return s.Long(&cobra.Command{
		Use: "restore FILE", Short: "Make the data directory of a backup", Args: cobra.ExactArgs(1),
		Long: `Makes the directory --data of a file of ` + "`ratchet backup`" + `, or of standard input if FILE is -. The
directory must be empty or missing. It appears complete or not at all. Compare orders and journal
afterwards with ` + "`ratchet verify`" + `.

Executions, timers and messages go on from the moment of the backup when ` + "`ratchet dev`" + ` starts.`,
		Example: "  ratchet restore monday.backup --data restored\n  ratchet verify --data restored",
		RunE: func(c *cobra.Command, args []string) error {
			cfg, _, err := s.Load()
			if err != nil {
				return err
			}

			// Standard input has no size, and its progress shows none.
			in, size := io.Reader(os.Stdin), int64(0)
			if args[0] != "-" {
				file, err := os.Open(args[0])
				if err != nil {
					return exit.With(exit.Usage, err)
				}
				defer file.Close()

				info, err := file.Stat()
				if err != nil {
					return err
				}
				in, size = file, info.Size()
			}

			m, err := embedded.Restore(s.Progress.Reading(in, "restored", size), cfg.Data)
			// The answer is a hint about --data, as for other bad input.
			if errors.Is(err, embedded.ErrNotEmpty) || errors.Is(err, embedded.ErrNotDirectory) {
				return exit.UsageError("%w; name another directory with --data, or move this one away", err)
			}

			if err != nil {
				return err
			}

			return printBackup(c.OutOrStdout(), s.JSON, "restored", m, cfg.Data)
		},
	}, "reading the backup")
}

// backupTo writes a backup into a new file. The file appears when the backup is complete.
func backupTo(ctx context.Context, s *settings.Settings, name string) (m embedded.Manifest, err error) {
	// The draft is in the same folder, because a link cannot cross file systems.
	draft, err := os.CreateTemp(filepath.Dir(name), filepath.Base(name)+".partial-*")
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) {
		return m, exit.UsageError("backup: FILE %s: no file can be made in its directory: %w", name, errors.Unwrap(err))
	}

	if err != nil {
		return m, err
	}
	defer func() { err = errors.Join(err, os.Remove(draft.Name())) }()

	// Sync before the link: a power failure must not leave a name without its content.
	err = errors.Join(takeBackup(ctx, s, draft), draft.Sync(), draft.Close())
	if err != nil {
		return m, err
	}

	written, err := os.Open(draft.Name())
	if err != nil {
		return m, err
	}

	size := int64(0)
	if info, err := written.Stat(); err == nil {
		size = info.Size()
	}

	// Read back from the disk: a copy that cannot be restored is found now and not when it is
	// needed.
	m, err = embedded.CheckBackup(s.Progress.Reading(written, "checked", size))
	if err := errors.Join(err, written.Close()); err != nil {
		return m, err
	}

	// A link fails if the name exists, where a rename would replace the file.
	if err := os.Link(draft.Name(), name); err != nil {
		if errors.Is(err, fs.ErrExist) {
			return m, exit.UsageError("backup: FILE must be new: %s is there", name)
		}

		return m, fmt.Errorf("backup: make FILE %q: %w", name, err)
	}

	return m, nil
}

// takeBackup writes a backup of the target's data to w. It is an act, because a backup holds
// everything.
func takeBackup(ctx context.Context, s *settings.Settings, w io.Writer) error {
	w = s.Progress.Writing(w, "copied")

	return withFiles(ctx, s, "backup", "; use point-in-time recovery of its tables, or name a data directory's process with --endpoint-url",
		func(b *server.Backend) error {
			// A served directory can be read only by the process that has it open.
			if b.Engine == nil {
				return fetchBackup(ctx, b, w)
			}

			_, err := b.Engine.Backup(ctx, w)

			return err
		})
}

// fetchBackup gets a backup of the engine at the endpoint.
func fetchBackup(ctx context.Context, b *server.Backend, w io.Writer) error {
	response, err := requestEngine(ctx, b, embedded.BackupTarget, http.NoBody)
	if err != nil {
		return fmt.Errorf("backup: %w", err)
	}
	defer response.Body.Close()

	switch response.StatusCode {
	case http.StatusOK:
	// The engine has no room for the copy, or does not know this command; the answer says so.
	case http.StatusInsufficientStorage, http.StatusForbidden, http.StatusMisdirectedRequest:
		text, err := readAnswer(response)
		return errors.Join(errors.New(strings.TrimSpace(string(text))), err)
	default:
		// Other DynamoDB endpoints answer the unknown operation with an error.
		return exit.UsageError("backup: %s answers %s: only the embedded engine has backups", b.Config.EndpointURL, response.Status)
	}

	if _, err := io.Copy(w, response.Body); err != nil {
		return fmt.Errorf("backup of %s: %w", b.Config.EndpointURL, err)
	}

	return nil
}

// printBackup prints the summary of a backup that was taken or restored. what is "backup of"
// or "restored", the beginning of the line.
func printBackup(out io.Writer, asJSON bool, what string, m embedded.Manifest, name string) error {
	if asJSON {
		return terminal.PrintJSON(out, map[string]any{"name": name, "createdAt": m.CreatedAt, "files": len(m.Files), "bytes": m.Bytes()})
	}

	_, err := fmt.Fprintf(out, "%s %s: %s, %s: %s\n", what, m.CreatedAt.Format(time.RFC3339), plural.Of(len(m.Files), "file"), plural.Of(m.Bytes(), "byte"), name)

	return err
}
