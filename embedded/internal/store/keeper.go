package store

import (
	"errors"
	"io/fs"
	"path/filepath"
	"strings"
	"sync"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// keeper is a file system that deletes no tables, logs and manifests before release. When Pebble opens a
// directory, it deletes the files that it does not need. If changes turn out to be missing then, these files
// may be the last copy of them.
type keeper struct {
	vfs.FS
	mu       sync.Mutex
	released bool
	kept     []string
}

// Remove deletes a file at once or at release. Pebble never reuses the name of a table, log or manifest, so
// release cannot delete a newer file.
func (k *keeper) Remove(name string) error {
	if k.keeps(name) {
		return nil
	}

	return k.FS.Remove(name)
}

func (k *keeper) keeps(name string) bool {
	// Only these files hold changes, or say which files do. Others, such as options, go at once.
	switch base := k.PathBase(name); filepath.Ext(base) {
	case ".sst", ".blob", logExtension:
	default:
		if !strings.HasPrefix(base, "MANIFEST-") {
			return false
		}
	}

	k.mu.Lock()
	defer k.mu.Unlock()

	if !k.released {
		k.kept = append(k.kept, name)
	}

	return !k.released
}

// release deletes the kept files. From then on Remove deletes at once.
func (k *keeper) release() (err error) {
	k.mu.Lock()
	defer k.mu.Unlock()

	k.released = true
	for _, name := range k.kept {
		if removeErr := k.FS.Remove(name); !errors.Is(removeErr, fs.ErrNotExist) {
			err = errors.Join(err, removeErr)
		}
	}
	k.kept = nil

	return err
}

// Unwrap returns the file system below.
func (k *keeper) Unwrap() vfs.FS { return k.FS }
