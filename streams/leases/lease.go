package leases

import (
	"time"

	"ratchet/internal/dynamo"
)

// Attributes of a lease; doc.go explains them.
const (
	streamKey        = "stream" // partition key
	ShardKey         = "shardId"
	leaseParent      = "parent"
	leaseParentDone  = "parentDone"
	leaseParentLost  = "parentLost"
	leaseOwner       = "owner"
	leaseEpoch       = "epoch"
	leaseCounter     = "counter"
	leaseCheckpoint  = "checkpoint"
	leaseHandledAt   = "handledAt"
	leaseStartAt     = "startAt"
	leaseAtHorizon   = "atHorizon"
	leaseListedAt    = "listedAt"
	leaseRequestedBy = "wanted"
	leaseFinishedAt  = "finishedAt"
	LeaseGaps        = "gaps"
	LeaseGapFrom     = "gapFrom"
	LeaseGapAt       = "gapAt"
	LeasePausedAt    = "pausedAt"
	LeaseMarkedAt    = "markedAt"
	leaseDeaths      = "deaths"
	leaseDeathsAt    = "deathsAt"
	leaseTryingTo    = "tryingTo"
	leaseTrying      = "trying"
	leaseTries       = "tries"
	leaseTakes       = "takes"
	leaseTakeFrom    = "from" // in an element of takes, beside epoch
	leaseDuration    = "duration"
)

// Lease is the stored state of one shard: who reads it and how far it has been
// handled.
type Lease struct {
	Shard string
	// Parent is the shard that this shard continues, "" if there is none. ParentDone says that this
	// shard does not have to wait for its parent.
	Parent     string
	ParentDone bool
	// ParentLost says that the parent was trimmed before it was read, although Config.Start
	// includes its records.
	ParentLost bool
	// Owner holds the lease, "" if it is free. Epoch grows with every owner,
	// Counter with every write of an owner.
	Owner   string
	Epoch   int64
	Counter int64
	// Duration is how long leases of the owner last without a sign of life, 0 if the row does not say it.
	Duration time.Duration
	// Checkpoint is the last sequence number up to which every record is finished,
	// "" if none is. HandledAt is when that record was created.
	Checkpoint string
	HandledAt  time.Time
	// StartAt is where reading starts while there is no checkpoint. Zero means at
	// the oldest record.
	StartAt time.Time
	// AtHorizon marks a shard of the first listing under TrimHorizon. Reading it begins with the
	// oldest record that is left: records that were trimmed before are not a gap.
	AtHorizon bool
	// ListedAt is when reading the stream began, or when the shard was created if that was later.
	// Records that were trimmed after ListedAt are a gap. It is set if AtHorizon is.
	ListedAt time.Time
	// RequestedBy is the worker that asked the owner to hand the lease over.
	RequestedBy string
	// FinishedAt is when the shard had been handled to its end; zero before.
	FinishedAt time.Time
	// Gaps is how often records were trimmed before they were read. GapFrom and
	// GapAt describe the last time.
	Gaps    int64
	GapFrom string
	GapAt   time.Time

	// ParentEpoch is the last epoch of the parent, if this worker knows it. The epoch of a new
	// holder is above ParentEpoch, so that the epochs of an item's records never fall. It is not
	// stored.
	ParentEpoch int64
	// PausedAt is, in the lease of a handler's retry queue, when the handler was paused; zero if
	// the handler is not paused.
	PausedAt time.Time
	// MarkedAt is, in the row of the additions to the retry queues, when a Rebuild last moved marks.
	MarkedAt time.Time
	// takes are the newest takes of the lease, oldest first, at most maxTakes.
	takes []leaseTake
	// Deaths is how many holders in a row have ended without giving the lease back, with the
	// checkpoint at deathsAt. trying says which records of a suspect shard were tried last, nil for
	// none.
	Deaths   int64
	deathsAt string
	Trying   *TryNote
}

// Finished reports whether the shard has been handled to its end.
func (l Lease) Finished() bool { return !l.FinishedAt.IsZero() }

