package store

import (
	"bytes"
	"fmt"
	"path/filepath"
	"sync"
	"syscall"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// stuntingFS refuses to make logs larger than their records, after a number of times.
type stuntingFS struct {
	*vfs.MemFS
	after int
	err   error

	mu      *sync.Mutex
	refused map[string]int // by the log
}

func (s stuntingFS) log(name string, file vfs.File, err error) (vfs.File, error) {
	if err != nil || filepath.Ext(name) != logExtension {
		return file, err
	}

	return &stuntedLog{File: file, fs: s, name: name}, nil
}

func (s stuntingFS) Create(name string, category vfs.DiskWriteCategory) (vfs.File, error) {
	file, err := s.MemFS.Create(name, category)
	return s.log(name, file, err)
}

func (s stuntingFS) ReuseForWrite(oldName, newName string, category vfs.DiskWriteCategory) (vfs.File, error) {
	file, err := s.MemFS.ReuseForWrite(oldName, newName, category)
	return s.log(newName, file, err)
}

type stuntedLog struct {
	vfs.File
	fs   stuntingFS
	name string
	done int
}

func (s *stuntedLog) WriteAt(p []byte, at int64) (int, error) {
	if s.done++; s.done <= s.fs.after {
		return s.File.WriteAt(p, at)
	}

	s.fs.mu.Lock()
	defer s.fs.mu.Unlock()
	s.fs.refused[s.name]++

	return 0, s.fs.err
}

// TestALogThatCannotBeExtendedTakesChanges: whenever the disk begins to refuse larger logs, every
// acknowledged change is there after a power failure, in a copy, and at the next opening. Each log
// tries only once more.
func TestALogThatCannotBeExtendedTakesChanges(t *testing.T) {
	t.Parallel()

	for _, refusal := range []error{syscall.ENOSPC, syscall.EIO} {
		for after := range 3 {
			if testing.Short() && after > 0 {
				continue
			}

			t.Run(fmt.Sprint(refusal, " after ", after), func(t *testing.T) {
				disk := stuntingFS{vfs.NewCrashableMem(), after, refusal, new(sync.Mutex), map[string]int{}}
				db := open(t, disk)

				n := 0
				put := func(times int) {
					for range times {
						b := db.NewBatch()
						b.Set(lifeKey(n), bytes.Repeat([]byte{byte(n)}, logStep/5))
						n++

						if err := b.Commit(); err != nil {
							t.Fatal(err)
						}
					}
				}
				has := func(db *DB) {
					t.Helper()

					for k := range n {
						if value, found, err := db.Get(lifeKey(k)); err != nil || !found || len(value) != logStep/5 || value[0] != byte(k) {
							t.Fatalf("change %d of %d: %v, %v", k, n, found, err)
						}
					}
					shut(t, db)
				}

				for range 6 { // the last ones reuse a log
					put(12)

					if err := pebbleOf(db).Flush(); err != nil {
						t.Fatal(err)
					}
				}
				put(12)

				if err := db.Checkpoint("copy"); err != nil {
					t.Fatal(err)
				}
				has(open(t, disk.CrashClone(vfs.CrashCloneCfg{})))

				copied, err := Open(Config{Dir: "copy", Disk: disk.MemFS, Log: db.log})
				if err != nil {
					t.Fatal(err)
				}
				has(copied)
				shut(t, db)
				has(open(t, disk.MemFS))

				if len(disk.refused) < 2 {
					t.Errorf("%d logs could not be extended", len(disk.refused))
				}

				for name, times := range disk.refused {
					if times != 1 {
						t.Errorf("%s has tried %d times", name, times)
					}
				}
			})
		}
	}
}
