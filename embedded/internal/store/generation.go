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

// Generations number the parts of the key space's life. Each is a key, on disk, and then a number in a file
// beside the key space. One begins at Open and with each new log, and one is the last change before Close. So
// each log, and what becomes of it, has one.
//
// If the newest one of the file is not among the keys, or one between them is missing, changes are gone: a log or
// a manifest has lost its end. Pebble alone would take that for the trace of a crash and go on without
// them. What a crash leaves cannot be told from a log whose end, behind its generation, was lost later
// on.

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

// newestGeneration returns the generation of the file, or 0 if there is none. Beside the file there is a key
// space: Pebble would make a new one if the name of its manifest is missing.
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

// checkGenerations compares the generations with each other and with that of the file, and begins the next one.
func (d *DB) checkGenerations(want uint64) error {
	err := d.Scan([]byte{generationPrefix}, []byte{generationPrefix + 1}, false, func(key, _ []byte) (bool, error) {
		n := binary.BigEndian.Uint64(key[1:])
		if d.generation != 0 && n != d.generation+1 {
			return false, fmt.Errorf("%w: changes are missing between the generations %d and %d", ErrDamaged, d.generation, n)
		}
		d.generation = n

		return true, nil
	})
	if err != nil {
		return err
	}

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
	if err != nil || string(text) != generationText(n) {
		return 0, fmt.Errorf("%w: the file %s (if no other file is, you can delete it)", ErrDamaged, generationFile)
	}

	return n, nil
}

// generationText is what the file holds: the generation and a checksum.
func generationText(n uint64) string {
	number := strconv.FormatUint(n, 10)
	return fmt.Sprintf("%s %08x\n", number, crc32.ChecksumIEEE([]byte(number)))
}

// nextGeneration stores the next generation: in the key space first, so that the file is never ahead. On a
// full disk it does nothing.
func (d *DB) nextGeneration() error {
	next := d.generation + 1
	b := d.NewBatch()
	b.Set(generationKey(next), nil)
	b.Set(formatKey, []byte(format))

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

	if err := d.disk.Rename(name+".new", name); err != nil {
		return err
	}

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
