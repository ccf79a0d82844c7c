package embedded

import (
	"archive/tar"
	"compress/gzip"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"ratchet/embedded/internal/store"
)

// ErrBackup is the error of a backup that is incomplete, damaged, or of another format.
var ErrBackup = errors.New("not a complete backup")

// Errors of a restore.
var (
	// ErrNotEmpty means that there is something in the directory.
	ErrNotEmpty = errors.New("the directory must be empty or missing")
	// ErrNotDirectory means that the name belongs to something that is no directory.
	ErrNotDirectory = errors.New("it is there and no directory")
)

// maxManifest is the size in bytes of the largest manifest that is read.
const maxManifest = 16 << 20

// CheckBackup reads a backup to its end and compares every file with its digest. It returns
// [ErrBackup] if they differ or a part is missing.
func CheckBackup(r io.Reader) (Manifest, error) {
	return readBackup(r, func(string) (io.WriteCloser, error) { return nowhere{}, nil })
}

// Restore creates the data directory dir from a backup. The directory must be empty or missing. It
// appears complete or not at all: the files are written to a directory beside it, synced and
// compared with their digests. Then that directory is renamed. An error that does not come from the
// disk is an [ErrNotEmpty], an [ErrNotDirectory] or an [ErrBackup].
//
// Everything goes on from the moment of the backup: open executions, timers, messages. Effects on
// other systems since then are not undone, and are repeated under the same effect keys.
func Restore(r io.Reader, dir string) (m Manifest, err error) {
	dir, err = filepath.Abs(dir)
	if err != nil {
		return m, fmt.Errorf("restore: %w", err)
	}

	// The directory is checked before the backup is read, which may take long. A file that appears
	// meanwhile makes the rename fail.
	found, err := os.ReadDir(dir)

	switch {
	case errors.Is(err, syscall.ENOTDIR):
		return m, fmt.Errorf("restore into %s: %w", dir, ErrNotDirectory)
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return m, fmt.Errorf("restore into %s: %w", dir, err)
	case len(found) > 0:
		return m, fmt.Errorf("restore into %s: %w: it has %s", dir, ErrNotEmpty, found[0].Name())
	}

	draft, err := os.MkdirTemp(filepath.Dir(dir), filepath.Base(dir)+".restore-*")
	if err != nil {
		return m, fmt.Errorf("restore into %s: %w", dir, err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(draft)) }() // after the rename there is nothing to remove

	m, err = readBackup(r, func(name string) (io.WriteCloser, error) {
		file, err := os.OpenFile(filepath.Join(draft, name), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
		return syncedFile{file}, err
	})
	if err != nil {
		return m, fmt.Errorf("restore into %s: %w", dir, err)
	}

	// Commands that knew the directory before must not take this one for it.
	if err := writeKey(store.Disk, draft, identityFile, rand.Text()); err != nil {
		return m, fmt.Errorf("restore into %s: %w", dir, err)
	}

	if err := syncDir(draft); err != nil {
		return m, fmt.Errorf("restore into %s: %w", dir, err)
	}

	if err := replaceEmpty(draft, dir); err != nil {
		return m, fmt.Errorf("restore into %s: %w", dir, err)
	}

	// The new name is durable when the directory above it is on disk.
	return m, syncDir(filepath.Dir(dir))
}

// replaceEmpty renames the draft to dir, which is missing or an empty directory.
func replaceEmpty(draft, dir string) error {
	// With the separator at its end, Remove takes only a directory, and only an empty one.
	err := os.Remove(dir + string(filepath.Separator))
	if err == nil || errors.Is(err, fs.ErrNotExist) {
		err = os.Rename(draft, dir)
	}

	switch {
	case errors.Is(err, syscall.ENOTEMPTY), errors.Is(err, fs.ErrExist):
		return fmt.Errorf("%w (%w)", ErrNotEmpty, err)
	case errors.Is(err, syscall.ENOTDIR):
		return fmt.Errorf("%w (%w)", ErrNotDirectory, err)
	}

	return err
}

// readBackup reads a backup, writes each file to the writer that create returns, and compares all
// files with the manifest at the end.
func readBackup(r io.Reader, create func(name string) (io.WriteCloser, error)) (m Manifest, err error) {
	compressed, err := gzip.NewReader(r)
	if err != nil {
		return m, fmt.Errorf("%w: %w", ErrBackup, err)
	}

	var found []BackupFile
	for archive := tar.NewReader(compressed); ; {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return m, fmt.Errorf("%w: it ends without %s", ErrBackup, manifestName)
		}

		if err != nil {
			return m, fmt.Errorf("%w: %w", ErrBackup, err)
		}

		// A name with a path could lead out of the draft.
		if header.Typeflag != tar.TypeReg || !filepath.IsLocal(header.Name) || filepath.Base(header.Name) != header.Name {
			return m, fmt.Errorf("%w: %q is no file of a data directory", ErrBackup, header.Name)
		}

		if header.Name == manifestName {
			if m, err = readManifest(archive); err != nil {
				return m, err
			}

			// The rest is the end of the archive and the checksum of gzip.
			if _, err := io.Copy(io.Discard, compressed); err != nil { //nolint:gosec // G110: nothing of it is kept
				return m, fmt.Errorf("%w: %w", ErrBackup, err)
			}

			return m, m.compare(found)
		}

		file, err := readBackupFile(archive, header.Name, create)
		if err != nil {
			return m, err
		}

		found = append(found, file)
	}
}

