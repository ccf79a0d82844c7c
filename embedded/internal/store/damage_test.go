package store

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var flagDamages = flag.Int("damages", 3, "how often each file is damaged in each way")

const damagedKeys = 400

func damagedPair(n int) (key, value []byte) {
	return fmt.Appendf(nil, "d-%04d", n), bytes.Repeat(fmt.Appendf(nil, "%04d", n), 20)
}

// writeForDamage makes a directory with a table of a level, tables of flushed logs, a log and a long manifest.
func writeForDamage(t *testing.T, dir string) {
	t.Helper()

	for part := range 4 {
		db, err := Open(Config{Dir: dir, Log: slog.New(slog.DiscardHandler)})
		if err != nil {
			t.Fatal(err)
		}

		for n := part * damagedKeys / 4; n < (part+1)*damagedKeys/4; n++ {
			b := db.NewBatch()
			b.Set(damagedPair(n))

			if err := b.Commit(); err != nil {
				t.Fatal(err)
			}
		}

		if part == 1 {
			if err := db.Compact(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		shut(t, db)
	}
}

// readDamaged opens a directory and reads all pairs. It returns the first error.
func readDamaged(t *testing.T, dir string) error {
	t.Helper()

	db, err := Open(Config{Dir: dir, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		return err
	}
	defer func() { _ = db.Close() }() // it may meet the damage, too

	for n := range damagedKeys {
		key, want := damagedPair(n)

		got, found, err := db.Get(key)
		if err != nil {
			return err
		}

		if !found || !bytes.Equal(got, want) {
			t.Errorf("the value of %s is %q (%v)", key, got, found)
		}
	}

	return nil
}

// damages change the bytes of a file from a place on.
var damages = []struct {
	name   string
	damage func(data []byte, at int, dice *rand.Rand) []byte
}{
	{"a changed bit", func(data []byte, at int, dice *rand.Rand) []byte { data[at] ^= 1 << dice.IntN(8); return data }},
	{"a lost end", func(data []byte, at int, _ *rand.Rand) []byte { return data[:at] }},
	{"a sector of zeros", func(data []byte, at int, _ *rand.Rand) []byte {
		clear(data[at:min(len(data), at+512)])
		return data
	}},
	{"another sector", func(data []byte, at int, dice *rand.Rand) []byte {
		copy(data[at:min(len(data), at+512)], data[dice.IntN(len(data)):])
		return data
	}},
}

// TestDamagedFilesAreNeverReadAsData damages each file of a store that was closed, at random
// places. Reads afterwards return the right data, or the store says that its files are damaged, and
// what to do.
func TestDamagedFilesAreNeverReadAsData(t *testing.T) {
	t.Parallel()

	whole := filepath.Join(t.TempDir(), "whole")
	writeForDamage(t, whole)

	if err := readDamaged(t, whole); err != nil {
		t.Fatal(err)
	}

	names, err := os.ReadDir(whole)
	if err != nil {
		t.Fatal(err)
	}

	dice := rand.New(rand.NewPCG(1, 0))
	found := map[string]int{} // damages that were noticed, by kind of file

	for _, name := range names {
		data, err := os.ReadFile(filepath.Join(whole, name.Name()))
		if err != nil {
			t.Fatal(err)
		}

		used := len(bytes.TrimRight(data, "\x00")) // a log ends with zeros
		if used == 0 {
			continue
		}

		for k := range *flagDamages * len(damages) {
			kind := damages[k%len(damages)]
			at := dice.IntN(used)

			changed := kind.damage(bytes.Clone(data), at, dice)
			if bytes.Equal(changed, data) {
				continue
			}

			dir := filepath.Join(t.TempDir(), "damaged")
			if err := errors.Join(os.CopyFS(dir, os.DirFS(whole)), os.WriteFile(filepath.Join(dir, name.Name()), changed, 0o600)); err != nil {
				t.Fatal(err)
			}

			err := readDamaged(t, dir)
			if t.Failed() {
				t.Fatalf("%s: %s at byte %d of %d", name.Name(), kind.name, at, used)
			}

			if err != nil {
				found[strings.TrimLeft(name.Name(), "0123456789")]++

				if !errors.Is(err, ErrDamaged) || !strings.Contains(err.Error(), whatToDo) {
					t.Errorf("%s: %s at byte %d of %d: %v", name.Name(), kind.name, at, used, err)
				}
			}
		}
	}

	if found[".log"] == 0 || found[".sst"] == 0 {
		t.Errorf("noticed: %v", found)
	}
	t.Logf("noticed: %v", found)
}

// TestALostEndOfALogIsNoticed: the last change of a store that was closed is its generation.
func TestALostEndOfALogIsNoticed(t *testing.T) {
	t.Parallel()

	dir := t.TempDir()
	writeForDamage(t, dir)

	logs, err := filepath.Glob(filepath.Join(dir, "*.log"))
	if err != nil || len(logs) == 0 {
		t.Fatal(logs, err)
	}
	newest := logs[len(logs)-1]

	data, err := os.ReadFile(newest)
	if err != nil {
		t.Fatal(err)
	}

	// The trailer of the log alone may be missing, as after a crash. The record before it must not.
	used := len(bytes.TrimRight(data, "\x00"))
	for end := used - 1; end >= used-200; end -= 9 {
		if err := os.WriteFile(newest, data[:end], 0o600); err != nil {
			t.Fatal(err)
		}

		copied := filepath.Join(t.TempDir(), "copy")
		if err := os.CopyFS(copied, os.DirFS(dir)); err != nil {
			t.Fatal(err)
		}

		if err := readDamaged(t, copied); err != nil && !errors.Is(err, ErrDamaged) || err == nil && end < used-100 {
			t.Fatalf("without the last %d bytes: %v", used-end, err)
		}
	}
}

// TestAMissingFileIsDamage: the store does not open without a file that it needs, says so, and deletes none of the
// other files, which may be the last copy of the data. It opens without files that hold no changes.
func TestAMissingFileIsDamage(t *testing.T) {
	t.Parallel()

	whole := filepath.Join(t.TempDir(), "whole")
	writeForDamage(t, whole)

	names, err := os.ReadDir(whole)
	if err != nil {
		t.Fatal(err)
	}

	noticed := 0
	for _, name := range names {
		dir := filepath.Join(t.TempDir(), "damaged")
		if err := errors.Join(os.CopyFS(dir, os.DirFS(whole)), os.Remove(filepath.Join(dir, name.Name()))); err != nil {
			t.Fatal(err)
		}

		for range 2 { // also when it is tried again
			err := readDamaged(t, dir)
			if t.Failed() {
				t.Fatalf("without %s", name.Name())
			}

			if err == nil {
				break
			}
			noticed++

			if !errors.Is(err, ErrDamaged) || !strings.Contains(err.Error(), whatToDo) {
				t.Errorf("without %s: %v", name.Name(), err)
			}

			if missing := missingFiles(t, whole, dir); len(missing) > 1 {
				t.Errorf("without %s it has deleted: %v", name.Name(), missing)
			}
		}
	}

	if noticed < 6 { // a table, a log, the manifest or its name
		t.Errorf("%d were noticed", noticed)
	}
}

// TestADamagedStoreKeepsItsFiles: a store whose manifest has lost its end does not know its newest
// tables and logs, but does not delete them.
func TestADamagedStoreKeepsItsFiles(t *testing.T) {
	t.Parallel()

	dir := filepath.Join(t.TempDir(), "store")
	writeForDamage(t, dir)

	// The manifest of the last opening, with the state that it began with and no more.
	manifests, err := filepath.Glob(filepath.Join(dir, "MANIFEST-*"))
	if err != nil || len(manifests) == 0 {
		t.Fatal(manifests, err)
	}
	newest := manifests[len(manifests)-1]

	data, err := os.ReadFile(newest)
	if err != nil {
		t.Fatal(err)
	}

	refused := 0
	for end := len(data) - 1; end > 0; end -= 7 {
		damaged := filepath.Join(t.TempDir(), "damaged")
		if err := errors.Join(os.CopyFS(damaged, os.DirFS(dir)), os.WriteFile(filepath.Join(damaged, filepath.Base(newest)), data[:end], 0o600)); err != nil {
			t.Fatal(err)
		}

		if err := readDamaged(t, damaged); err == nil {
			continue
		}
		refused++

		if missing := missingFiles(t, dir, damaged); len(missing) > 0 {
			t.Fatalf("with %d bytes of the manifest it has deleted: %v", end, missing)
		}
	}

	if refused == 0 {
		t.Error("all opened")
	}
}

// missingFiles returns the tables, logs and manifests of a directory that are not in another one.
func missingFiles(t *testing.T, from, in string) (missing []string) {
	t.Helper()

	names, err := os.ReadDir(from)
	if err != nil {
		t.Fatal(err)
	}

	changes := regexp.MustCompile(`\.sst$|\.log$|^MANIFEST-`)
	for _, name := range names {
		if _, err := os.Stat(filepath.Join(in, name.Name())); err != nil && changes.MatchString(name.Name()) {
			missing = append(missing, name.Name())
		}
	}

	return missing
}

// TestASoundStoreDeletesItsFiles: the store deletes the files that it does not need, when it opens and later.
func TestASoundStoreDeletesItsFiles(t *testing.T) {
	t.Parallel()

	dir := t.TempDir()
	writeForDamage(t, dir)

	logs := func() []string {
		t.Helper()

		logs, err := filepath.Glob(filepath.Join(dir, "*.log"))
		if err != nil || len(logs) == 0 {
			t.Fatal(logs, err)
		}

		return logs
	}
	before := logs()

	db, err := Open(Config{Dir: dir, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	defer shut(t, db)

	// Files are deleted in their order, and this waits for the tables that it replaced.
	size := db.Size()
	if err := db.Compact(t.Context()); err != nil {
		t.Fatal(err)
	}

	tables, err := filepath.Glob(filepath.Join(dir, "*.sst"))
	if err != nil || len(tables) != 1 {
		t.Errorf("after a compaction of %d bytes there are the tables %v, %v", size, tables, err)
	}

	now := logs()
	if slices.ContainsFunc(before, func(name string) bool { return slices.Contains(now, name) }) {
		t.Errorf("the logs %v became %v", before, now)
	}
}
