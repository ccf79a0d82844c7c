package store

import (
	"bytes"
	"io"
	"log/slog"
	"path/filepath"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// slowCopyFS calls between after the first read of each log.
type slowCopyFS struct {
	*vfs.MemFS
	between *func()
}

func (s slowCopyFS) Open(name string, options ...vfs.OpenOption) (vfs.File, error) {
	file, err := s.MemFS.Open(name, options...)
	if err != nil || filepath.Ext(name) != logExtension {
		return file, err
	}

	return &slowCopy{File: file, between: s.between}, nil
}

type slowCopy struct {
	vfs.File
	between *func()
	later   bool
}

func (s *slowCopy) Read(p []byte) (int, error) {
	n, err := s.File.Read(p)
	if !s.later {
		s.later = true
		(*s.between)()
	}

	return n, err
}

// TestACopyOfALogThatIsWrittenOpens: changes that come while a checkpoint reads the log are in the copy in their
// order or not at all, and do not make it a damaged one. The log may be a used one.
func TestACopyOfALogThatIsWrittenOpens(t *testing.T) {
	for name, flushes := range map[string]int{"a new log": 0, "a used log": 6} {
		t.Run(name, func(t *testing.T) {
			between := func() {}
			fs := slowCopyFS{vfs.NewMem(), &between}
			shut(t, open(t, fs)) // the first log of all has an older format
			db := open(t, fs)

			n := 0
			put := func(times int) {
				for range times {
					b := db.NewBatch()
					b.Set(lifeKey(n), bytes.Repeat([]byte{byte(n)}, 9000))
					n++

					if err := b.Commit(); err != nil {
						t.Fatal(err)
					}
				}
			}

			for range flushes {
				put(20)

				if err := pebbleOf(db).Flush(); err != nil {
					t.Fatal(err)
				}
			}
			put(1)
			before := n
			between = func() { put(20) }

			if err := db.Checkpoint("copy"); err != nil {
				t.Fatal(err)
			}

			if n == before {
				t.Fatal("no log was read")
			}
			shut(t, db)

			copied, err := Open(Config{Dir: "copy", Disk: fs.MemFS, Log: slog.New(slog.DiscardHandler)})
			if err != nil {
				t.Fatal(err)
			}
			defer shut(t, copied)

			for k := range before {
				if value, found, err := copied.Get(lifeKey(k)); err != nil || !found || len(value) != 9000 || value[0] != byte(k) {
					t.Fatalf("change %d: %v, %v", k, found, err)
				}
			}
		})
	}
}

// TestALogThatWasWrittenIsReadToItsEnd: only a log that is open for writing is read up to its
// records of the moment.
func TestALogThatWasWrittenIsReadToItsEnd(t *testing.T) {
	t.Parallel()

	fs := newLogFS(vfs.NewMem())

	log, err := fs.Create("1.log", vfs.WriteCategoryUnspecified)
	if err != nil {
		t.Fatal(err)
	}

	size := func() int {
		t.Helper()

		file, err := fs.Open("1.log")
		if err != nil {
			t.Fatal(err)
		}
		defer file.Close()

		data, err := io.ReadAll(file)
		if err != nil || !bytes.HasPrefix(data, []byte("records")) {
			t.Error(data, err)
		}

		return len(data)
	}

	if _, err := io.WriteString(log, "records"); err != nil || size() != len("records") {
		t.Errorf("while it is written: %d bytes, %v", size(), err)
	}

	if err := log.Close(); err != nil || size() != logStep {
		t.Errorf("afterwards: %d bytes, %v", size(), err)
	}

	if log, err = fs.ReuseForWrite("1.log", "2.log", vfs.WriteCategoryUnspecified); err != nil {
		t.Fatal(err)
	}
	defer log.Close()

	if got := log.(*logFile).size; got != logStep {
		t.Errorf("a used log has %d bytes", got)
	}
}

// growingFile counts the bytes that are written ahead of the records, and fails a test if room is
// reserved.
type growingFile struct {
	vfs.File
	t     *testing.T
	ahead int64
}

func (g *growingFile) Preallocate(offset, length int64) error {
	g.t.Errorf("%d bytes were reserved from %d on", length, offset)
	return nil
}

func (g *growingFile) WriteAt(p []byte, at int64) (int, error) {
	g.ahead += int64(len(p))
	return g.File.WriteAt(p, at)
}

// TestALogGrowsByZeros: zeros are written ahead of the records, because a sync of a part that was
// only reserved takes longer. They are no more than a step, because a small store must not take
// much of a disk.
func TestALogGrowsByZeros(t *testing.T) {
	t.Parallel()

	name := filepath.Join(t.TempDir(), "1.log")

	file, err := vfs.Default.Create(name, vfs.WriteCategoryUnspecified)
	if err != nil {
		t.Fatal(err)
	}
	growing := &growingFile{File: file, t: t}

	log := vfs.NewSyncingFile(newLogFS(vfs.Default).write(name, growing, 0), vfs.SyncingFileOptions{PreallocateSize: memTableSize})
	defer log.Close()

	end := int64(0)
	for _, n := range []int64{1000, logStep - 1000, 1, logStep, 2*logStep + 1, 1000} {
		if _, err := log.Write(bytes.Repeat([]byte("r"), int(n))); err != nil {
			t.Fatal(err)
		}
		end += n

		steps := (end + logStep - 1) / logStep
		if info, err := log.Stat(); err != nil || info.Size() != steps*logStep || growing.ahead != steps*logStep {
			t.Errorf("with %d bytes of records the log has %d, of which %d were written ahead, %v", end, info.Size(), growing.ahead, err)
		}
	}
}
