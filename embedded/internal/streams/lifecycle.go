package streams

import (
	"fmt"
	"regexp"
	"strconv"
	"time"

	"ratchet/embedded/internal/store"
	"ratchet/embedded/internal/wire"
)

// labelLayout is the form of a stream label, in UTC.
const labelLayout = "2006-01-02T15:04:05.000"

// Create stages a new enabled stream in b. The caller passes it to Add once b is on disk;
// until then no other call can find it.
func (s *Service) Create(b *store.Batch, now time.Time, spec Spec) (*Stream, error) {
	s.mu.Lock()
	defer s.mu.Unlock()

	// The number is used up even if b fails: numbers are unique and may have gaps.
	s.numbers++
	st := &Stream{db: s.db, record: streamRecord{Spec: spec, No: s.numbers}}

	// Two streams that a table gets within one millisecond still have different labels.
	created := now
	for {
		st.record.Label = created.UTC().Format(labelLayout)
		st.record.ARN = fmt.Sprintf("arn:aws:dynamodb:%s:%s:table/%s/stream/%s",
			s.cfg.Region, s.cfg.AccountID, spec.Table, st.record.Label)
		if s.byARN[st.record.ARN] == nil {
			break
		}

		created = created.Add(time.Millisecond)
	}

	st.record.Created = created
	for _, bounds := range hashRanges(s.cfg.InitialShards) {
		sh, err := st.stageNewShard(b, now, "", bounds[0], bounds[1])
		if err != nil {
			return nil, err
		}

		st.all = append(st.all, sh)
	}

	st.updateRoutes()

	// The stream's record comes after the shards, because it has the number of the newest shard.
	return st, st.stageRecord(b)
}

// Add makes a created stream visible to callers.
func (s *Service) Add(st *Stream) {
	s.mu.Lock()
	defer s.mu.Unlock()

	s.byARN[st.record.ARN] = st
}

// Lookup returns the stream with an ARN, nil when there is none.
func (s *Service) Lookup(arn string) *Stream {
	s.mu.RLock()
	defer s.mu.RUnlock()

	return s.byARN[arn]
}

// Disable closes the stream's open shards for good and commits b together with that. The
// stream stays readable for the retention time. Disabling it again only commits b.
func (s *Service) Disable(b *store.Batch, st *Stream, now time.Time) error {
	st.mu.Lock()
	defer st.mu.Unlock()

	if !st.record.Disabled.IsZero() {
		return b.Commit()
	}

	// A copy: the stream itself changes only when b is on disk.
	record := st.record
	record.Disabled = now
	if err := stage(b, streamKey(record.No), record); err != nil {
		return err
	}

	return st.replaceShards(b, now, st.openShards(), nil, func() { st.record.Disabled = now })
}

// minARN is the length of the shortest StreamArn in the API model.
const minARN = 37

var arnRule = regexp.MustCompile(`^arn:aws[a-z-]*:dynamodb:[^:]+:[^:]+:table/[^/]+/stream/.+$`)

// streamOf returns the stream of a request's StreamArn, which is required.
func (s *Service) streamOf(arn *string) (*Stream, error) {
	if arn == nil {
		return nil, wire.Missing("streamArn")
	}

	if st := s.Lookup(*arn); st != nil {
		return st, nil
	}

	// Source of the length: the API model. The words about an ARN of another form are not recorded.
	if n := len(*arn); n < minARN {
		return nil, wire.BadParameter("'"+*arn+"'", "streamArn", "Member must have length greater than or equal to "+strconv.Itoa(minARN))
	}

	if !arnRule.MatchString(*arn) {
		return nil, wire.Invalid("Invalid StreamArn: %s", *arn)
	}

	return nil, wire.Errorf("ResourceNotFoundException", "Requested resource not found: Stream: %s not found", *arn)
}
