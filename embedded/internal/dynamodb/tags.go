package dynamodb

import (
	"context"
	"maps"
	"slices"
	"strings"

	"ratchet/embedded/internal/wire"
)

// maxTags is how many tags a table can have.
// Source: https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Tagging.html
const maxTags = 50

// addTags adds tags to the record and replaces those of the same key.
func (r *tableRecord) addTags(tags []tag) error {
	next := maps.Clone(r.Tags)
	if next == nil {
		next = map[string]string{}
	}

	for _, t := range tags {
		if n := len([]rune(t.Key)); n < 1 || n > 128 {
			return wire.BadParameter("'"+t.Key+"'", "tags.1.member.key", "Member must have length between 1 and 128")
		}

		if len([]rune(t.Value)) > 256 {
			return wire.BadParameter("'"+t.Value+"'", "tags.1.member.value", "Member must have length less than or equal to 256")
		}
		next[t.Key] = t.Value
	}

	if len(next) > maxTags {
		return invalid("One or more parameter values were invalid: a table can have at most %d tags", maxTags)
	}
	r.Tags = next

	return nil
}

type tagResourceIn struct {
	ResourceArn *string
	Tags        []tag
	TagKeys     []string
}

func (s *Service) tagResource(_ context.Context, in *tagResourceIn) (any, error) {
	return s.retag(in, func(r *tableRecord) error { return r.addTags(in.Tags) })
}

func (s *Service) untagResource(_ context.Context, in *tagResourceIn) (any, error) {
	return s.retag(in, func(r *tableRecord) error {
		r.Tags = maps.Clone(r.Tags)
		for _, k := range in.TagKeys {
			delete(r.Tags, k)
		}

		return nil
	})
}

// retag changes the tags of a table.
func (s *Service) retag(in *tagResourceIn, edit func(*tableRecord) error) (any, error) {
	s.tables.ddl.Lock()
	defer s.tables.ddl.Unlock()

	t, err := s.resource(in.ResourceArn)
	if err != nil {
		return nil, err
	}

	next := *t.state.Load()
	if err := edit(&next.record); err != nil {
		return nil, err
	}

	if err := s.saveState(t, &next); err != nil {
		return nil, err
	}

	return struct{}{}, nil
}

func (s *Service) listTags(_ context.Context, in *tagResourceIn) (any, error) {
	t, err := s.resource(in.ResourceArn)
	if err != nil {
		return nil, err
	}

	tags := t.state.Load().record.Tags
	list := make([]tag, 0, len(tags))
	for _, k := range slices.Sorted(maps.Keys(tags)) {
		list = append(list, tag{k, tags[k]})
	}

	return map[string]any{"Tags": list}, nil
}

// resource returns the table of an ARN.
func (s *Service) resource(arn *string) (*table, error) {
	if arn == nil {
		return nil, wire.Missing("resourceArn")
	}

	name, ok := strings.CutPrefix(*arn, s.arnPrefix())
	if !ok {
		return nil, invalid("Invalid TableArn: Invalid ResourceArn provided as input %s", *arn)
	}

	if t := s.tables.get(name); t != nil {
		return t, nil
	}

	return nil, wire.Errorf("ResourceNotFoundException", "Requested resource not found: ResourcArn: %s not found", *arn)
}

// saveState saves a table's new state and publishes it to writers. The caller holds ddl.
func (s *Service) saveState(t *table, next *tableState) error {
	b := s.db.NewBatch()
	if err := stageTable(b, &next.record); err != nil {
		b.Discard()
		return err
	}

	if err := b.Commit(); err != nil {
		return err
	}
	t.state.Store(next)

	return nil
}
