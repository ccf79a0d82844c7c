package store

import (
	"errors"
	"fmt"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs/atomicfs"
)

// format is the number of the form in which the services of the engine keep their data. Raise it
// only if a program that knows only the previous number would misread the data. Pebble has a number
// of its own.
const format = "1"

// formatKey has the number. It is below the keys of all services, and each generation writes it, so that
// every key space with data has it.
var formatKey = []byte{0}

var errFormat = errors.New("open it with the version of the program that has written it")

// checkFormat refuses data of another format, before anything is written.
func (d *DB) checkFormat() error {
	found, written, err := d.Get(formatKey)
	if err != nil || !written || string(found) == format {
		return err
	}

	return fmt.Errorf("its data has format %q, and this program reads format %q: %w", found, format, errFormat)
}

// pebbleFormat is the name of the marker that holds the number of Pebble's own format.
const pebbleFormat = "format-version"

// beginInNewestFormat lets Pebble create a key space in its newest format. Without the marker Pebble begins in its
// oldest format and writes and syncs a marker for each format up to the newest. That is half of the time of the first Open.
// A directory that is not empty is Pebble's to judge: it may have lost its marker, or be of a version that Pebble
// does not read.
func (d *DB) beginInNewestFormat() error {
	if err := d.disk.MkdirAll(d.dir, privateDir); err != nil {
		return err
	}

	names, err := d.disk.List(d.dir)
	if len(names) > 0 || err != nil {
		return err
	}

	marker, _, err := atomicfs.LocateMarker(d.disk, d.dir, pebbleFormat)
	if err != nil {
		return err
	}

	return errors.Join(marker.Move(pebble.FormatNewest.String()), marker.Close())
}
