package store

import (
	"errors"
	"fmt"
	"math"
	"sync/atomic"
	"time"
)

// A full disk in the middle of a write would end the process. So the store leaves room: enough to write
// the newest changes to tables.
const (
	// roomForCalls is the least free space with which HasRoom lets a call begin.
	roomForCalls = 32 << 20
	// roomForBatches is the least free space with which a batch is applied. It is less than
	// roomForCalls, so that a call that has begun can end, and the engine's own work goes on for a
	// while.
	roomForBatches = 16 << 20
	// roomForCopies is the free space beside the logs that Checkpoint copies.
	roomForCopies = 8 << 20
	// roomNotice is how long batches are still applied after the first call was refused: a disk may
	// lose more than the difference between the two limits at once, and a call that has begun may
	// already have changed its service's memory.
	roomNotice = time.Second
	// roomCheck is the time after which the store looks at the disk again.
	roomCheck = 100 * time.Millisecond
)

// ErrFull refuses a change while the disk has too little room. Nothing of it is stored, and reads go on.
var ErrFull = errors.New("the disk is full")

// room knows how much room the disk has.
type room struct {
	opened time.Time    // times are counted from here, since the machine's clock may be set
	next   atomic.Int64 // when to look again
	free   atomic.Uint64
	full   atomic.Int64 // since when there is too little for calls, or enough
}

// enough is the value of room.full while the disk has enough room.
const enough = math.MaxInt64

// HasRoom returns ErrFull if the disk has too little room for a call that changes something.
func (d *DB) HasRoom() error { return d.hasRoom(roomForCalls) }

// hasRoomForBatch returns ErrFull if the disk has too little room for a batch.
func (d *DB) hasRoomForBatch() error {
	err := d.hasRoom(roomForBatches)
	if err != nil && d.room.now()-d.room.full.Load() < int64(roomNotice) {
		return nil
	}

	return err
}

// now returns the time since Open.
func (r *room) now() int64 { return int64(time.Since(r.opened)) }

func (d *DB) hasRoom(needed uint64) error {
	now := d.room.now()

	// One goroutine looks at the disk. Others use the result of the last look meanwhile.
	if next := d.room.next.Load(); now >= next && d.room.next.CompareAndSwap(next, now+int64(roomCheck)) {
		d.lookAtDisk(now)
	}

	if free := d.room.free.Load(); free < needed {
		return fmt.Errorf("%w: %s has %d MB of free space and needs %d MB", ErrFull, d.dir, free>>20, needed>>20)
	}

	return nil
}

// lookAtDisk notes how much room the disk has. A file system that cannot tell counts as having
// enough.
func (d *DB) lookAtDisk(now int64) {
	free := uint64(1) << 62
	if usage, err := d.disk.GetDiskUsage(d.dir); err == nil {
		free = usage.AvailBytes
	}
	d.room.free.Store(free)

	switch full := free < roomForCalls; {
	case full && d.room.full.CompareAndSwap(enough, now):
		d.log.Error("store: the disk is full; changes are refused until there is room", "directory", d.dir, "free", free, "needed", roomForCalls)
	case !full && d.room.full.Swap(enough) != enough:
		d.log.Info("store: the disk has room again", "directory", d.dir)
	}
}
