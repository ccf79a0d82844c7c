package store

import (
	"errors"
	"log/slog"
	"testing"

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

	if err := errors.Join(b.Commit(), db.pebble.Close()); err != nil {
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
