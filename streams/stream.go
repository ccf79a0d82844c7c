package streams

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsmiddleware "github.com/aws/aws-sdk-go-v2/aws/middleware"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"
	streamtypes "github.com/aws/aws-sdk-go-v2/service/dynamodbstreams/types"
)

// listingAge is how old a listing may be that answers a question about one
// shard: many readers asking at once cost one listing.
const listingAge = 2 * time.Second

// stream is one stream as DescribeStream tells of it.
type stream struct {
	api streamsAPI
	arn string

	mu      sync.Mutex // held during a listing
	last    listing
	checked time.Time // when last was made
}

// listing is one complete answer of DescribeStream, all pages.
type listing struct {
	shards  map[string]streamtypes.Shard
	status  streamtypes.StreamStatus
	view    streamtypes.StreamViewType
	created time.Time // of the stream
	server  time.Time // the service's clock, as far as it told
	gone    bool      // no such stream (any more)
}

// list reads the whole listing. A listing that breaks off is an error, never a
// short listing.
func (s *stream) list(ctx context.Context) (listing, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.refresh(ctx)
}

// recent is list, but a fresh enough older answer will do.
func (s *stream) recent(ctx context.Context) (listing, error) {
	s.mu.Lock()
	defer s.mu.Unlock()

	if !s.checked.IsZero() && time.Since(s.checked) < listingAge {
		return s.last, nil
	}

	return s.refresh(ctx)
}

func (s *stream) refresh(ctx context.Context) (listing, error) {
	l, err := s.describe(ctx, nil)
	if err != nil {
		return listing{}, err
	}
	s.last, s.checked = l, time.Now()

	return l, nil
}

// describe pages through DescribeStream.
func (s *stream) describe(ctx context.Context, filter *streamtypes.ShardFilter) (listing, error) {
	l := listing{shards: map[string]streamtypes.Shard{}}
	in := &dynamodbstreams.DescribeStreamInput{StreamArn: &s.arn, Limit: aws.Int32(100), ShardFilter: filter}
	for {
		call, cancel := context.WithTimeout(ctx, 30*time.Second)
		out, err := s.api.DescribeStream(call, in)
		cancel()

		var missing *streamtypes.ResourceNotFoundException
		if errors.As(err, &missing) {
			return listing{gone: true}, nil
		}

		if err != nil {
			return listing{}, fmt.Errorf("streams: list the shards of %s: %w", s.arn, err)
		}

		d := out.StreamDescription
		if d == nil {
			return listing{}, fmt.Errorf("streams: list the shards of %s: empty answer", s.arn)
		}

		l.status, l.view = d.StreamStatus, d.StreamViewType
		if d.CreationRequestDateTime != nil {
			l.created = *d.CreationRequestDateTime
		}

		if l.server.IsZero() {
			l.server, _ = awsmiddleware.GetServerTime(out.ResultMetadata)
		}

		fresh := len(l.shards)
		for _, sh := range d.Shards {
			l.shards[deref(sh.ShardId)] = sh
		}

		next := deref(d.LastEvaluatedShardId)
		if next == "" {
			return l, nil
		}

		if len(d.Shards) > 0 && len(l.shards) == fresh {
			return listing{}, fmt.Errorf("streams: list the shards of %s: page after %s repeats itself", s.arn, next)
		}
		in.ExclusiveStartShardId = &next
	}
}

// children returns the shards that continue the given one.
func (s *stream) children(ctx context.Context, shard string) ([]string, error) {
	l, err := s.describe(ctx, &streamtypes.ShardFilter{Type: streamtypes.ShardFilterTypeChildShards, ShardId: &shard})
	if err != nil {
		if !refusesInput(err) {
			return nil, err
		}
		// Not every endpoint has the filter.
		if l, err = s.recent(ctx); err != nil {
			return nil, err
		}
	}

	return l.children(shard), nil
}

func (l listing) children(shard string) []string {
	var out []string
	for id, sh := range l.shards {
		if deref(sh.ParentShardId) == shard {
			out = append(out, id)
		}
	}

	return out
}

// closed reports whether no more records will come from the stream.
func (l listing) closed() bool {
	return l.gone || l.status == streamtypes.StreamStatusDisabled
}

// listed reports whether the stream still lists the shard.
func (s *stream) listed(ctx context.Context, shard string) (bool, error) {
	l, err := s.recent(ctx)
	_, ok := l.shards[shard]
	return ok, err
}

// ending is the last sequence number of a closed shard, "" for an open one.
func (s *stream) ending(ctx context.Context, shard string) (string, error) {
	l, err := s.recent(ctx)
	if r := l.shards[shard].SequenceNumberRange; r != nil {
		return deref(r.EndingSequenceNumber), err
	}

	return "", err
}

// born reads the creation time out of a shard's id ("shardId-" and 20 digits of
// Unix milliseconds and more); zero when it has another form.
func born(shard string) time.Time {
	rest, ok := strings.CutPrefix(shard, "shardId-")
	if !ok || len(rest) < 20 {
		return time.Time{}
	}

	ms, err := strconv.ParseInt(rest[:20], 10, 64)
	if err != nil {
		return time.Time{}
	}

	return time.UnixMilli(ms)
}
