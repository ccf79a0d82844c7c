package notify

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// Dir writes each notification into a file of its own below Path, named after its
// key: as in a maildir, a file that is there is complete, and a key that is there
// has been sent. So it honours keys.
type Dir struct{ Path string }

// Send writes the notification unless its file exists. The file is on disk when
// Send returns.
func (d Dir) Send(_ context.Context, n Notification) error {
	// Order ids hold no slash; the order's two last characters spread the files.
	id := string(n.OrderID)
	dir := filepath.Join(d.Path, "n"+id[max(0, len(id)-2):])
	name := filepath.Join(dir, strings.ReplaceAll(n.Key, "/", "~")+".json")
	if err := d.write(dir, name, n); err != nil {
		return fmt.Errorf("notify about order %s: %w", n.OrderID, err)
	}

	return nil
}

// write puts the whole file into place at once. A file that is there holds the same
// content, so replacing it changes nothing.
func (d Dir) write(dir, name string, n Notification) error {
	body, err := json.Marshal(n)
	if err != nil {
		return err
	}

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
	if err = errors.Join(err, temp.Sync(), temp.Close()); err == nil {
		err = os.Rename(temp.Name(), name)
	}

	if err != nil {
		return errors.Join(err, os.Remove(temp.Name()))
	}

	return syncDir(dir)
}

// syncDir makes a new name durable.
func syncDir(dir string) error {
	f, err := os.Open(dir)
	if err != nil {
		return err
	}

	return errors.Join(f.Sync(), f.Close())
}

// Count returns how many notifications lie below dir, for recounts.
func (d Dir) Count() (int, error) {
	count := 0

	err := filepath.WalkDir(d.Path, func(_ string, e fs.DirEntry, err error) error {
		if err == nil && !e.IsDir() && strings.HasSuffix(e.Name(), ".json") {
			count++
		}
		return err
	})
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}

	return count, err
}
