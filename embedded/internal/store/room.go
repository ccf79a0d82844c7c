package store

import (
	"errors"
	"fmt"
	"sync/atomic"
	"time"
)

// A full disk in the middle of a write would end the process. So the store leaves room: enough to write
// the newest changes to tables.
const (
	// roomForCalls is the free space with which HasRoom lets a call begin.
	roomForCalls = 32 << 20
	// roomForBatches is the free space with which a batch is applied: less, so that a call that has begun
	// ends, and what the engine does by itself goes on for a while.
	roomForBatches = 16 << 20
	// roomCheck is the time after which the store looks at the disk again.
	roomCheck = 100 * time.Millisecond
)

// ErrFull refuses a change while the disk has too little room. Nothing of it is stored, and reads go on.
var ErrFull = errors.New("the disk is full")

// room knows how much room the disk has.
type room struct {
	next atomic.Int64 // when to look again, in nanoseconds since 1970
	free atomic.Uint64
	full atomic.Bool
}

// HasRoom returns ErrFull if the disk has too little room for a call that changes something.
func (d *DB) HasRoom() error { return d.hasRoom(roomForCalls) }

func (d *DB) hasRoom(needed uint64) error {
	now := time.Now().UnixNano()
	if next := d.room.next.Load(); now >= next && d.room.next.CompareAndSwap(next, now+int64(roomCheck)) {
		d.lookAtDisk()
	}

	if free := d.room.free.Load(); free < needed {
		return fmt.Errorf("%w: %s has %d MB of free space and needs %d MB", ErrFull, d.dir, free>>20, needed>>20)
	}

	return nil
}

// lookAtDisk notes how much room there is. A file system that does not say has enough.
func (d *DB) lookAtDisk() {
	free := uint64(1) << 62
	if usage, err := d.disk.GetDiskUsage(d.dir); err == nil {
		free = usage.AvailBytes
	}
	d.room.free.Store(free)

	full := free < roomForCalls
	if was := d.room.full.Swap(full); full && !was {
		d.log.Error("store: the disk is full; changes are refused until there is room", "directory", d.dir, "free", free, "needed", roomForCalls)
	} else if was && !full {
		d.log.Info("store: the disk has room again", "directory", d.dir)
	}
}
