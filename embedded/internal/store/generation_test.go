package store

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// generations returns the first and the last generation among the keys, and the generation in the file.
func generations(t *testing.T, db *DB) (first, last, file uint64) {
	t.Helper()

	err := db.Scan([]byte{generationPrefix}, []byte{generationPrefix + 1}, false, func(key, _ []byte) (bool, error) {
		n := binary.BigEndian.Uint64(key[1:])
		if first == 0 {
			first = n
		} else if n != last+1 {
			t.Errorf("%d follows %d", n, last)
		}
		last = n

		return true, nil
	})

	file, fileErr := db.generationOfFile()
	if err := errors.Join(err, fileErr); err != nil {
		t.Fatal(err)
	}

	return first, last, file
}

// TestOldGenerationsAreDeleted: a store that was opened often keeps only the newest generations.
//
//raced:here
func TestOldGenerationsAreDeleted(t *testing.T) {
	t.Parallel()

	if testing.Short() {
		t.Skip("other tests open and close stores, though not so often")
	}

	disk := vfs.NewMem()
	for n := uint64(1); n <= 300; n++ {
		db := open(t, disk)
		newest := 2*n - 1 // one of each opening, one of each closing

		first, last, file := generations(t, db)
		if last != newest || file != newest || first != uint64(max(int64(newest)-keptGenerations+1, 1)) {
			t.Fatalf("opening %d has the generations %d to %d, the file %d", n, first, last, file)
		}
		shut(t, db)
	}
}

// TestEachLogHasAGeneration: also the logs that begin while the store is open.
func TestEachLogHasAGeneration(t *testing.T) {
	t.Parallel()

	db := open(t, vfs.NewMem())
	for n := range 5 {
		_, before, _ := generations(t, db)

		b := db.NewBatch()
		b.Set(lifeKey(n), nil)

		if err := errors.Join(b.Commit(), pebbleOf(db).Flush()); err != nil {
			t.Fatal(err)
		}

		for { // keepGenerations does it soon
			if _, last, file := generations(t, db); last == before+1 && file == last {
				break
			}
		}
	}
	shut(t, db)
}

// TestMissingGenerationsAreNamed: each of these directories has lost changes.
func TestMissingGenerationsAreNamed(t *testing.T) {
	t.Parallel()

	for name, c := range map[string]struct {
		lost []uint64
		file string
		want string
	}{
		"one between others":  {lost: []uint64{3}, want: "changes are missing between the generations 2 and 4"},
		"the newest ones":     {lost: []uint64{5, 6}, want: "the newest changes are missing, from generation 5 to 6"},
		"all":                 {lost: []uint64{1, 2, 3, 4, 5, 6}, want: "the newest changes are missing, from generation 1 to 6"},
		"a file of no number": {file: "six", want: "the file GENERATION (if no other file is, you can delete it)"},
		"a changed file":      {file: "5 4c1f0a2d\n", want: "the file GENERATION"},
		"an empty file":       {file: "\n", want: "the file GENERATION"},
		"a longer file":       {file: generationText(6) + "\n", want: "the file GENERATION"},
	} {
		t.Run(name, func(t *testing.T) {
			disk := vfs.NewMem()
			for range 3 {
				shut(t, open(t, disk))
			}

			if c.file != "" {
				writeFile(t, disk, "data/"+generationFile, c.file)
			}

			if c.lost != nil {
				db := open(t, disk) // generation 7, which goes, too

				b := db.NewBatch()
				for _, n := range append(c.lost, 7) {
					b.Delete(generationKey(n))
				}

				if err := b.Commit(); err != nil {
					t.Fatal(err)
				}
				close(db.closing)
				<-db.ended

				if err := pebbleOf(db).Close(); err != nil {
					t.Fatal(err)
				}
				writeFile(t, disk, "data/"+generationFile, generationText(6))
			}

			for range 2 {
				_, err := Open(Config{Dir: "data", Disk: disk, Log: slog.New(slog.DiscardHandler)})
				if want := fmt.Sprint("open store in data: files are damaged: ", c.want); err == nil || len(err.Error()) < len(want) || err.Error()[:len(want)] != want {
					t.Errorf("%v, want %s", err, want)
				}
			}
		})
	}
}

// TestADirectoryWithoutTheFileOpens: a restored backup has no such file.
func TestADirectoryWithoutTheFileOpens(t *testing.T) {
	t.Parallel()

	disk := vfs.NewMem()
	shut(t, open(t, disk))

	if err := disk.Remove("data/" + generationFile); err != nil {
		t.Fatal(err)
	}

	db := open(t, disk)
	if _, last, file := generations(t, db); last != 3 || file != 3 {
		t.Errorf("it goes on with generation %d, in the file %d", last, file)
	}
	shut(t, db)
}

func writeFile(t *testing.T, disk vfs.FS, name, text string) {
	t.Helper()

	file, err := disk.Create(name, vfs.WriteCategoryUnspecified)
	if err != nil {
		t.Fatal(err)
	}

	_, err = io.WriteString(file, text)
	if err := errors.Join(err, file.Sync(), file.Close()); err != nil {
		t.Fatal(err)
	}
}

// TestTheGenerationOfCloseIsOnDisk: a power failure behind Close does not undo the file.
func TestTheGenerationOfCloseIsOnDisk(t *testing.T) {
	t.Parallel()

	disk := vfs.NewCrashableMem()
	db := open(t, disk)

	if err := db.nextGeneration(); err != nil {
		t.Fatal(err)
	}

	left := &DB{disk: disk.CrashClone(vfs.CrashCloneCfg{}), dir: "data"}
	if got, err := left.generationOfFile(); err != nil || got != 2 {
		t.Errorf("the file has generation %d, %v", got, err)
	}
	shut(t, db)
}
