package streams

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsmiddleware "github.com/aws/aws-sdk-go-v2/aws/middleware"
	ddbtypes "github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"
	streamtypes "github.com/aws/aws-sdk-go-v2/service/dynamodbstreams/types"

	"golang.org/x/time/rate"

	"ratchet/internal/dynamo"
	"ratchet/internal/worker"
)

// DynamoDB allows an account 10 calls of DescribeStream per second. The worker that lists the
// shards for all workers makes listingRate calls per second, in bursts of as many. All workers
// together make lookupRate other calls per second, in bursts of lookupBurst.
const (
	listingRate = 5
	lookupRate  = 4
	lookupBurst = 8
)

// unlimited lets every call through.
var unlimited = rate.NewLimiter(rate.Inf, 0)

const (
	// maxListingAge is how old a listing may be when it is used to look up one shard. So many
	// readers that look up shards at the same time need only one listing.
	maxListingAge = 2 * time.Second

	// describePageSize is the largest page of DescribeStream.
	describePageSize = 100
)

// stream is one stream as DescribeStream describes it.
type stream struct {
	api         streamsAPI
	tables      dynamoAPI
	arn         string
	clock       *dynamo.Clock
	confirmOver time.Duration // see confirmation
	pages       *rate.Limiter // calls for the listing that this worker makes for all
	lookups     *rate.Limiter // all other calls of DescribeStream

	calling  callLock // held during a listing, so that waiting callers share its result
	last     listing
	listedAt time.Time    // when the calls of last began
	missing  confirmation // answers that the stream does not exist
}

// listing is one complete answer of DescribeStream, all pages.
type listing struct {
	shards     map[string]streamtypes.Shard
	status     streamtypes.StreamStatus
	viewType   streamtypes.StreamViewType
	createdAt  time.Time // of the stream
	serverTime time.Time // the service's clock; zero if the answer had no time
	gone       bool      // the stream does not exist, which was confirmed
}

// lineageConfig says how a stream is listed and its leases are kept in line with its shards. All fields
// must be set.
type lineageConfig struct {
	Streams       streamsAPI
	DynamoDB      dynamoAPI
	NeedImages    bool
	OnGap         GapPolicy
	LeaseDuration time.Duration
	Events        Events
	Log           *slog.Logger
	clock         *dynamo.Clock
	discoverEvery time.Duration
	horizon       time.Duration
}

// confirmOver is the time over which answers must repeat that a stream or a shard is gone.
func (c *lineageConfig) confirmOver() time.Duration { return min(c.discoverEvery/2, maxConfirmOver) }

func newStream(cfg *lineageConfig, arn string) *stream {
	return &stream{
		api:         cfg.Streams,
		tables:      cfg.DynamoDB,
		arn:         arn,
		clock:       cfg.clock,
		confirmOver: cfg.confirmOver(),
		pages:       rate.NewLimiter(listingRate, listingRate),
		lookups:     rate.NewLimiter(lookupRate, lookupBurst),
		calling:     newCallLock(),
	}
}

// shareLookups divides the calls that are not for the common listing among the workers.
func (s *stream) shareLookups(workers int) {
	s.lookups.SetLimit(rate.Limit(lookupRate) / rate.Limit(workers))
	s.lookups.SetBurst(max(lookupBurst/workers, 1))
}

// pace waits until calls allows a call. It returns ctx.Err() if ctx ends first, and only then: it
// does not fail early because of ctx's deadline.
func pace(ctx context.Context, calls *rate.Limiter) error {
	// Reserve, because Limiter.Wait fails at once if the wait would outlast ctx's deadline.
	turn := calls.Reserve()
	if worker.Wait(ctx, turn.Delay()) {
		return nil
	}
	turn.Cancel()

	return ctx.Err()
}

// list returns a new listing. If a page fails, it returns an error and never an
// incomplete listing: a shard that is missing from a listing counts as trimmed. One worker
// at a time may call it.
func (s *stream) list(ctx context.Context) (listing, error) {
	s.calling.lock()
	defer s.calling.unlock()

	return s.refresh(ctx, s.pages)
}

// head describes the stream with one call, without its shards.
func (s *stream) head(ctx context.Context) (listing, error) {
	s.calling.lock()
	defer s.calling.unlock()

	if err := pace(ctx, s.lookups); err != nil {
		return listing{}, err
	}
	began := time.Now()

	// The fields of the stream are on every page, so the shortest page is enough.
	d, serverTime, err := s.describePage(ctx, &dynamodbstreams.DescribeStreamInput{StreamArn: &s.arn, Limit: aws.Int32(1)})
	if err != nil {
		return listing{}, err
	}

	if d == nil {
		return listing{gone: true}, s.confirmGone(ctx, began)
	}
	s.missing = confirmation{}

	l := listing{serverTime: serverTime}
	l.take(d)

	return l, nil
}

