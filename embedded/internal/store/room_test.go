package store

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"ratchet/embedded/internal/smalldisk"
)

// TestAFullDiskRefusesChanges: nothing of a refused change is stored, reads go on, and changes are
// accepted again when there is room. The store can be closed and opened meanwhile.
func TestAFullDiskRefusesChanges(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		disk := smalldisk.New()
		db := open(t, disk)

		put := func(value string) error {
			b := db.NewBatch()
			b.Set([]byte("d"), []byte(value))

			return b.Commit()
		}
		stored := func() string {
			value, _, err := db.Get([]byte("d"))
			if err != nil {
				t.Fatal(err)
			}

			return string(value)
		}
		after := func(free uint64) {
			disk.Free.Store(free)
			time.Sleep(roomCheck)
		}

		if err := errors.Join(put("first"), db.HasRoom()); err != nil {
			t.Fatal(err)
		}

		after(roomForBatches - 1) // more than the difference was lost at once

		if err := db.HasRoom(); !errors.Is(err, ErrFull) {
			t.Error(err)
		}

		if err := put("of a call that has begun"); err != nil {
			t.Error(err)
		}
		time.Sleep(roomNotice)

		if err := put("after the notice"); !errors.Is(err, ErrFull) {
			t.Error(err)
		}

		after(roomForCalls)
		after(roomForCalls - 1)
		time.Sleep(roomNotice)

		if err := db.HasRoom(); !errors.Is(err, ErrFull) || !strings.Contains(err.Error(), "data has 31 MB of free space and needs 32 MB") {
			t.Error(err)
		}

		if err := put("of a call that has begun"); err != nil {
			t.Error(err)
		}

		after(roomForBatches - 1)

		later := db.NewBatch()
		later.Set([]byte("d"), []byte("refused"))

		if err := put("refused"); !errors.Is(err, ErrFull) {
			t.Error(err)
		}

		if err := later.CommitLater(); !errors.Is(err, ErrFull) {
			t.Error(err)
		}

		for range 2 {
			shut(t, db)
			db = open(t, disk)
		}

		if got := stored(); got != "of a call that has begun" {
			t.Errorf("the value is %q", got)
		}

		after(roomForCalls)

		if err := errors.Join(db.HasRoom(), put("last")); err != nil || stored() != "last" {
			t.Errorf("%q, %v", stored(), err)
		}

		shut(t, db)
		shut(t, open(t, disk)) // the generations have no gap
	})
}

// TestCopiesNeedRoom: a compaction needs as much as the files have, a checkpoint as much as the logs.
func TestCopiesNeedRoom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		disk := smalldisk.New()
		db := open(t, disk)

		b := db.NewBatch()
		value := make([]byte, 4<<20) // that cannot be compressed
		_, _ = rand.NewChaCha8([32]byte{}).Read(value)
		b.Set([]byte("d"), value)

		if err := b.Commit(); err != nil {
			t.Fatal(err)
		}

		for free, want := range map[uint64][2]error{
			1 << 30:               {nil, nil},
			roomForCalls + 3<<20:  {ErrFull, nil},
			roomForCopies + 3<<20: {ErrFull, ErrFull},
		} {
			disk.Free.Store(free)
			time.Sleep(roomCheck)

			if err := db.Checkpoint(fmt.Sprint("copy-", free)); !errors.Is(err, want[1]) {
				t.Errorf("with %d MB, a checkpoint: %v", free>>20, err)
			}

			if want[0] == nil {
				continue
			}

			if err := db.Compact(t.Context()); !errors.Is(err, want[0]) {
				t.Errorf("with %d MB, a compaction: %v", free>>20, err)
			}
		}

		disk.Free.Store(1 << 30)
		time.Sleep(roomCheck)

		if err := db.Compact(t.Context()); err != nil {
			t.Error(err)
		}
		shut(t, db)
	})
}

// slowTables is a disk on which tables wait for the gate.
type slowTables struct {
	*smalldisk.FS
	gate sync.RWMutex
}

func (s *slowTables) Create(name string, category vfs.DiskWriteCategory) (vfs.File, error) {
	if filepath.Ext(name) == ".sst" {
		s.gate.RLock()
		defer s.gate.RUnlock()
	}

	return s.FS.Create(name, category)
}