// ByShard returns the leases by the ids of their shards.
func ByShard(leases []Lease) map[string]Lease {
	byShard := make(map[string]Lease, len(leases))
	for _, l := range leases {
		byShard[l.Shard] = l
	}

	return byShard
}

// Key is the key of the row of a lease.
func Key(stream, shard string) dynamo.Item {
	return dynamo.Item{streamKey: dynamo.S(stream), ShardKey: dynamo.S(shard)}
}

// Decode returns the lease of a row.
func Decode(row dynamo.Item) Lease {
	return Lease{
		Shard:      dynamo.Text(row, ShardKey),
		Parent:     dynamo.Text(row, leaseParent),
		ParentDone: dynamo.Flag(row, leaseParentDone),
		ParentLost: dynamo.Flag(row, leaseParentLost),

		Owner:       dynamo.Text(row, leaseOwner),
		Epoch:       dynamo.Number(row, leaseEpoch),
		Counter:     dynamo.Number(row, leaseCounter),
		Duration:    duration(row),
		RequestedBy: dynamo.Text(row, leaseRequestedBy),

		Checkpoint: dynamo.Text(row, leaseCheckpoint),
		HandledAt:  dynamo.Time(row, leaseHandledAt),
		StartAt:    dynamo.Time(row, leaseStartAt),
		AtHorizon:  dynamo.Flag(row, leaseAtHorizon),
		ListedAt:   dynamo.Time(row, leaseListedAt),
		FinishedAt: dynamo.Time(row, leaseFinishedAt),
		Gaps:       dynamo.Number(row, LeaseGaps),
		GapFrom:    dynamo.Text(row, LeaseGapFrom),
		GapAt:      dynamo.Time(row, LeaseGapAt),

		PausedAt: dynamo.Time(row, LeasePausedAt),
		MarkedAt: dynamo.Time(row, LeaseMarkedAt),
		Deaths:   dynamo.Number(row, leaseDeaths),
		deathsAt: dynamo.Text(row, leaseDeathsAt),
		Trying:   decodeTryNote(row),
		takes:    decodeTakes(row),
	}
}

func duration(row dynamo.Item) time.Duration {
	return time.Duration(dynamo.Number(row, leaseDuration)) * time.Millisecond
}

// FirstEpoch returns the epoch of a lease that is inserted, above the parent's epoch. The epoch starts at
// the Unix time, so that it grows even if the row was deleted and is stored again.
func FirstEpoch(clock *dynamo.Clock, parent int64) int64 { return max(clock.Now().Unix(), parent+1) }

// encode returns the row of a lease that is not in the table, under the key of the stream. The row has no
// RequestedBy, because no worker can ask for a lease that is not stored.
func (l Lease) encode(stream string) dynamo.Item {
	row := Key(stream, l.Shard)
	row[leaseEpoch] = dynamo.N(l.Epoch)
	// Numbers of 0 are stored: take compares epoch and counter, and a missing attribute equals nothing.
	row[leaseCounter] = dynamo.N(l.Counter)

	for name, text := range map[string]string{
		leaseParent:     l.Parent,
		leaseOwner:      l.Owner,
		leaseCheckpoint: l.Checkpoint,
		LeaseGapFrom:    l.GapFrom,
	} {
		if text != "" {
			row[name] = dynamo.S(text)
		}
	}

	for name, t := range map[string]time.Time{
		leaseHandledAt:  l.HandledAt,
		leaseStartAt:    l.StartAt,
		leaseListedAt:   l.ListedAt,
		leaseFinishedAt: l.FinishedAt,
		LeaseGapAt:      l.GapAt,
		LeasePausedAt:   l.PausedAt,
	} {
		if !t.IsZero() {
			row[name] = dynamo.Millis(t)
		}
	}

	for name, flag := range map[string]bool{
		leaseParentDone: l.ParentDone,
		leaseParentLost: l.ParentLost,
		leaseAtHorizon:  l.AtHorizon,
	} {
		if flag {
			row[name] = dynamo.Bool(true)
		}
	}

	if len(l.takes) > 0 {
		row[leaseTakes] = encodeTakes(l.takes)
	}

	if l.Gaps != 0 {
		row[LeaseGaps] = dynamo.N(l.Gaps)
	}

	return row
}