// recent returns a listing that may be up to maxListingAge old.
func (s *stream) recent(ctx context.Context) (listing, error) {
	s.calling.lock()
	defer s.calling.unlock()

	// Compared under the lock, so that callers that waited for a listing use that listing.
	if !s.listedAt.IsZero() && time.Since(s.listedAt) < maxListingAge {
		return s.last, nil
	}

	return s.refresh(ctx, s.lookups)
}

// listSince returns a listing that was begun after t. Readers that call it at the same time share a
// listing.
func (s *stream) listSince(ctx context.Context, t time.Time) (listing, error) {
	s.calling.lock()
	defer s.calling.unlock()

	if s.listedAt.After(t) {
		return s.last, nil
	}

	return s.refresh(ctx, s.lookups)
}

func (s *stream) refresh(ctx context.Context, calls *rate.Limiter) (listing, error) {
	began := time.Now()

	l, err := s.describe(ctx, nil, calls)
	if err != nil {
		return listing{}, err
	}

	if l.gone {
		if err := s.confirmGone(ctx, began); err != nil {
			return listing{}, err
		}
	} else {
		s.missing = confirmation{}
	}
	s.last, s.listedAt = l, began

	return l, nil
}

// confirmGone returns nil if the stream certainly does not exist: DescribeStream has
// said so several times over a while, and neither ListStreams nor DescribeTable knows
// the stream. The caller holds calling.
func (s *stream) confirmGone(ctx context.Context, now time.Time) error {
	if !s.missing.confirmed(now, s.confirmOver) {
		return fmt.Errorf("%w: DescribeStream does not find %s", errUnconfirmed, s.arn)
	}

	table, _ := splitStreamARN(s.arn)

	// The role may have no permission for ListStreams or DescribeTable. Without their answers, the
	// repeated answers of DescribeStream decide.
	arns, err := listStreams(ctx, s.api, table)
	if err != nil && !worker.IsRefusal(err) {
		return err
	}

	if slices.Contains(arns, s.arn) {
		return fmt.Errorf("%w: DescribeStream does not find %s and ListStreams does", errUnconfirmed, s.arn)
	}

	latest, err := latestStreamOf(ctx, s.tables, table)

	// A deleted table has no stream, so its absence agrees with the answers before.
	var noTable *ddbtypes.ResourceNotFoundException
	if err != nil && !worker.IsRefusal(err) && !errors.As(err, &noTable) {
		return err
	}

	if latest == s.arn {
		return fmt.Errorf("%w: DescribeStream does not find %s and DescribeTable does", errUnconfirmed, s.arn)
	}

	return nil
}

// listStreams returns the ARNs of all streams of a table that the service still has,
// oldest first.
func listStreams(ctx context.Context, api streamsAPI, table string) ([]string, error) {
	in := &dynamodbstreams.ListStreamsInput{TableName: &table}

	var arns []string
	for {
		call, cancel := context.WithTimeout(ctx, callTimeout)
		out, err := api.ListStreams(call, in)
		cancel()

		if err != nil {
			return nil, fmt.Errorf("streams: list the streams of table %s: %w", table, err)
		}

		for _, st := range out.Streams {
			arns = append(arns, aws.ToString(st.StreamArn))
		}

		next := aws.ToString(out.LastEvaluatedStreamArn)
		if next == "" || len(out.Streams) == 0 {
			break
		}
		in.ExclusiveStartStreamArn = &next
	}

	// Labels are times in ISO 8601, so they sort as text.
	slices.SortFunc(arns, func(a, b string) int { return cmp.Compare(streamLabel(a), streamLabel(b)) })

	return arns, nil
}

func streamLabel(arn string) string {
	_, label := splitStreamARN(arn)
	return label
}

