package streams

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"sort"
	"sync"
	"sync/atomic"
	"time"

	"ratchet/embedded/internal/store"
)

// Spec describes the table of a new stream.
type Spec struct {
	Table string
	View  View
	// HashKey and RangeKey name the key attributes; RangeKey may be empty.
	HashKey, RangeKey string
}

// streamRecord is a stream as the store keeps it.
type streamRecord struct {
	Spec
	No       uint64    `json:"no"`
	ARN      string    `json:"arn"`
	Label    string    `json:"label"`
	Created  time.Time `json:"created"`
	Disabled time.Time `json:"disabled,omitzero"` // zero while enabled
	Shards   uint64    `json:"shards"`            // the number of the newest shard
}

// Stream is the log of the changes of one table, from enabling to disabling.
type Stream struct {
	db    *store.DB
	clock sequencer

	// mu guards record, all and the shards' records. Opening and closing shards holds it
	// while writing to disk.
	mu     sync.RWMutex
	record streamRecord
	all    []*shard // by number, so that parents come before their children

	// open holds the open shards by their range of hashes; none once disabled. Writers read
	// it without mu. Under mu it is replaced as a whole.
	open atomic.Pointer[[]*shard]
	// watchers are notified of new records. Under mu it is replaced as a whole.
	watchers atomic.Pointer[[]chan struct{}]
}

// ARN returns the stream's name, which ends in "/stream/" and its label.
func (s *Stream) ARN() string { return s.record.ARN }

// Label returns the stream's label, a timestamp that is unique per table.
func (s *Stream) Label() string { return s.record.Label }

// View returns the stream's view type.
func (s *Stream) View() View { return s.record.View }

// route returns the open shard whose range has hash, nil when the stream is disabled.
func (s *Stream) route(hash uint64) *shard {
	open := *s.open.Load()
	i := sort.Search(len(open), func(i int) bool { return open[i].record.Hi >= hash })
	if i == len(open) {
		return nil
	}

	return open[i]
}

// updateRoutes lets writers use the open shards of s.all. The caller holds s.mu, or nothing else
// can reach the stream yet.
func (s *Stream) updateRoutes() {
	var open []*shard
	for _, sh := range s.all {
		if sh.record.End == 0 {
			open = append(open, sh)
		}
	}

	slices.SortFunc(open, func(a, b *shard) int { return cmp.Compare(a.record.Lo, b.record.Lo) })
	s.open.Store(&open)
}

// stageNewShard stages a new shard in b. The caller holds s.mu, or nothing else can reach
// the stream yet.
func (s *Stream) stageNewShard(b *store.Batch, now time.Time, parent string, lo, hi uint64) (*shard, error) {
	s.record.Shards++
	no := s.record.Shards
	sh := newShard(s.record.No, shardRecord{
		No:     no,
		ID:     shardID(now, parent, s.record.No, no),
		Parent: parent,
		Lo:     lo,
		Hi:     hi,
		Start:  s.clock.next(now),
	})

	return sh, s.stageShard(b, sh.record)
}

func (s *Stream) stageShard(b *store.Batch, r shardRecord) error {
	return stage(b, shardKey(s.record.No, r.No), r)
}

func (s *Stream) stageRecord(b *store.Batch) error {
	return stage(b, streamKey(s.record.No), s.record)
}

func stage(b *store.Batch, key []byte, value any) error {
	raw, err := json.Marshal(value)
	if err != nil {
		return fmt.Errorf("encode %T: %w", value, err)
	}

	b.Set(key, raw)

	return nil
}

// hashRanges divides all hashes into n ranges of nearly equal width, as pairs of the
// lowest and the highest hash.
func hashRanges(n int) (bounds [][2]uint64) {
	// With one range the width overflows to 0. The range is still right, because the last range
	// always ends with the largest hash.
	width := math.MaxUint64/uint64(n) + 1
	for i := range uint64(n) {
		hi := i*width + (width - 1)
		if i == uint64(n)-1 {
			hi = math.MaxUint64
		}

		bounds = append(bounds, [2]uint64{i * width, hi})
	}

	return bounds
}

func (s *Stream) openShards() []*shard { return *s.open.Load() }
