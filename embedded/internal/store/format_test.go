package store

import (
	"errors"
	"log/slog"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
)

// TestADirectoryOfAnotherFormatIsRefused: it is sound, and stays as it is.
func TestADirectoryOfAnotherFormatIsRefused(t *testing.T) {
	t.Parallel()

	disk := vfs.NewMem()

	db := open(t, disk)
	if found, _, err := db.Get(formatKey); string(found) != format || err != nil {
		t.Errorf("a new directory has format %q, %v", found, err)
	}

	// Close would begin a generation, with the number of this program.
	close(db.closing)
	<-db.ended

	b := db.NewBatch()
	b.Set(formatKey, []byte("2"))

	if err := errors.Join(b.Commit(), pebbleOf(db).Close()); err != nil {
		t.Fatal(err)
	}

	for range 2 {
		_, err := Open(Config{Dir: "data", Disk: disk, Log: slog.New(slog.DiscardHandler)})

		const want = `open store in data: its data has format "2", and this program reads format "1": open it with the version of the program that has written it`
		if err == nil || err.Error() != want || errors.Is(err, ErrDamaged) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

// markers counts the markers of Pebble's format that are made.
type markers struct {
	vfs.FS
	made int
}

func (m *markers) Create(name string, category vfs.DiskWriteCategory) (vfs.File, error) {
	if strings.Contains(name, pebbleFormat) {
		m.made++
	}

	return m.FS.Create(name, category)
}

// TestAKeySpaceBeginsInTheNewestFormat and not with a marker for each format before it.
func TestAKeySpaceBeginsInTheNewestFormat(t *testing.T) {
	t.Parallel()

	disk := &markers{FS: vfs.NewMem()}

	db := open(t, disk)
	if found := pebbleOf(db).FormatMajorVersion(); found != pebble.FormatNewest || disk.made != 1 {
		t.Errorf("format %s after %d markers, want %s after one", found, disk.made, pebble.FormatNewest)
	}

	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
}

// TestWhatIsThereIsPebblesToJudge: no marker makes a new key space of a directory that has lost its own.
func TestWhatIsThereIsPebblesToJudge(t *testing.T) {
	t.Parallel()

	disk := vfs.NewMem()
	if err := open(t, disk).Close(); err != nil {
		t.Fatal(err)
	}

	names, err := disk.List("data")
	if err != nil {
		t.Fatal(err)
	}

	for _, name := range names {
		if strings.Contains(name, "marker.") || name == generationFile {
			if err := disk.Remove(disk.PathJoin("data", name)); err != nil {
				t.Fatal(err)
			}
		}
	}

	d := &DB{disk: disk, dir: "data"}
	if err := d.beginInNewestFormat(); err != nil {
		t.Fatal(err)
	}

	if desc, err := pebble.Peek("data", disk); err != nil || desc.FormatMajorVersion != pebble.FormatDefault {
		t.Errorf("format %s, %v: a marker was written", desc.FormatMajorVersion, err)
	}
}
