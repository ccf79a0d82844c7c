package streams

import (
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

// View is what a record holds of the item (StreamViewType).
type View string

// The four view types.
const (
	KeysOnly        View = "KEYS_ONLY"
	NewImage        View = "NEW_IMAGE"
	OldImage        View = "OLD_IMAGE"
	NewAndOldImages View = "NEW_AND_OLD_IMAGES"
)

// Valid reports whether v is one of the four.
func (v View) Valid() bool {
	return v == KeysOnly || v == NewImage || v == OldImage || v == NewAndOldImages
}

// Spec is what a new stream needs to know about its table.
type Spec struct {
	Table string
	View  View
	// HashKey and RangeKey name the key attributes; RangeKey may be empty.
	HashKey, RangeKey string
}

// streamRecord is what the store keeps of a stream.
type streamRecord struct {
	Spec
	No       uint64    `json:"no"`
	ARN      string    `json:"arn"`
	Label    string    `json:"label"`
	Created  time.Time `json:"created"`
	Disabled time.Time `json:"disabled,omitzero"` // zero: enabled
	Shards   uint64    `json:"shards"`            // shard numbers handed out
}

// Stream is the change log of one table since it was enabled.
type Stream struct {
	db    *store.DB
	clock clock

	// mu guards record, all and the shards' records; changes of the topology
	// hold it while they write to disk.
	mu     sync.RWMutex
	record streamRecord
	all    []*shard // by number, so parents stand before children
	// open routes writers: the open shards by hash range. Empty once disabled.
	open atomic.Pointer[[]*shard]
	// watchers want to know of new records; replaced as a whole, under mu.
	watchers atomic.Pointer[[]chan struct{}]
}

// ARN names the stream, ending in "/stream/" and its label.
func (s *Stream) ARN() string { return s.record.ARN }

// Label is the stream's timestamp label, unique per table.
func (s *Stream) Label() string { return s.record.Label }

// View is the stream's view type.
func (s *Stream) View() View { return s.record.View }

// route returns the open shard that owns hash, nil when the stream is disabled.
func (s *Stream) route(hash uint64) *shard {
	open := *s.open.Load()
	i := sort.Search(len(open), func(i int) bool { return open[i].record.Hi >= hash })
	if i == len(open) {
		return nil
	}

	return open[i]
}

// publish makes the open shards of s.all the ones that writers use. Under mu,
// or before the stream is known to anybody.
func (s *Stream) publish() {
	var open []*shard
	for _, sh := range s.all {
		if sh.record.End == 0 {
			open = append(open, sh)
		}
	}
	slices.SortFunc(open, func(a, b *shard) int {
		if a.record.Lo < b.record.Lo {
			return -1
		}
		return 1
	})
	s.open.Store(&open)
}

// birth stages a new shard in b. Under mu, or before the stream is known.
func (s *Stream) birth(b *store.Batch, now time.Time, parent string, lo, hi uint64) (*shard, error) {
	s.record.Shards++
	no := s.record.Shards
	sh := newShard(s.record.No, shardRecord{
		No: no, ID: shardID(now, parent, s.record.No, no), Parent: parent, Lo: lo, Hi: hi, Start: s.clock.next(now),
	})

	return sh, s.stageShard(b, sh.record)
}

func (s *Stream) stageShard(b *store.Batch, r shardRecord) error {
	return stage(b, shardKey(s.record.No, r.No), r)
}

func (s *Stream) stageSelf(b *store.Batch) error {
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

// cut divides all hashes into n ranges of nearly equal width.
func cut(n int) (bounds [][2]uint64) {
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
