package store

import (
	"bytes"
	"encoding/binary"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"sync/atomic"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
)

var (
	flagLives    = flag.Int("lives", 6, "how many random lives of a store the tests look at")
	flagLifeSeed = flag.Uint64("lifeseed", 1, "seed of the lives")
)

// life is a store that lives through everything that may happen to a store. Its changes are numbered.
type life struct {
	t       *testing.T
	dice    *rand.Rand
	outages *outages
	disk    *vfs.MemFS
	db      *DB
	free    atomic.Uint64
	ordered bool
	copies  int

	written int
	acked   atomic.Int64
}

func lifeKey(n int) []byte { return binary.BigEndian.AppendUint32([]byte{PrefixDynamoDB}, uint32(n)) }

// lifeValue is small, or longer than a block of a log, or than a step, or than a table in memory.
func lifeValue(n int) []byte {
	size := 40
	switch {
	case n%41 == 7:
		size = memTableSize/16 + 5
	case n%13 == 5:
		size = 70_000
	}

	return bytes.Repeat([]byte{byte(n)}, size)
}

// steps are what may happen, and how often.
var lifeSteps = []struct {
	weight int
	step   func(l *life)
}{
	{40, func(l *life) { l.write((*Batch).Commit, true) }},
	{10, func(l *life) { l.write((*Batch).CommitLater, false) }},
	{6, func(l *life) { l.ok(pebbleOf(l.db).Flush()) }},
	{2, (*life).compact},
	{2, (*life).copy},
	{4, func(l *life) { l.setFree(roomForBatches - 1) }},
	{4, func(l *life) { l.setFree(1 << 30) }},
	{4, (*life).reopen},
	{4, (*life).crash},
}

func (l *life) ok(err error) {
	l.t.Helper()

	if err != nil {
		l.t.Fatal(err)
	}
}

func (l *life) setFree(free uint64) {
	l.free.Store(free)
	l.db.lookAtDisk(-int64(roomNotice))
}

// write makes the next change. A refused change leaves nothing.
func (l *life) write(commit func(*Batch) error, durable bool) {
	b := l.db.NewBatch()
	b.Set(lifeKey(l.written), lifeValue(l.written))

	err := commit(b)
	if l.free.Load() < roomForBatches {
		if !errors.Is(err, ErrFull) {
			l.t.Fatalf("a change on a full disk: %v", err)
		}

		return
	}
	l.ok(err)

	if l.written++; durable {
		l.acked.Store(int64(l.written))
	}
}

func (l *life) open() {
	db, err := Open(Config{Dir: "data", Disk: cuttingFS{l.disk, l.outages.cut, &l.free, l.ordered}, Log: slog.New(slog.DiscardHandler)})
	l.ok(err)
	l.db = db
}

// reopen closes and opens the store. A closed store has all changes.
func (l *life) reopen() {
	l.ok(l.db.Close())
	l.open()

	if got := l.read(l.db); got != l.written && l.free.Load() >= roomForBatches {
		l.t.Fatalf("after Close %d changes of %d are there", got, l.written)
	} else if l.written = got; int64(got) < l.acked.Load() {
		l.t.Fatalf("after Close on a full disk %d changes of %d are there", got, l.acked.Load())
	}
}

// crash goes on with the disk that a power failure leaves at this moment.
func (l *life) crash() {
	l.outages.mu.Lock()
	left := l.outages.now()
	l.outages.mu.Unlock()

	l.ok(l.db.Close())
	l.verify(l.outages.take())

	l.disk, l.outages.disk = left.disk, left.disk
	l.open()

	l.written = l.read(l.db)
	if l.written < left.acked {
		l.t.Fatalf("after a power failure %d changes of %d are there", l.written, left.acked)
	}
	l.acked.Store(int64(l.written)) // Open has flushed them
}

// compact rewrites all tables, unless the disk is full.
func (l *life) compact() {
	if err := l.db.Compact(l.t.Context()); l.free.Load() > roomForCalls || !errors.Is(err, ErrFull) {
		l.ok(err)
	}
}

// copy makes a copy, which opens by itself. On a full disk there may be no room for the logs.
func (l *life) copy() {
	l.copies++
	name := fmt.Sprint("copy-", l.copies)

	err := l.db.Checkpoint(name)
	if l.free.Load() < roomForBatches && errors.Is(err, ErrFull) {
		return
	}
	l.ok(err)

	db, err := Open(Config{Dir: name, Disk: l.disk, Log: slog.New(slog.DiscardHandler)})
	l.ok(err)

	if got := l.read(db); got != l.written {
		l.t.Fatalf("the copy has %d changes of %d", got, l.written)
	}
	l.ok(db.Close())
	l.ok(l.disk.RemoveAll(name))
}

// read returns how many changes there are, from the first on and without a gap.
func (l *life) read(db *DB) (n int) {
	l.ok(db.Scan([]byte{PrefixDynamoDB}, []byte{PrefixDynamoDB + 1}, false, func(key, value []byte) (bool, error) {
		if !bytes.Equal(key, lifeKey(n)) || !bytes.Equal(value, lifeValue(n)) {
			l.t.Fatalf("change %d: %x has %d bytes", n, key, len(value))
		}
		n++

		return true, nil
	}))

	return n
}

// verify opens each disk that a power failure has left, twice: the second opening also finds it
// sound.
func (l *life) verify(left []outage) {
	l.t.Helper()

	for _, o := range left {
		for range 2 {
			db, err := Open(Config{Dir: "data", Disk: o.disk, Log: slog.New(slog.DiscardHandler)})
			l.ok(err)

			if got := l.read(db); got < o.acked {
				l.t.Fatalf("after a power failure %d changes of %d are there", got, o.acked)
			}
			l.ok(db.Close())
		}
	}
}

// TestASoundStoreOpens: whatever happens to a store, a power failure at any moment leaves a store
// that opens, with all acknowledged changes.
func TestASoundStoreOpens(t *testing.T) {
	t.Parallel()

	sum := 0
	for _, step := range lifeSteps {
		sum += step.weight
	}

	lives := *flagLives
	if testing.Short() {
		lives = min(lives, 1)
	}

	for n := range lives {
		seed := *flagLifeSeed + uint64(n)
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			l := &life{t: t, dice: rand.New(rand.NewPCG(seed, 0)), disk: vfs.NewCrashableMem()}
			l.free.Store(1 << 30)
			l.outages = &outages{dice: rand.New(rand.NewPCG(seed, 1)), every: 40, disk: l.disk, acked: func() int { return int(l.acked.Load()) }, parts: []int{0, 100}}

			// Pebble does not accept a directory that has later names without the earlier ones.
			if l.ordered = seed%2 == 0; l.ordered {
				l.outages.parts = []int{0, 30, 50, 90, 100}
			}
			l.open()

			for range 120 {
				pick := l.dice.IntN(sum)
				for _, step := range lifeSteps {
					if pick -= step.weight; pick < 0 {
						step.step(l)
						break
					}
				}
			}
			l.ok(l.db.Close())
			l.verify(l.outages.take())
		})
	}
}
