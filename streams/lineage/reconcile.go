package lineage

import (
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"golang.org/x/sync/errgroup"

	"ratchet/streams/leases"
)

const (
	// tombstoneAge is how long the lease of a finished shard is kept: longer than the service lists
	// the shard, so that the shard is never taken for a new one.
	tombstoneAge = Horizon + 2*time.Hour
	// tombstonesEvery is how often the moved tombstones are read.
	tombstonesEvery = time.Hour
	// maxBurials is how many tombstones are moved to their own partition key after one listing.
	maxBurials = 1000

	// absencesOfOldParent is how many complete listings must lack the parent of a shard before the
	// shard stops waiting for it. absencesOfYoungParent is the number for a parent that is less
	// than 24 h old. The service should list such a parent, so more listings must lack it; but the
	// wait must end.
	absencesOfOldParent   = 3
	absencesOfYoungParent = 30

	// ParallelWrites is how many leases are written at once.
	ParallelWrites = 16
)

// Reconcile brings the leases in line with a complete listing. It adds the leases that it stores to
// known.
func (d *Discovery) Reconcile(ctx context.Context, l Listing, known map[string]leases.Lease) error {
	d.unclear = false

	if err := d.readFinished(ctx, l); err != nil {
		return err
	}

	inserted, err := d.insertListed(ctx, l, known, func(string, string) leases.Lease { return leases.Lease{} })
	if inserted {
		d.inserted()
	}

	if err != nil {
		return err
	}

	// Also for a stream that is gone: workers take its unfinished leases as usual, and their
	// readers declare the gaps.
	if err := d.cleanUp(ctx, l, known); err != nil {
		return err
	}

	// After an insert the stream does not count as closed yet: the observed leases lack the new
	// one.
	d.mu.Lock()
	if l.Closed() && !inserted {
		d.closedListings++
	} else {
		d.closedListings = 0
	}
	d.mu.Unlock()
	d.changed()

	return nil
}

// insertListed stores a lease for every listed shard that has none. newLease returns the lease with
// the fields that depend on the caller. Parents come first, so that a child's epoch is above its
// parent's. insertListed adds the stored leases to known, and reports whether a
// lease was stored.
func (d *Discovery) insertListed(ctx context.Context, l Listing, known map[string]leases.Lease, newLease func(shard, parent string) leases.Lease) (inserted bool, err error) {
	todo := map[string]string{} // parent, by shard
	for id, shard := range l.Shards {
		_, ok := known[id]
		_, done := d.finished[id]

		if !ok && !done {
			todo[id] = aws.ToString(shard.ParentShardId)
		}
	}

	for len(todo) > 0 {
		var generation []leases.Lease
		for id, parent := range todo {
			// A shard that names itself as its parent would wait for itself.
			if _, waits := todo[parent]; !waits || parent == id {
				lease := newLease(id, parent)
				lease.Shard, lease.Parent, lease.Epoch = id, parent, leases.FirstEpoch(d.Cfg.Clock, known[parent].Epoch)
				_, lease.ParentDone = d.finished[parent]
				generation = append(generation, lease)
			}
		}

		if len(generation) == 0 {
			return inserted, errors.New("streams: the listing of " + d.stream.Arn + " has shards that are their own ancestors")
		}

		outcomes := make([]leases.InsertOutcome, len(generation))

		var writes errgroup.Group
		writes.SetLimit(ParallelWrites)

		for i, lease := range generation {
			writes.Go(func() (err error) {
				generation[i], outcomes[i], err = d.table.InsertShard(ctx, lease)
				return err
			})
		}

		if err := writes.Wait(); err != nil {
			// true, because some of the writes may have succeeded, and the other workers should
			// read the leases.
			return true, err
		}

		for i, lease := range generation {
			delete(todo, lease.Shard)

			if outcomes[i] == leases.HasTombstone {
				d.finished[lease.Shard] = lease
				continue
			}
			inserted = inserted || outcomes[i] == leases.InsertedLease
			known[lease.Shard] = lease
		}
	}

	return inserted, nil
}

func (d *Discovery) cleanUp(ctx context.Context, l Listing, known map[string]leases.Lease) error {
	awaited := map[string]bool{}
	for _, lease := range known {
		if lease.Parent != "" && !lease.ParentDone {
			awaited[lease.Parent] = true
		}

		if err := d.stopWaitingForParent(ctx, lease, l, known); err != nil {
			return err
		}
	}

	burials := 0
	// In the order of the ids, which is the order of creation: if there are too many tombstones,
	// the oldest are moved first.
	for _, id := range slices.Sorted(maps.Keys(known)) {
		lease := known[id]
		if !lease.Finished() || awaited[id] {
			continue
		}

		_, listed := l.Shards[id]
		switch {
		case !listed && d.Cfg.Clock.Since(lease.FinishedAt) >= tombstoneAge:
			if err := d.table.DeleteLease(ctx, lease); err != nil {
				return err
			}
		// At most maxBurials, because each costs two writes. The others are moved after the next
		// listings.
		case burials < maxBurials:
			burials++

			if err := d.table.Bury(ctx, lease); err != nil {
				return err
			}
			d.finished[id] = lease
		}
	}

	return nil
}

// stopWaitingForParent lets a shard begin whose parent is neither listed nor known. Such a parent
// was trimmed long ago, so it has no record that must be handled first. But one listing may lack a
// shard by mistake, so several listings over some time must lack it.
func (d *Discovery) stopWaitingForParent(ctx context.Context, lease leases.Lease, l Listing, known map[string]leases.Lease) error {
	if lease.Parent == "" || lease.ParentDone || lease.Finished() {
		return nil
	}

	if _, finished := d.finished[lease.Parent]; finished {
		return d.table.MarkParentDone(ctx, lease, true)
	}

	_, hasLease := known[lease.Parent]
	_, listed := l.Shards[lease.Parent]
	if hasLease || listed {
		delete(d.parentAbsences, lease.Shard)
		return nil
	}

	needed := absencesOfOldParent
	if createdAt := ShardCreatedAt(lease.Parent); !createdAt.IsZero() && d.Cfg.Clock.Since(createdAt) < d.Cfg.Horizon {
		needed = absencesOfYoungParent
	}

	absences := d.parentAbsences[lease.Shard]
	absent := absences.confirmedBy(needed, time.Now(), d.Cfg.confirmOver())
	d.parentAbsences[lease.Shard] = absences

	if !absent {
		d.unclear = true
		return nil
	}

	d.Cfg.Log.Info("the shard's parent is gone; reading the shard", "shard", lease.Shard, "parent", lease.Parent)
	delete(d.parentAbsences, lease.Shard)

	return d.table.MarkParentDone(ctx, lease, false)
}

// readFinished reads the moved tombstones every tombstonesEvery. It deletes the tombstones that are
// older than tombstoneAge and whose shards are no longer listed.
func (d *Discovery) readFinished(ctx context.Context, l Listing) error {
	if len(d.finished) > 0 && time.Since(d.finishedReadAt) < tombstonesEvery {
		return nil
	}

	tombstones, err := leases.ReadTombstones(ctx, d.table.API, d.table.Table, d.table.Stream)
	if err != nil {
		return err
	}

	clear(d.finished)
	d.finishedReadAt = time.Now()

	for _, lease := range tombstones {
		if _, listed := l.Shards[lease.Shard]; !listed && d.Cfg.Clock.Since(lease.FinishedAt) >= tombstoneAge {
			if err := d.table.Unbury(ctx, lease.Shard); err != nil {
				return err
			}

			continue
		}
		d.finished[lease.Shard] = lease
	}

	return nil
}
