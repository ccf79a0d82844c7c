package leases

import (
	"time"

	"ratchet/internal/dynamo"
)

// The row of a stream's state, under the stream's ARN beside its leases.
const (
	StreamStateRow       = "#stream"
	StreamStateCreatedAt = "createdAt"
	StreamStateBegunAt   = "begunAt"
	StreamStateStartAt   = "startAt"
	StreamStateReady     = "ready"
	StreamStateListings  = "listings"
)

// StreamState says how reading of a stream began, and how many listings were begun.
type StreamState struct {
	CreatedAt time.Time // when the stream was created; see isOtherStream
	BegunAt   time.Time // when the state was stored
	StartAt   time.Time // where the shards of the first listing begin; zero: at the oldest record
	Ready     bool      // the leases of the first listing are stored
	Listings  int64     // how many listings were begun
}

func decodeStreamState(row dynamo.Item) *StreamState {
	return &StreamState{
		CreatedAt: dynamo.Time(row, StreamStateCreatedAt),
		BegunAt:   dynamo.Time(row, StreamStateBegunAt),
		StartAt:   dynamo.Time(row, StreamStateStartAt),
		Ready:     dynamo.Flag(row, StreamStateReady),
		Listings:  dynamo.Number(row, StreamStateListings),
	}
}

// NextListing returns the update that counts the next listing. Of all workers that send it for the
// same state, one succeeds and makes the listing.
func (t *Table) NextListing(state *StreamState) *dynamo.Update {
	return t.Update(StreamStateRow).
		IfEquals(StreamStateListings, dynamo.N(state.Listings)).
		SetValue(StreamStateListings, dynamo.N(state.Listings+1))
}
