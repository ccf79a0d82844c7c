package store

import (
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"strings"
	"syscall"

	"github.com/cockroachdb/pebble/v2"
)

// ErrDamaged reports files that were changed or lost behind the store's back.
var ErrDamaged = errors.New("files are damaged")

// ErrLocked reports a directory that another process has open.
var ErrLocked = errors.New("another process has this directory open")

// whatToDo is the advice for damaged files.
const whatToDo = "copy the directory away, and restore a backup (docs/operate/backup.md)"

// Errors of Pebble that have a text and no value.
const (
	lockedHere  = "lock held by current process"
	newerFormat = "unknown format major version"
)

// openError returns the error of a store that cannot be opened, with advice. An error of the
// operating system is returned as it is. Any other error means damaged files, and so does a missing
// file.
func openError(dir string, err error) error {
	var system syscall.Errno
	switch {
	case errors.Is(err, taken):
		err = fmt.Errorf("%w (%w)", ErrLocked, err)
	case strings.Contains(err.Error(), lockedHere):
		err = fmt.Errorf("this process has this directory open (%w)", err)
	case strings.Contains(err.Error(), newerFormat):
		err = fmt.Errorf("a newer version of the program has written it; open it with that one (%w)", err)
	case errors.Is(err, syscall.EROFS), errors.Is(err, syscall.EACCES):
		err = fmt.Errorf("the directory must be writable (%w)", err)
	case errors.Is(err, ErrDamaged):
		err = fmt.Errorf("%w; %s", err, whatToDo)
	case errors.Is(err, ErrFull), errors.Is(err, errFormat), errors.As(err, &system) && !errors.Is(err, fs.ErrNotExist):
	default:
		err = fmt.Errorf("%w: %w; %s", ErrDamaged, err, whatToDo)
	}

	return fmt.Errorf("open store in %s: %w", dir, err)
}

// readError marks the error of a read that met damaged files.
func readError(err error) error {
	if pebble.IsCorruptionError(err) {
		return fmt.Errorf("%w: %w; %s", ErrDamaged, err, whatToDo)
	}

	return err
}

// damaged returns the listener for damaged files. Pebble calls it when a read meets one, also a read of its
// own. The read fails; the process goes on, because other files may be sound.
func damaged(log *slog.Logger) func(pebble.DataCorruptionInfo) {
	return func(info pebble.DataCorruptionInfo) {
		log.Error("store: a file is damaged; "+whatToDo, "file", info.Path, "error", info.Details)
	}
}

// fail ends the process: the store cannot know what reached the disk, and must acknowledge nothing
// more. It does not return.
func (d *DB) fail(detail string) {
	d.fails.Do(func() {
		err := fmt.Errorf("store in %s failed: %s. The process ends so that nothing unsaved is acknowledged; what was answered is on disk. "+
			"Start it again when the disk works (docs/operate/backup.md)", d.dir, detail)

		// The panic is in a goroutine of its own: net/http recovers the panic of a handler, and the
		// process would go on.
		go func() {
			if d.failed != nil {
				d.failed(err)
			} else {
				d.log.Error("store", "error", err)
			}

			panic(err)
		}()
	})

	// No caller may go on and acknowledge its change while the process ends.
	select {}
}
