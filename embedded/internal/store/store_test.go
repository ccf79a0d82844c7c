package store

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func open(t *testing.T, fs vfs.FS) *DB {
	t.Helper()

	db, err := openOn(fs, "data", slog.New(slog.DiscardHandler))
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

// TestPowerFailure cuts the power at a random moment of concurrent commits: the
// disk loses everything that was not flushed. What Commit had acknowledged by
// then is there, batches are there in full or not at all, and a batch that was
// applied first reached the disk first.
func TestPowerFailure(t *testing.T) {
	fs := vfs.NewCrashableMem()
	db := open(t, fs)
	const writers = 8
	key := func(w, n int) []byte {
		return binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint32(nil, uint32(w)), uint32(n))
	}
	var mu sync.Mutex // orders Apply over all writers
	var order [][2]int
	var acked [writers]int

	var after *vfs.MemFS
	var ackedAt [writers]int
	var wg sync.WaitGroup
	for w := range writers {
		wg.Go(func() {
			for n := range 200 {
				b := db.NewBatch()
				b.Set(key(w, n), []byte("one"))
				b.Set(key(w+100, n), []byte("two"))
				mu.Lock()
				order = append(order, [2]int{w, n})
				err := b.Apply()
				mu.Unlock()

				if err = errors.Join(err, b.Sync()); err != nil {
					t.Error(err)
					return
				}
				mu.Lock()

				acked[w] = n + 1
				if w == 0 && n == 120 {
					ackedAt = acked
					after = fs.CrashClone(vfs.CrashCloneCfg{})
				}
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	shut(t, db)

	db = open(t, after)
	defer shut(t, db)

	has := func(k []byte) bool {
		_, ok, err := db.Get(k)
		if err != nil {
			t.Fatal(err)
		}

		return ok
	}
	for w, n := range ackedAt {
		for i := range n {
			if !has(key(w, i)) {
				t.Fatalf("writer %d: batch %d of %d acknowledged is lost", w, i, n)
			}
		}
	}

	lost := false
	for _, o := range order {
		one, two := has(key(o[0], o[1])), has(key(o[0]+100, o[1]))
		if one != two {
			t.Fatalf("writer %d: half of batch %d is there", o[0], o[1])
		}

		if lost && one {
			t.Fatalf("writer %d: batch %d is there, one applied before is not", o[0], o[1])
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
		{name: "reverse, until told to stop", got: scan("k", "l", true, 2), want: []string{"k9", "k6"}},
	} {
		if !slices.Equal(c.got, c.want) {
			t.Errorf("%s: %v, want %v", c.name, c.got, c.want)
		}
	}

	stop := errors.New("stop")
	if err := db.Scan([]byte("k"), []byte("l"), false, func(_, _ []byte) (bool, error) { return true, stop }); !errors.Is(err, stop) {
		t.Errorf("the callback's error is %v", err)
	}

	if err := db.Barrier(); err != nil {
		t.Error(err)
	}
}

// TestBarrier: what was applied before a barrier survives a power failure after it.
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
		t.Errorf("behind the barrier the key is there: %v, %v", ok, err)
	}
	shut(t, after)

	if err := b.Sync(); err != nil {
		t.Fatal(err)
	}
	shut(t, db)
}

func TestOneAtATime(t *testing.T) {
	dir := t.TempDir()
	db, err := Open(dir, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	defer shut(t, db)

	if _, err := Open(dir, slog.New(slog.DiscardHandler)); err == nil {
		t.Fatal("the directory is open twice")
	}

	if _, err := Open("", slog.Default()); err == nil {
		t.Fatal("an empty directory is accepted")
	}
}
