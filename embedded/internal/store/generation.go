package store

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"strconv"
	"strings"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
)

// Generations number the parts of the key space's life. A generation is first a key on disk and then a number
// in a file beside the key space. A generation begins at Open and with each new log, and another one is the
// last change before Close. So each log holds a generation, which its changes keep when they move to tables.
//
// If the newest generation of the file is not among the keys, or a generation between the keys is missing,
// changes are lost: a log or a manifest has lost its end. Pebble alone would take the gap for the
// trace of a crash and go on without the changes. A loss after the newest generation of a log is
// not noticed: it looks like a crash.

const (
	// generationFile is the name of the file. Backups have none.
	generationFile = "GENERATION"
	// generationPrefix is below the keys of all services.
	generationPrefix byte = 1
	// keptGenerations is how many keys there are at most.
	keptGenerations = 256
)

func generationKey(n uint64) []byte {
	return binary.BigEndian.AppendUint64([]byte{generationPrefix}, n)
}

// newestGeneration returns the generation in the file, or 0 if there is no file. With the file
// there must be a key space: if only the name of its manifest is missing, Pebble would create an
// empty one.
func (d *DB) newestGeneration() (uint64, error) {
	newest, err := d.generationOfFile()
	if newest == 0 || err != nil {
		return 0, err
	}

	if desc, err := pebble.Peek(d.dir, d.disk); err == nil && !desc.Exists {
		return 0, fmt.Errorf("%w: the file that names the manifest is missing", ErrDamaged)
	}

	return newest, nil
}

// checkGenerations compares the generations among the keys with each other and with want, the
// generation in the file. Then it begins the next generation.
func (d *DB) checkGenerations(want uint64) error {
	err := d.Scan([]byte{generationPrefix}, []byte{generationPrefix + 1}, false, func(key, _ []byte) (bool, error) {
		n := binary.BigEndian.Uint64(key[1:])

		// The first key may have any number: nextGeneration deletes the oldest keys.
		if d.generation != 0 && n != d.generation+1 {
			return false, fmt.Errorf("%w: changes are missing between the generations %d and %d", ErrDamaged, d.generation, n)
		}
		d.generation = n

		return true, nil
	})
	if err != nil {
		return err
	}

	// The file is written after the key, so a file that is ahead proves that keys were lost.
	if d.generation < want {
		return fmt.Errorf("%w: the newest changes are missing, from generation %d to %d", ErrDamaged, d.generation+1, want)
	}

	return d.nextGeneration()
}

// generationOfFile returns the generation of the file, or 0 if there is none.
func (d *DB) generationOfFile() (uint64, error) {
	file, err := d.disk.Open(d.disk.PathJoin(d.dir, generationFile))
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}

	if err != nil {
		return 0, err
	}
	defer file.Close()

	text, err := io.ReadAll(file)
	if err != nil {
		return 0, err
	}

	number, _, _ := strings.Cut(string(text), " ")

	n, err := strconv.ParseUint(number, 10, 64)

	// The whole text must be as it was written, with its checksum.
	if err != nil || string(text) != generationText(n) {
		return 0, fmt.Errorf("%w: the file %s (if no other file is, you can delete it)", ErrDamaged, generationFile)
	}

	return n, nil
}

// generationText returns the content of the file: the generation and a checksum.
func generationText(n uint64) string {
	number := strconv.FormatUint(n, 10)
	return fmt.Sprintf("%s %08x\n", number, crc32.ChecksumIEEE([]byte(number)))
}

// nextGeneration stores the next generation: in the key space first, so that the file is never
// ahead of it. On a full disk it does nothing.
func (d *DB) nextGeneration() error {
	next := d.generation + 1
	b := d.NewBatch()
	b.Set(generationKey(next), nil)
	b.Set(formatKey, []byte(format))

	// For each new key, the oldest key is deleted.
	if next > keptGenerations {
		b.Delete(generationKey(next - keptGenerations))
	}

	if err := b.Commit(); err != nil {
		if errors.Is(err, ErrFull) {
			return nil
		}

		return err
	}

	d.generation = next

	return d.writeGeneration()
}

// writeGeneration replaces the file as a whole.
func (d *DB) writeGeneration() error {
	name := d.disk.PathJoin(d.dir, generationFile)

	file, err := d.disk.Create(name+".new", vfs.WriteCategoryUnspecified)
	if err != nil {
		return err
	}

	_, err = io.WriteString(file, generationText(d.generation))
	if err := errors.Join(err, file.Sync(), file.Close()); err != nil {
		return err
	}

	// The content is on disk: a power failure cannot leave the name without it.
	if err := d.disk.Rename(name+".new", name); err != nil {
		return err
	}

	// The new name is durable only when the directory is on disk, too.
	dir, err := d.disk.OpenDir(d.dir)
	if err != nil {
		return err
	}

	return errors.Join(dir.Sync(), dir.Close())
}

// keepGenerations begins a generation with each new log, until Close.
func (d *DB) keepGenerations() {
	defer close(d.ended)

	for {
		select {
		case <-d.closing:
			return
		case <-d.newLog:
		}

		if err := d.nextGeneration(); err != nil {
			d.log.Error("store: a generation was not stored, so that lost changes may not be noticed", "error", err)
		}
	}
}
