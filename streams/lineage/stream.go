package lineage

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
	"ratchet/streams"
	"ratchet/streams/store"
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

// Stream is one Stream as DescribeStream describes it.
type Stream struct {
	cfg         *Config
	Arn         string
	ConfirmOver time.Duration // see Confirmation
	pages       *rate.Limiter // calls for the listing that this worker makes for all
	lookups     *rate.Limiter // all other calls of DescribeStream

	calling  worker.CallLock // held during a listing, so that waiting callers share its result
	last     Listing
	listedAt time.Time    // when the calls of last began
	missing  Confirmation // answers that the stream does not exist
}

// Listing is one complete answer of DescribeStream, all pages.
type Listing struct {
	Shards     map[string]streamtypes.Shard
	Status     streamtypes.StreamStatus
	viewType   streamtypes.StreamViewType
	createdAt  time.Time // of the stream
	serverTime time.Time // the service's clock; zero if the answer had no time
	Gone       bool      // the stream does not exist, which was confirmed
}

// Config says how a stream is listed and its leases are kept in line with its shards. All fields
// must be set.
type Config struct {
	Streams       API
	DynamoDB      store.API
	NeedImages    bool
	OnGap         streams.GapPolicy
	LeaseDuration time.Duration
	Events        streams.Events
	Log           *slog.Logger
	Clock         *dynamo.Clock
	DiscoverEvery time.Duration
	Horizon       time.Duration
}

// confirmOver is the time over which answers must repeat that a stream or a shard is gone.
func (c *Config) confirmOver() time.Duration { return min(c.DiscoverEvery/2, maxConfirmOver) }

// NewStream returns a stream of which nothing is listed yet.
func NewStream(cfg *Config, arn string) *Stream {
	return &Stream{
		cfg:         cfg,
		Arn:         arn,
		ConfirmOver: cfg.confirmOver(),
		pages:       rate.NewLimiter(listingRate, listingRate),
		lookups:     rate.NewLimiter(lookupRate, lookupBurst),
		calling:     worker.NewCallLock(),
	}
}

