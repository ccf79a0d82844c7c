package destination

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"ratchet/internal/ids"
	"ratchet/notify"
)

// Dir writes each notification to a file of its own below a directory. The file's name comes from
// the key, so a repeat writes the same file. Files get their names only when they are complete, as
// in a maildir.
type Dir struct{ path string }

// NewDir returns a destination that writes below the directory, which the first Send creates. It
// returns an error if the path is empty.
func NewDir(path string) (*Dir, error) {
	if path == "" {
		return nil, errors.New("destination: the path of the directory must be set")
	}

	return &Dir{path}, nil
}

const (
	extension = ".json"
	// maxName is how many bytes the usual file systems take as a name.
	maxName = 255
)

// Send writes the notification. The file is on disk when Send returns.
func (d *Dir) Send(_ context.Context, m notify.Message) (notify.Answer, error) {
	// The last two characters of the order's id spread the files over subdirectories.
	id := ids.Encode(string(m.OrderID))
	dir := filepath.Join(d.path, "n"+id[max(0, len(id)-2):])
	name := filepath.Join(dir, ids.Fit(strings.ReplaceAll(m.Key, "/", "~"), maxName-len(extension))+extension)

	if err := writeFile(dir, name, m.Notification); err != nil {
		return notify.Answer{}, fmt.Errorf("notify about order %s: %w", m.OrderID, err)
	}

	return notify.Answer{}, nil
}

// writeFile writes the notification to a temporary file and renames that file to name. If name
// exists, it has the same content.
func writeFile(dir, name string, n notify.Notification) error {
	body, err := json.Marshal(n)
	if err != nil {
		return err
	}

	// In the same directory, because a rename works within one file system only.
	temp, err := os.CreateTemp(dir, ".tmp-*")
	if errors.Is(err, fs.ErrNotExist) {
		if err = os.MkdirAll(dir, 0o700); err == nil {
			temp, err = os.CreateTemp(dir, ".tmp-*")
		}
	}

	if err != nil {
		return err
	}

	_, err = temp.Write(append(body, '\n'))
	// Sync before the rename: a power failure must not leave a name without its content.
	if err = errors.Join(err, temp.Sync(), temp.Close()); err == nil {
		err = os.Rename(temp.Name(), name)
	}

	if err != nil {
		return errors.Join(err, os.Remove(temp.Name()))
	}

	return syncDir(dir)
}

// syncDir makes the names of new files in the directory durable.
func syncDir(dir string) error {
	f, err := os.Open(dir)
	if err != nil {
		return err
	}

	return errors.Join(f.Sync(), f.Close())
}

// Count returns the number of notifications below the directory, 0 if it does not exist.
func (d *Dir) Count() (int, error) {
	count := 0

	err := filepath.WalkDir(d.path, func(_ string, e fs.DirEntry, err error) error {
		if err == nil && !e.IsDir() && strings.HasSuffix(e.Name(), extension) {
			count++
		}

		return err
	})
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}

	return count, err
}
