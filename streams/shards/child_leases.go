package shards

import (
	"context"
	"time"

	"ratchet/internal/worker"
	"ratchet/streams/leases"
	"ratchet/streams/lineage"
)

const (
	// useListingFromTry is the first try to find a shard's children that also looks at the whole
	// listing.
	useListingFromTry = 3
	// maxChildTries is the last try. Children that appear later are found by the
	// regular listings.
	maxChildTries = 10
)

// childBackoff is the pause between two tries.
var childBackoff = worker.Backoff{Base: 70 * time.Millisecond, Max: 1300 * time.Millisecond}

// childStatus says what is known about the children of a shard that ended.
type childStatus int

const (
	childrenUnknown childStatus = iota // none is listed yet
	childrenStored                     // they have leases
	childless                          // there are none: the stream is disabled, or none was listed in maxChildTries
	shardOpen                          // the shard has not ended after all
)

// createChildLeases stores the leases of the shard's children. The service may list children some
// time after the shard ended, so createChildLeases asks several times. It returns an error only
// when ctx ends: ctx.Err().
func (w *Worker) createChildLeases(ctx context.Context) (childStatus, error) {
	for try := 1; ; try++ {
		// When many shards end at once, one listing shows the children of all of them.
		for !w.Stream.MayLookUp() {
			if w.Reader.ChildKnown.Load() {
				return childrenStored, nil
			}
			w.Discovery.Ask()

			if !worker.Wait(ctx, childBackoff.Max) {
				return childrenUnknown, ctx.Err()
			}
		}

		children, status, err := w.findChildren(ctx, try >= useListingFromTry)
		if err == nil && len(children) > 0 {
			status = childrenStored
			err = w.insertChildLeases(ctx, children)
		}

		switch {
		case err == nil && status != childrenUnknown:
			return status, nil
		// Waiting longer would keep the finished shard's lease. Discovery stores the leases of late children.
		case err == nil && try >= maxChildTries:
			w.Cfg.Log.Warn("a closed shard has no children", "shard", w.ID)
			return childless, nil
		case err != nil && ctx.Err() == nil:
			w.Cfg.Events.Fault("DescribeStream", w.ID, err)
		}

		if !childBackoff.Wait(ctx, try) {
			return childrenUnknown, ctx.Err()
		}
	}
}

// findChildren returns the shard's children. If there are none and inListing is set, the whole
// listing shows why: the stream is disabled, or the shard is still open.
func (w *Worker) findChildren(ctx context.Context, inListing bool) ([]string, childStatus, error) {
	children, err := w.Stream.Children(ctx, w.ID)
	if err != nil || len(children) > 0 || !inListing {
		return children, childrenUnknown, err
	}

	l, err := w.Stream.Recent(ctx)
	if err != nil {
		return nil, childrenUnknown, err
	}

	shard, listed := l.Shards[w.ID]
	switch {
	case l.Closed():
		return l.Children(w.ID), childless, nil
	case listed && lineage.EndingSequence(shard) == "":
		return l.Children(w.ID), shardOpen, nil
	}

	return l.Children(w.ID), childrenUnknown, nil
}

// insertChildLeases stores a lease for every child that has none. A child is read from its first
// record, even if its parent was read from a later position.
func (w *Worker) insertChildLeases(ctx context.Context, children []string) error {
	for _, id := range children {
		child := leases.Lease{
			Shard:  id,
			Parent: w.ID,
			Epoch:  leases.FirstEpoch(w.Cfg.Clock, w.Lease.Epoch.Load()),
		}
		if _, _, err := w.Table.InsertShard(ctx, child); err != nil {
			return err
		}
	}

	return nil
}
