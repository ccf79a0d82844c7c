package store

import (
	"errors"
	"log/slog"
	"sync"
	"testing"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
)

// atOnce runs each call in a goroutine of its own. Each makes one call: a second one would order the first before those of
// others, and the race detector would not see that the first one holds no lock.
func atOnce(run ...func()) {
	var group sync.WaitGroup
	for _, call := range run {
		group.Go(call)
	}
	group.Wait()
}

// TestFilesAreKeptAndReleasedAtOnce: Pebble deletes files in the background while Open releases them.
func TestFilesAreKeptAndReleasedAtOnce(t *testing.T) {
	k := &keeper{FS: vfs.NewMem()}
	remove := func() { _ = k.Remove("1.sst") }
	release := func() {
		if err := k.release(); err != nil {
			t.Error(err)
		}
	}

	atOnce(remove, remove, release, remove)

	if k.keeps("1.sst") || len(k.kept) > 0 {
		t.Errorf("kept after the release: %v", k.kept)
	}
}

// TestFailuresOfTheBackgroundAreNotedAtOnce: a flush and a compaction may fail at the same moment.
func TestFailuresOfTheBackgroundAreNotedAtOnce(t *testing.T) {
	b, broken := newBackground(slog.New(slog.DiscardHandler)), errors.New("broken")
	failed := func() { b.failed(broken) }
	flushed := func() { b.flushed(pebble.FlushInfo{Err: broken}) }

	atOnce(failed, flushed, failed, flushed)
	atOnce(failed)

	if !b.failing.Load() {
		t.Error("the failure of a flush is not noticed")
	}
}