// describe reads all pages of DescribeStream.
func (s *stream) describe(ctx context.Context, filter *streamtypes.ShardFilter, calls *rate.Limiter) (listing, error) {
	l := listing{shards: map[string]streamtypes.Shard{}}
	in := &dynamodbstreams.DescribeStreamInput{
		StreamArn:   &s.arn,
		Limit:       aws.Int32(describePageSize),
		ShardFilter: filter,
	}

	for {
		if err := pace(ctx, calls); err != nil {
			return listing{}, err
		}

		d, serverTime, err := s.describePage(ctx, in)
		if err != nil {
			return listing{}, err
		}

		if d == nil {
			return listing{gone: true}, nil
		}
		l.take(d)

		// The time of the first page, because the listing is as old as its oldest page.
		if l.serverTime.IsZero() {
			l.serverTime = serverTime
		}

		before := len(l.shards)
		for _, shard := range d.Shards {
			l.shards[aws.ToString(shard.ShardId)] = shard
		}

		next := aws.ToString(d.LastEvaluatedShardId)
		if next == "" {
			return l, nil
		}

		// With an endpoint that ignores ExclusiveStartShardId the loop would not end.
		if len(d.Shards) > 0 && len(l.shards) == before {
			return listing{}, fmt.Errorf("streams: list the shards of %s: page after %s repeats itself", s.arn, next)
		}
		in.ExclusiveStartShardId = &next
	}
}

// describePage calls DescribeStream once. It returns nil if the stream does not exist.
func (s *stream) describePage(ctx context.Context, in *dynamodbstreams.DescribeStreamInput) (*streamtypes.StreamDescription, time.Time, error) {
	call, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()

	began := time.Now()
	out, err := s.api.DescribeStream(call, in)

	var missing *streamtypes.ResourceNotFoundException
	if errors.As(err, &missing) {
		return nil, time.Time{}, nil
	}

	if err == nil && out.StreamDescription == nil {
		err = errors.New("empty answer")
	}

	if err != nil {
		return nil, time.Time{}, fmt.Errorf("streams: list the shards of %s: %w", s.arn, err)
	}

	// DynamoDB Streams answers with a Date header; the SDK parses it into the metadata.
	serverTime, _ := awsmiddleware.GetServerTime(out.ResultMetadata)
	s.clock.Hear(began, out.ResultMetadata, nil)

	return out.StreamDescription, serverTime, nil
}

// take sets the fields of the stream from a page.
func (l *listing) take(d *streamtypes.StreamDescription) {
	l.status, l.viewType = d.StreamStatus, d.StreamViewType
	if d.CreationRequestDateTime != nil {
		l.createdAt = *d.CreationRequestDateTime
	}
}

// children returns the shards that continue the given one. The caller has asked
// mayLookUp.
func (s *stream) children(ctx context.Context, shard string) ([]string, error) {
	filter := &streamtypes.ShardFilter{Type: streamtypes.ShardFilterTypeChildShards, ShardId: &shard}

	l, err := s.describe(ctx, filter, unlimited)
	if err != nil && isInvalidInput(err) {
		// Not every endpoint supports the filter.
		l, err = s.recent(ctx)
	}

	if err != nil {
		return nil, err
	}

	return l.children(shard), nil
}

// mayLookUp reports whether a call of DescribeStream is within this worker's part of the
// account's limit.
func (s *stream) mayLookUp() bool { return s.lookups.Allow() }

// endOf returns the last sequence number of a closed shard, "" if the shard is open or not listed.
func (s *stream) endOf(ctx context.Context, shard string) (string, error) {
	l, err := s.recent(ctx)
	if err != nil {
		return "", err
	}

	return endingSequence(l.shards[shard]), nil
}

func (l listing) children(shard string) []string {
	var out []string
	for id, s := range l.shards {
		if aws.ToString(s.ParentShardId) == shard {
			out = append(out, id)
		}
	}

	return out
}

// closed reports whether the stream will get no more records.
func (l listing) closed() bool {
	return l.gone || l.status == streamtypes.StreamStatusDisabled
}

func endingSequence(s streamtypes.Shard) string {
	if s.SequenceNumberRange == nil {
		return ""
	}

	return aws.ToString(s.SequenceNumberRange.EndingSequenceNumber)
}

// shardCreatedAt reads the creation time out of a shard's id, which is "shardId-", 20 digits of
// Unix milliseconds, and more. It returns zero for an id in another form. DynamoDB does not
// document the form, so callers must work with zero: they then wait longer for a missing parent, or
// do not notice that a shard stayed unread.
func shardCreatedAt(shard string) time.Time {
	digits, ok := strings.CutPrefix(shard, "shardId-")
	if !ok || len(digits) < 20 {
		return time.Time{}
	}

	ms, err := strconv.ParseInt(digits[:20], 10, 64)
	if err != nil {
		return time.Time{}
	}

	return time.UnixMilli(ms)
}
