package api

import (
	"context"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"ratchet/api/auth"
	"ratchet/streams/status"
)

func (s *service) streamRoutes(h huma.API) {
	register(s, h, route{
		id:          "get-stream",
		method:      http.MethodGet,
		path:        "/v1/stream",
		tag:         "stream",
		scope:       auth.Admin,
		status:      http.StatusOK,
		errors:      []int{http.StatusNotFound},
		summary:     "Show how far the orders' stream is handled",
		description: "Shards with their holders, lag and gaps; retries and dead letters of each handler; and what a person should look at. The answer takes a few seconds if a worker has died. The numbers are those of all tenants.",
	}, s.stream)
}

// streamShard is a shard that is not handled to its end, or has a gap.
type streamShard struct {
	Shard         string     `json:"shard"`
	State         string     `json:"state" enum:"held,silent,free,waiting,unknown,finished" doc:"held by a worker, silent (its holder gives no sign of life), free, waiting for its parent, unknown to all workers, or finished."`
	Owner         string     `json:"owner,omitempty"`
	Records       int        `json:"records" doc:"How many records are not handled."`
	More          bool       `json:"more,omitempty" doc:"Whether there may be more of them."`
	BehindSeconds float64    `json:"behindSeconds" doc:"The age of the oldest of them, 0 without one."`
	HandledAt     *time.Time `json:"handledAt,omitempty" doc:"When the newest record that is handled was created."`
	Unread        string     `json:"unread,omitempty" doc:"Why the records could not be counted."`
	Gaps          int64      `json:"gaps" doc:"How often records of the shard were lost."`
	GapFrom       string     `json:"gapFrom,omitempty" doc:"The sequence number after which the newest gap began."`
	GapAt         *time.Time `json:"gapAt,omitempty" doc:"When the newest gap was found."`
	Parent        string     `json:"parent,omitempty" doc:"The shard that this one goes on."`
	Open          bool       `json:"open" doc:"Whether the shard may get more records."`
	Listed        bool       `json:"listed" doc:"Whether the service still lists the shard."`
	Checkpoint    string     `json:"checkpoint,omitempty" doc:"The sequence number up to which every record is finished."`
	OldestAt      *time.Time `json:"oldestAt,omitempty" doc:"When the oldest record was created that is not handled."`
}

// streamHandler is the unfinished work of a handler. It shows no error, which may name an order
// of another tenant.
type streamHandler struct {
	Handler     string     `json:"handler"`
	Items       int        `json:"items" doc:"Orders that wait in the retry queue."`
	Records     int        `json:"records" doc:"Changes of those orders that wait."`
	Since       *time.Time `json:"since,omitempty" doc:"When the first call for the oldest of them failed."`
	NextTry     *time.Time `json:"nextTry,omitempty"`
	DeadLetters int        `json:"deadLetters"`
	PausedAt    *time.Time `json:"pausedAt,omitempty" doc:"Since when the handler is paused. Absent if it is not."`
}

type streamOutput struct {
	Body struct {
		State         string          `json:"state" enum:"on,off,gone,none"`
		BehindSeconds float64         `json:"behindSeconds" doc:"The age of the oldest change that is not handled."`
		Workers       []string        `json:"workers" doc:"The workers that have given a sign of life."`
		Shards        []streamShard   `json:"shards"`
		Handlers      []streamHandler `json:"handlers"`
		Problems      []string        `json:"problems" doc:"What a person should look at."`
	}
}

func (s *service) stream(ctx context.Context, _ caller, _ *struct{}) (*streamOutput, error) {
	if s.cfg.Stream == nil {
		return nil, notFound("stream")
	}

	status, err := s.cfg.Stream(ctx)
	if err != nil {
		return nil, err
	}

	// One moment for all ages, so that they can be compared.
	now := time.Now()
	out := &streamOutput{}
	out.Body.State = string(status.State)
	out.Body.BehindSeconds = status.Lag(0, now).Seconds
	out.Body.Workers = status.Workers
	out.Body.Problems = status.Problems
	out.Body.Shards = make([]streamShard, len(status.Shards))
	out.Body.Handlers = make([]streamHandler, len(status.Handlers))

	for i, shard := range status.Shards {
		out.Body.Shards[i] = toStreamShard(shard, now)
	}

	for i, h := range status.Handlers {
		out.Body.Handlers[i] = streamHandler{
			Handler:     h.Name,
			Items:       h.Items,
			Records:     h.Records,
			Since:       optionalTime(h.Since),
			NextTry:     optionalTime(h.NextTry),
			DeadLetters: h.DeadLetters,
			PausedAt:    optionalTime(h.PausedAt),
		}
	}

	return out, nil
}

func toStreamShard(shard status.ShardStatus, now time.Time) streamShard {
	return streamShard{
		Shard:         shard.Shard,
		State:         string(shard.State),
		Owner:         shard.Owner,
		Records:       shard.Records,
		More:          shard.More,
		BehindSeconds: shard.Age(now).Seconds(),
		HandledAt:     optionalTime(shard.HandledAt),
		Unread:        shard.Unread,
		Gaps:          shard.Gaps,
		GapFrom:       shard.GapFrom,
		GapAt:         optionalTime(shard.GapAt),
		Parent:        shard.Parent,
		Open:          shard.Open,
		Listed:        shard.Listed,
		Checkpoint:    shard.Checkpoint,
		OldestAt:      optionalTime(shard.OldestAt),
	}
}
