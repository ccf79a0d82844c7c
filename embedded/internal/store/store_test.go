package store

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func open(t *testing.T, fs vfs.FS) *DB {
	t.Helper()

	db, err := Open(Config{Dir: "data", Disk: fs, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}

	return db
}

func shut(t *testing.T, db *DB) {
	t.Helper()

	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
}

// The power fails while many writers commit: the disk loses everything that was not
// flushed. Every acknowledged batch survives, a batch survives in full or not at all, and
// only if all batches that were applied before it do.
func TestPowerFailure(t *testing.T) {
	const writers = 8
	const batches = 200

	type batchID struct{ writer, n int }
	key := func(id batchID) []byte {
		return binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint32(nil, uint32(id.writer)), uint32(id.n))
	}
	twin := func(id batchID) []byte { return key(batchID{writer: id.writer + 100, n: id.n}) }

	fs := vfs.NewCrashableMem()
	db := open(t, fs)

	var (
		mu           sync.Mutex // orders Apply over all writers
		applied      []batchID
		acknowledged [writers]int

		// The disk after the crash, and the changes that had been acknowledged by then.
		crashed *vfs.MemFS
		want    [writers]int
	)

	var wg sync.WaitGroup
	for writer := range writers {
		wg.Go(func() {
			for n := range batches {
				id := batchID{writer: writer, n: n}

				b := db.NewBatch()
				b.Set(key(id), []byte("one"))
				b.Set(twin(id), []byte("two"))

				mu.Lock()
				applied = append(applied, id)
				err := b.Apply()
				mu.Unlock()

				if err = errors.Join(err, b.Sync()); err != nil {
					t.Error(err)
					return
				}

				mu.Lock()

				acknowledged[writer] = n + 1
				if writer == 0 && n == 120 {
					want = acknowledged
					crashed = fs.CrashClone(vfs.CrashCloneCfg{})
				}
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	shut(t, db)

	db = open(t, crashed)
	defer shut(t, db)

	has := func(k []byte) bool {
		_, ok, err := db.Get(k)
		if err != nil {
			t.Fatal(err)
		}

		return ok
	}

	for writer, n := range want {
		for i := range n {
			if !has(key(batchID{writer: writer, n: i})) {
				t.Fatalf("writer %d: batch %d of %d acknowledged is lost", writer, i, n)
			}
		}
	}

	lost := false
	for _, id := range applied {
		one, two := has(key(id)), has(twin(id))
		if one != two {
			t.Fatalf("writer %d: half of batch %d is there", id.writer, id.n)
		}

		if lost && one {
			t.Fatalf("writer %d: batch %d is there, one applied before is not", id.writer, id.n)
		}

		lost = lost || !one
	}
}

func TestScan(t *testing.T) {
	db := open(t, vfs.NewMem())
	defer shut(t, db)

	b := db.NewBatch()
	for i := range 10 {
		b.Set(fmt.Appendf(nil, "k%d", i), fmt.Appendf(nil, "v%d", i))
	}
	b.Delete([]byte("k5"))
	b.DeleteRange([]byte("k7"), []byte("k9"))

	if err := b.Commit(); err != nil {
		t.Fatal(err)
	}

	scan := func(lo, hi string, reverse bool, limit int) (got []string) {
		err := db.Scan([]byte(lo), []byte(hi), reverse, func(k, v []byte) (bool, error) {
			if !bytes.Equal(k[1:], v[1:]) {
				t.Errorf("%s holds %s", k, v)
			}
			got = append(got, string(k))

			return len(got) < limit, nil
		})
		if err != nil {
			t.Fatal(err)
		}

		return got
	}
	for _, c := range []struct {
		name string
		got  []string
		want []string
	}{
		{name: "all", got: scan("k", "l", false, 99), want: []string{"k0", "k1", "k2", "k3", "k4", "k6", "k9"}},
		{name: "the upper bound is outside", got: scan("k2", "k4", false, 99), want: []string{"k2", "k3"}},
		{name: "reverse, until the callback stops", got: scan("k", "l", true, 2), want: []string{"k9", "k6"}},
	} {
		if !slices.Equal(c.got, c.want) {
			t.Errorf("%s: %v, want %v", c.name, c.got, c.want)
		}
	}

	stop := errors.New("stop")
	err := db.Scan([]byte("k"), []byte("l"), false, func(_, _ []byte) (bool, error) { return true, stop })
	if !errors.Is(err, stop) {
		t.Errorf("the callback's error is %v", err)
	}

	if err := db.Barrier(); err != nil {
		t.Error(err)
	}
}

// TestGetRare: GetRare finds the same keys as Get, in the newest changes and in tables. It takes
// neither a prefix nor an extension of a key for the key.
func TestGetRare(t *testing.T) {
	db := open(t, vfs.NewMem())
	defer shut(t, db)

	for round := range 2 {
		b := db.NewBatch()
		for i := range 100 {
			b.Set(fmt.Appendf(nil, "k%02d", i), fmt.Appendf(nil, "v%d-%d", i, round))
		}
		b.Delete([]byte("k50"))
		b.DeleteRange([]byte("k70"), []byte("k80"))

		if err := b.Commit(); err != nil {
			t.Fatal(err)
		}

		for i := range 100 {
			for _, key := range []string{fmt.Sprintf("k%02d", i), fmt.Sprintf("k%02d-", i), "k"} {
				want, exists, err := db.Get([]byte(key))
				if err != nil {
					t.Fatal(err)
				}

				got, found, err := db.GetRare([]byte(key))
				if err != nil || found != exists || !bytes.Equal(got, want) {
					t.Errorf("round %d, %q: %q, %v, %v; want %q, %v", round, key, got, found, err, want, exists)
				}
			}
		}

		if err := db.Compact(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
}

// A batch that was applied before a barrier survives a power failure after it.
func TestBarrier(t *testing.T) {
	fs := vfs.NewCrashableMem()
	db := open(t, fs)
	b := db.NewBatch()
	b.Set([]byte("k"), []byte("v"))

	if err := b.Apply(); err != nil {
		t.Fatal(err)
	}

	if err := db.Barrier(); err != nil {
		t.Fatal(err)
	}

	after := open(t, fs.CrashClone(vfs.CrashCloneCfg{}))
	if _, ok, err := after.Get([]byte("k")); err != nil || !ok {
		t.Errorf("after the barrier the key is lost: %v, %v", ok, err)
	}
	shut(t, after)

	if err := b.Sync(); err != nil {
		t.Fatal(err)
	}
	shut(t, db)
}

// CommitLater makes a batch visible at once, and durable with the next commit.
//
//raced:here
func TestCommitLater(t *testing.T) {
	fs := vfs.NewCrashableMem()
	db := open(t, fs)

	later := db.NewBatch()
	later.Set([]byte("later"), nil)

	if err := later.CommitLater(); err != nil {
		t.Fatal(err)
	}

	if _, ok, err := db.Get([]byte("later")); err != nil || !ok {
		t.Errorf("the batch is not visible: %v, %v", ok, err)
	}

	next := db.NewBatch()
	next.Set([]byte("next"), nil)

	if err := next.Commit(); err != nil {
		t.Fatal(err)
	}

	crashed := open(t, fs.CrashClone(vfs.CrashCloneCfg{}))
	if _, ok, err := crashed.Get([]byte("later")); err != nil || !ok {
		t.Errorf("the batch is lost though a later one was committed: %v, %v", ok, err)
	}
	shut(t, crashed)
	shut(t, db)
}

func TestPrefixEnd(t *testing.T) {
	for _, c := range []struct{ name, prefix, want string }{
		{name: "the last byte grows", prefix: "ab", want: "ac"},
		{name: "a byte that cannot grow is dropped", prefix: "a\xff\xff", want: "b"},
		{name: "nothing is above the highest prefix", prefix: "\xff", want: ""},
		{name: "every key has the empty prefix", prefix: "", want: ""},
	} {
		if got := PrefixEnd([]byte(c.prefix)); string(got) != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

func TestOnlyOneOpensADirectory(t *testing.T) {
	dir := t.TempDir()
	db, err := Open(Config{Dir: dir, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	defer shut(t, db)

	if _, err := Open(Config{Dir: dir, Log: slog.New(slog.DiscardHandler)}); err == nil || errors.Is(err, ErrDamaged) ||
		!strings.Contains(err.Error(), "this process has this directory open") {
		t.Fatalf("the directory is open twice: %v", err)
	}

	if _, err := Open(Config{Dir: "", Log: slog.Default()}); err == nil {
		t.Fatal("an empty directory is accepted")
	}
}

// TestADirectoryOfAnotherProcessIsNamed: by the error that the operating system has for its lock.
func TestADirectoryOfAnotherProcessIsNamed(t *testing.T) {
	t.Parallel()

	err := openError("data", fmt.Errorf("lock data/LOCK: %w", taken))
	if !errors.Is(err, ErrLocked) || !errors.Is(err, taken) || errors.Is(err, ErrDamaged) ||
		!strings.HasPrefix(err.Error(), "open store in data: another process has this directory open (lock data/LOCK: ") {
		t.Error(err)
	}
}

// TestADirectoryOfANewerVersionIsNamed: such a directory is not called damaged.
func TestADirectoryOfANewerVersionIsNamed(t *testing.T) {
	t.Parallel()

	dir := t.TempDir()
	db, err := Open(Config{Dir: dir, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	shut(t, db)

	markers, err := filepath.Glob(filepath.Join(dir, "marker.format-version.*"))
	if err != nil || len(markers) != 1 {
		t.Fatal(markers, err)
	}

	if err := os.Rename(markers[0], filepath.Join(dir, "marker.format-version.009999.999")); err != nil {
		t.Fatal(err)
	}

	if _, err := Open(Config{Dir: dir, Log: slog.New(slog.DiscardHandler)}); err == nil || errors.Is(err, ErrDamaged) ||
		!strings.Contains(err.Error(), "a newer version of the program has written it") {
		t.Error(err)
	}
}
