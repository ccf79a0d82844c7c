package embedded

import (
	"archive/tar"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"ratchet/embedded/internal/store"
)

// BackupTarget is the X-Amz-Target of a request whose answer is a backup. AWS does not have it.
const BackupTarget = adminService + ".Backup"

// backupFormat is the number of the form of a backup: the archive and its manifest. The data in it has a number of
// its own.
const backupFormat = 1

// manifestName is the last file of a backup. A backup without it is incomplete.
const manifestName = "backup.json"

// checkpointPrefix begins the names of directories in Config.Dir that hold a checkpoint while
// it is sent.
const checkpointPrefix = "checkpoint-"

// Manifest describes a backup.
type Manifest struct {
	Format    int          `json:"format"`
	CreatedAt time.Time    `json:"createdAt"`
	Files     []BackupFile `json:"files"`
}

// BackupFile is a file of a backup.
type BackupFile struct {
	Name   string `json:"name"`
	Bytes  int64  `json:"bytes"`
	SHA256 string `json:"sha256"` // hexadecimal
}

// Bytes returns the size of the files before compression.
func (m Manifest) Bytes() (sum int64) {
	for _, file := range m.Files {
		sum += file.Bytes
	}

	return sum
}

// Backup writes a copy of the engine's data to w, as a compressed tar archive, while the engine
// serves calls. The copy is the data at one moment: it holds every write that was acknowledged
// before Backup was called, and no transaction in part. [Restore] creates a data directory from it.
//
// While Backup runs, the data directory keeps files that the engine would have deleted. Restore
// refuses an archive that was cut off, also by an error of Backup.
func (e *Engine) Backup(ctx context.Context, w io.Writer) (m Manifest, err error) {
	defer e.gate.leave()

	if !e.gate.enter() {
		return m, ErrClosed
	}

	return e.backup(ctx, w)
}

// backup is Backup inside the gate.
func (e *Engine) backup(ctx context.Context, w io.Writer) (m Manifest, err error) {
	if e.cfg.inMemory {
		return m, errors.New("backup: the engine keeps its data in memory")
	}

	parent, err := os.MkdirTemp(e.cfg.Dir, checkpointPrefix+"*")
	if err != nil {
		return m, fmt.Errorf("backup: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(parent)) }()

	// The checkpoint is within a directory of its own, because Checkpoint needs a name
	// that does not exist.
	checkpoint := filepath.Join(parent, "data")
	m = Manifest{Format: backupFormat, CreatedAt: time.Now().UTC()}

	if err := e.db.Checkpoint(checkpoint); err != nil {
		return m, fmt.Errorf("backup: %w", err)
	}

	if err := m.write(ctx, w, checkpoint, e.cfg.Dir, e.cfg.BackupFiles); err != nil {
		return m, fmt.Errorf("backup: %w", err)
	}

	return m, nil
}

// write writes the archive and fills m.Files: all files of the checkpoint, then the further files
// that exist in dir.
func (m *Manifest) write(ctx context.Context, w io.Writer, checkpoint, dir string, further []string) error {
	compressed, err := gzip.NewWriterLevel(w, gzip.BestSpeed)
	if err != nil {
		return err
	}
	archive := tar.NewWriter(compressed)

	entries, err := os.ReadDir(checkpoint)
	if err != nil {
		return err
	}

	for _, entry := range entries {
		if err := m.add(ctx, archive, filepath.Join(checkpoint, entry.Name())); err != nil {
			return err
		}
	}

	for _, name := range further {
		err := m.add(ctx, archive, filepath.Join(dir, name))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}

	// The manifest is last: an archive with a manifest is complete.
	text, err := json.MarshalIndent(m, "", "  ")
	if err != nil {
		return err
	}

	if err := archive.WriteHeader(m.header(manifestName, int64(len(text)))); err != nil {
		return err
	}

	if _, err := archive.Write(text); err != nil {
		return err
	}

	return errors.Join(archive.Close(), compressed.Close())
}

// add adds a file to the archive. Of a file that grows meanwhile, add copies the bytes that were
// there at the beginning.
func (m *Manifest) add(ctx context.Context, archive *tar.Writer, path string) error {
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer file.Close()

	info, err := file.Stat()
	if err != nil {
		return err
	}

	added := BackupFile{Name: filepath.Base(path), Bytes: info.Size()}
	if err := archive.WriteHeader(m.header(added.Name, added.Bytes)); err != nil {
		return err
	}

	// Exactly the bytes that the header has announced: a log may grow meanwhile.
	digest := sha256.New()
	if _, err := io.CopyN(io.MultiWriter(archive, digest), contextReader{ctx, file}, added.Bytes); err != nil {
		return fmt.Errorf("%s: %w", added.Name, err)
	}

	added.SHA256 = hex.EncodeToString(digest.Sum(nil))
	m.Files = append(m.Files, added)

	return nil
}

func (m *Manifest) header(name string, size int64) *tar.Header {
	return &tar.Header{Name: name, Mode: 0o600, Size: size, ModTime: m.CreatedAt.Truncate(time.Second)}
}

// contextReader fails once its context has ended.
type contextReader struct {
	ctx  context.Context //nolint:containedctx // it lives as long as one copy
	file io.Reader
}

func (r contextReader) Read(p []byte) (int, error) {
	if err := r.ctx.Err(); err != nil {
		return 0, err
	}

	return r.file.Read(p)
}

// serveBackups answers requests for a backup, and passes the others on. Without room on the disk the status
// is 507. A backup that fails after its first bytes ends the connection, so that the caller does not take it
// for complete.
func (e *Engine) serveBackups(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if target := r.Header["X-Amz-Target"]; r.Method != http.MethodPost || len(target) != 1 || target[0] != BackupTarget {
			next.ServeHTTP(w, r)
			return
		}

		w.Header().Set("Content-Type", "application/gzip")

		_, err := e.backup(r.Context(), w)
		switch {
		case errors.Is(err, store.ErrFull): // nothing was sent yet
			http.Error(w, err.Error(), http.StatusInsufficientStorage)
		case err != nil:
			e.cfg.Log.Error("backup failed", "error", err)
			panic(http.ErrAbortHandler)
		}
	})
}

// removeCheckpoints removes the checkpoints of a process that was killed during a backup.
func removeCheckpoints(dir string) error {
	left, err := filepath.Glob(filepath.Join(dir, checkpointPrefix+"*"))
	for _, path := range left {
		err = errors.Join(err, os.RemoveAll(path))
	}

	return err
}