// TestACheckpointNeedsRoomForOlderLogs: older logs are copied whole, although a reused one may hold
// few records.
func TestACheckpointNeedsRoomForOlderLogs(t *testing.T) {
	t.Parallel()

	disk := &slowTables{FS: smalldisk.New()}
	shut(t, open(t, disk)) // the first log of all has an older format

	db := open(t, disk)
	put := func(bytes int) {
		b := db.NewBatch()
		b.Set([]byte("d"), make([]byte, bytes))

		if err := b.Commit(); err != nil {
			t.Fatal(err)
		}
	}

	for range 3 { // until large logs are used again
		put(4 << 20)

		if err := pebbleOf(db).Flush(); err != nil {
			t.Fatal(err)
		}
	}

	disk.gate.Lock()
	put(1)

	flushed, err := pebbleOf(db).AsyncFlush()
	if err != nil {
		t.Fatal(err)
	}

	if holds := pebbleOf(db).Metrics().WAL.Size; holds > 1<<20 {
		t.Fatalf("the logs hold %d bytes", holds)
	}

	disk.Free.Store(roomForCopies + 3<<20)
	db.lookAtDisk(0)

	if err := db.Checkpoint("copy"); !errors.Is(err, ErrFull) {
		t.Error(err)
	}
	disk.gate.Unlock()
	<-flushed
	shut(t, db)
}

// failingProcess names the row of TestAFailingDiskEndsTheProcess in the process that ends.
const failingProcess = "RATCHET_TEST_FAILING_DISK"

// TestAFailingDiskEndsTheProcess: a change that may not be on disk is not acknowledged, and not shown either. The
// process also ends if the caller recovers from panics, as net/http does.
//
//raced:here
func TestAFailingDiskEndsTheProcess(t *testing.T) {
	rows := map[string]struct {
		failed func(error)
		status int
		says   []string
		not    string
	}{
		"a program that does not care": {nil, 2, []string{"level=ERROR", "panic: store in data failed"}, "told"},
		"a program that goes on":       {func(err error) { fmt.Println("told:", err) }, 2, []string{"told: store in data failed", "panic: store in data failed"}, "level=ERROR"},
		"a program that ends": {func(err error) {
			fmt.Println("told:", err)
			os.Exit(1)
		}, 1, []string{"told: store in data failed"}, "panic"},
	}

	if row, is := rows[os.Getenv(failingProcess)]; is {
		commitOnFailingDisk(t, row.failed)
		return
	}

	t.Parallel()

	for name, row := range rows {
		process := exec.Command(os.Args[0], "-test.run=^"+t.Name()+"$")
		process.Env = append(os.Environ(), failingProcess+"="+name)

		said, err := process.CombinedOutput()

		var exit *exec.ExitError
		if !errors.As(err, &exit) || exit.ExitCode() != row.status || bytes.Contains(said, []byte("goes on after")) || bytes.Contains(said, []byte(row.not)) {
			t.Errorf("%s: the process ends with %v: %s", name, err, said)
		}

		for _, part := range append(row.says, syscall.EIO.Error(), "what was answered is on disk") {
			if !bytes.Contains(said, []byte(part)) {
				t.Errorf("%s: it does not say %q but %s", name, part, said)
			}
		}
	}
}

func commitOnFailingDisk(t *testing.T, failed func(error)) {
	var fails atomic.Bool

	disk := smalldisk.New()
	disk.BeforeSync = func() error {
		if fails.Load() {
			return syscall.EIO
		}

		return nil
	}

	db, err := Open(Config{Dir: "data", Disk: disk, Log: slog.New(slog.NewTextHandler(os.Stderr, nil)), Failed: failed})
	if err != nil {
		t.Fatal(err)
	}
	fails.Store(true)

	defer func() { fmt.Println("the process goes on after", recover()) }()

	b := db.NewBatch()
	b.Set([]byte("d"), []byte("value"))
	fmt.Println("the process goes on after a commit that returned", b.Commit())
}

// TestADirectoryThatCannotBeWrittenIsNamed: as on a disk that is mounted read-only.
func TestADirectoryThatCannotBeWrittenIsNamed(t *testing.T) {
	_, err := Open(Config{Dir: "data", Disk: readOnlyDisk{vfs.NewMem()}, Log: slog.New(slog.DiscardHandler)})
	if err == nil || errors.Is(err, ErrDamaged) || !strings.Contains(err.Error(), "open store in data: the directory must be writable (") {
		t.Error(err)
	}
}

type readOnlyDisk struct{ *vfs.MemFS }

func (readOnlyDisk) MkdirAll(string, os.FileMode) error { return syscall.EROFS }

func (readOnlyDisk) Lock(string) (io.Closer, error) { return nil, syscall.EROFS }
