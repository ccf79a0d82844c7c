package poller

import (
	"time"

	"ratchet/streams"
	"ratchet/streams/store"
)

// Attributes and sizes of the rows that pollers store, as the packages beside this one have them.
const (
	leaseEpoch      = "epoch"
	leaseHandledAt  = "handledAt"
	leaseStartAt    = "startAt"
	leaseListedAt   = "listedAt"
	leaseFinishedAt = "finishedAt"
	leaseTrying     = "trying"

	deadLetterError     = "error"
	deadLetterPermanent = "permanent"
	deadLetterRecord    = "record"
	deadLetterFailedAt  = "failedAt"
	deadLetterRetention = 21 * 24 * time.Hour
	pageOfDeadLetters   = 100
	maxInlineRecord     = 256 << 10
	maxErrorText        = 8 << 10

	retryRowPrefix  = "item/"
	retrySpreadID   = "item/!spread"
	retryFurther    = "retries+" // begins the further keys
	retryPartPrefix = "part/"
	retryMarkPrefix = "mark/"
	retrySince      = "since"
	retryHolder     = "holder"
	retryNextTry    = "nextTry"
	retryError      = "error"
	retryTriedBy    = "triedBy"

	rebuildRowsPrefix = "rebuilds/"

	absencesOfOldParent   = 3
	absencesOfYoungParent = 30
	tombstoneAge          = 26 * time.Hour
	describePageSize      = 100
	maxListingAge         = 2 * time.Second
	maxConfirmOver        = 30 * time.Second
)

// letterID is the id of the dead letter of a record.
func letterID(r streams.Record) string {
	table, label := store.SplitStreamARN(r.StreamARN)
	return store.HashOf(store.ItemKey(r)).Text() + "/" + table + "/" + label + "/" + r.ShardID + "/" + store.PaddedSequence(r.SequenceNumber)
}

// Sizes of the lanes.
const (
	circuitItems  = 5
	minRecordSize = 256
	suspectBatch  = 32
	surplusPart   = 4
)

// When a shard with children counts as closed.
const (
	closedAfterPages = 20
	closedAfterTime  = 30 * time.Second
)