// readBackupFile copies one file of the archive to the writer that create returns.
func readBackupFile(archive io.Reader, name string, create func(name string) (io.WriteCloser, error)) (BackupFile, error) {
	out, err := create(name)
	if err != nil {
		return BackupFile{}, err
	}

	digest := sha256.New()
	size, err := io.Copy(io.MultiWriter(out, digest), damageReader{archive, name})

	if err := errors.Join(err, out.Close()); err != nil {
		return BackupFile{}, err
	}

	return BackupFile{Name: name, Bytes: size, SHA256: hex.EncodeToString(digest.Sum(nil))}, nil
}

// damageReader reads a file of the archive. An error of its Read means that the backup is damaged;
// other errors of the copy come from the disk.
type damageReader struct {
	r    io.Reader
	name string
}

func (d damageReader) Read(p []byte) (int, error) {
	n, err := d.r.Read(p)

	switch {
	case err == nil, errors.Is(err, io.EOF):
		return n, err
	case errors.Is(err, io.ErrUnexpectedEOF):
		return n, fmt.Errorf("%w: it ends within %s", ErrBackup, d.name)
	}

	return n, fmt.Errorf("%w: %s: %w", ErrBackup, d.name, err)
}

func readManifest(r io.Reader) (m Manifest, err error) {
	if err := json.NewDecoder(io.LimitReader(r, maxManifest)).Decode(&m); err != nil {
		return m, fmt.Errorf("%w: %s: %w", ErrBackup, manifestName, err)
	}

	if m.Format != backupFormat {
		return m, fmt.Errorf("%w: the backup has format %d, and this program reads format %d", ErrBackup, m.Format, backupFormat)
	}

	return m, nil
}

// compare fails unless the files are the files of the manifest, in its order.
func (m Manifest) compare(found []BackupFile) error {
	if len(found) != len(m.Files) {
		return fmt.Errorf("%w: it has %d files, the manifest lists %d", ErrBackup, len(found), len(m.Files))
	}

	for i, file := range found {
		if file != m.Files[i] {
			return fmt.Errorf("%w: %s differs from the manifest", ErrBackup, file.Name)
		}
	}

	return nil
}

// syncedFile is on disk once it is closed.
type syncedFile struct{ *os.File }

// Close syncs and closes the file.
func (f syncedFile) Close() error { return errors.Join(f.Sync(), f.File.Close()) }

// nowhere discards the files that CheckBackup reads.
type nowhere struct{}

func (nowhere) Write(p []byte) (int, error) { return len(p), nil }
func (nowhere) Close() error                { return nil }

// syncDir makes the names of a directory's files durable.
func syncDir(dir string) error {
	file, err := os.Open(dir)
	if err != nil {
		return err
	}

	return errors.Join(file.Sync(), file.Close())
}