// ShareLookups divides the calls that are not for the common listing among the workers.
func (s *Stream) ShareLookups(workers int) {
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
func (s *Stream) list(ctx context.Context) (Listing, error) {
	s.calling.Lock()
	defer s.calling.Unlock()

	return s.refresh(ctx, s.pages)
}

// Head describes the stream with one call, without its shards.
func (s *Stream) Head(ctx context.Context) (Listing, error) {
	s.calling.Lock()
	defer s.calling.Unlock()

	if err := pace(ctx, s.lookups); err != nil {
		return Listing{}, err
	}
	began := time.Now()

	// The fields of the stream are on every page, so the shortest page is enough.
	d, serverTime, err := s.describePage(ctx, &dynamodbstreams.DescribeStreamInput{StreamArn: &s.Arn, Limit: aws.Int32(1)})
	if err != nil {
		return Listing{}, err
	}

	if d == nil {
		return Listing{Gone: true}, s.confirmGone(ctx, began)
	}
	s.missing = Confirmation{}

	l := Listing{serverTime: serverTime}
	l.take(d)

	return l, nil
}

// Recent returns a listing that may be up to maxListingAge old.
func (s *Stream) Recent(ctx context.Context) (Listing, error) {
	s.calling.Lock()
	defer s.calling.Unlock()

	// Compared under the lock, so that callers that waited for a listing use that listing.
	if !s.listedAt.IsZero() && time.Since(s.listedAt) < maxListingAge {
		return s.last, nil
	}

	return s.refresh(ctx, s.lookups)
}

// ListSince returns a listing that was begun after t. Readers that call it at the same time share a
// listing.
func (s *Stream) ListSince(ctx context.Context, t time.Time) (Listing, error) {
	s.calling.Lock()
	defer s.calling.Unlock()

	if s.listedAt.After(t) {
		return s.last, nil
	}

	return s.refresh(ctx, s.lookups)
}

func (s *Stream) refresh(ctx context.Context, calls *rate.Limiter) (Listing, error) {
	began := time.Now()

	l, err := s.describe(ctx, nil, calls)
	if err != nil {
		return Listing{}, err
	}

	if l.Gone {
		if err := s.confirmGone(ctx, began); err != nil {
			return Listing{}, err
		}
	} else {
		s.missing = Confirmation{}
	}
	s.last, s.listedAt = l, began

	return l, nil
}

// confirmGone returns nil if the stream certainly does not exist: DescribeStream has
// said so several times over a while, and neither ListStreams nor DescribeTable knows
// the stream. The caller holds calling.
func (s *Stream) confirmGone(ctx context.Context, now time.Time) error {
	if !s.missing.Confirmed(now, s.ConfirmOver) {
		return fmt.Errorf("%w: DescribeStream does not find %s", ErrUnconfirmed, s.Arn)
	}

	table, _ := store.SplitStreamARN(s.Arn)

	// The role may have no permission for ListStreams or DescribeTable. Without their answers, the
	// repeated answers of DescribeStream decide.
	arns, err := ListStreams(ctx, s.cfg.Streams, table)
	if err != nil && !worker.IsRefusal(err) {
		return err
	}

	if slices.Contains(arns, s.Arn) {
		return fmt.Errorf("%w: DescribeStream does not find %s and ListStreams does", ErrUnconfirmed, s.Arn)
	}

	latest, err := LatestStream(ctx, s.cfg.DynamoDB, table)

	// A deleted table has no stream, so its absence agrees with the answers before.
	var noTable *ddbtypes.ResourceNotFoundException
	if err != nil && !worker.IsRefusal(err) && !errors.As(err, &noTable) {
		return err
	}

	if latest == s.Arn {
		return fmt.Errorf("%w: DescribeStream does not find %s and DescribeTable does", ErrUnconfirmed, s.Arn)
	}

	return nil
}

// ListStreams returns the ARNs of all streams of a table that the service still has,
// oldest first.
func ListStreams(ctx context.Context, api API, table string) ([]string, error) {
	in := &dynamodbstreams.ListStreamsInput{TableName: &table}

	var arns []string
	for {
		call, cancel := context.WithTimeout(ctx, CallTimeout)
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
	slices.SortFunc(arns, func(a, b string) int { return cmp.Compare(StreamLabel(a), StreamLabel(b)) })

	return arns, nil
}

// StreamLabel returns the label at the end of the ARN of a stream.
func StreamLabel(arn string) string {
	_, label := store.SplitStreamARN(arn)
	return label
}

// describe reads all pages of DescribeStream.
func (s *Stream) describe(ctx context.Context, filter *streamtypes.ShardFilter, calls *rate.Limiter) (Listing, error) {
	l := Listing{Shards: map[string]streamtypes.Shard{}}
	in := &dynamodbstreams.DescribeStreamInput{
		StreamArn:   &s.Arn,
		Limit:       aws.Int32(describePageSize),
		ShardFilter: filter,
	}

	for {
		if err := pace(ctx, calls); err != nil {
			return Listing{}, err
		}

		d, serverTime, err := s.describePage(ctx, in)
		if err != nil {
			return Listing{}, err
		}

		if d == nil {
			return Listing{Gone: true}, nil
		}
		l.take(d)

		// The time of the first page, because the listing is as old as its oldest page.
		if l.serverTime.IsZero() {
			l.serverTime = serverTime
		}

		before := len(l.Shards)
		for _, shard := range d.Shards {
			l.Shards[aws.ToString(shard.ShardId)] = shard
		}

		next := aws.ToString(d.LastEvaluatedShardId)
		if next == "" {
			return l, nil
		}

		// With an endpoint that ignores ExclusiveStartShardId the loop would not end.
		if len(d.Shards) > 0 && len(l.Shards) == before {
			return Listing{}, fmt.Errorf("streams: list the shards of %s: page after %s repeats itself", s.Arn, next)
		}
		in.ExclusiveStartShardId = &next
	}
}

// describePage calls DescribeStream once. It returns nil if the stream does not exist.
func (s *Stream) describePage(ctx context.Context, in *dynamodbstreams.DescribeStreamInput) (*streamtypes.StreamDescription, time.Time, error) {
	call, cancel := context.WithTimeout(ctx, CallTimeout)
	defer cancel()

	began := time.Now()
	out, err := s.cfg.Streams.DescribeStream(call, in)

	var missing *streamtypes.ResourceNotFoundException
	if errors.As(err, &missing) {
		return nil, time.Time{}, nil
	}

	if err == nil && out.StreamDescription == nil {
		err = errors.New("empty answer")
	}

	if err != nil {
		return nil, time.Time{}, fmt.Errorf("streams: list the shards of %s: %w", s.Arn, err)
	}

	// DynamoDB Streams answers with a Date header; the SDK parses it into the metadata.
	serverTime, _ := awsmiddleware.GetServerTime(out.ResultMetadata)
	s.cfg.Clock.Hear(began, out.ResultMetadata, nil)

	return out.StreamDescription, serverTime, nil
}

// take sets the fields of the stream from a page.
func (l *Listing) take(d *streamtypes.StreamDescription) {
	l.Status, l.viewType = d.StreamStatus, d.StreamViewType
	if d.CreationRequestDateTime != nil {
		l.createdAt = *d.CreationRequestDateTime
	}
}

// Children returns the shards that continue the given one. The caller has asked
// mayLookUp.
func (s *Stream) Children(ctx context.Context, shard string) ([]string, error) {
	filter := &streamtypes.ShardFilter{Type: streamtypes.ShardFilterTypeChildShards, ShardId: &shard}

	l, err := s.describe(ctx, filter, unlimited)
	if err != nil && IsInvalidInput(err) {
		// Not every endpoint supports the filter.
		l, err = s.Recent(ctx)
	}

	if err != nil {
		return nil, err
	}

	return l.Children(shard), nil
}

// MayLookUp reports whether a call of DescribeStream is within this worker's part of the
// account's limit.
func (s *Stream) MayLookUp() bool { return s.lookups.Allow() }

// EndOf returns the last sequence number of a closed shard, "" if the shard is open or not listed.
func (s *Stream) EndOf(ctx context.Context, shard string) (string, error) {
	l, err := s.Recent(ctx)
	if err != nil {
		return "", err
	}

	return EndingSequence(l.Shards[shard]), nil
}

// Children returns the shards whose parent is the shard.
func (l Listing) Children(shard string) []string {
	var out []string
	for id, s := range l.Shards {
		if aws.ToString(s.ParentShardId) == shard {
			out = append(out, id)
		}
	}

	return out
}

// Closed reports whether the stream will get no more records.
func (l Listing) Closed() bool {
	return l.Gone || l.Status == streamtypes.StreamStatusDisabled
}

// EndingSequence returns the last sequence number of a shard, empty while it is open.
func EndingSequence(s streamtypes.Shard) string {
	if s.SequenceNumberRange == nil {
		return ""
	}

	return aws.ToString(s.SequenceNumberRange.EndingSequenceNumber)
}

// ShardCreatedAt reads the creation time out of a shard's id, which is "shardId-", 20 digits of
// Unix milliseconds, and more. It returns zero for an id in another form. DynamoDB does not
// document the form, so callers must work with zero: they then wait longer for a missing parent, or
// do not notice that a shard stayed unread.
func ShardCreatedAt(shard string) time.Time {
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

// API has the methods of *dynamodbstreams.Client that the poller calls.
type API interface {
	ListStreams(context.Context, *dynamodbstreams.ListStreamsInput, ...func(*dynamodbstreams.Options)) (*dynamodbstreams.ListStreamsOutput, error)
	DescribeStream(context.Context, *dynamodbstreams.DescribeStreamInput, ...func(*dynamodbstreams.Options)) (*dynamodbstreams.DescribeStreamOutput, error)
	GetShardIterator(context.Context, *dynamodbstreams.GetShardIteratorInput, ...func(*dynamodbstreams.Options)) (*dynamodbstreams.GetShardIteratorOutput, error)
	GetRecords(context.Context, *dynamodbstreams.GetRecordsInput, ...func(*dynamodbstreams.Options)) (*dynamodbstreams.GetRecordsOutput, error)
}

// ListShards lists a stream once, without confirmation: its result is shown or read, and nothing is
// deleted because of it.
func ListShards(ctx context.Context, api API, arn string) (Listing, error) {
	return (&Stream{cfg: &Config{Streams: api}, Arn: arn}).describe(ctx, nil, unlimited)
}
