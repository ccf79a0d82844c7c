package dynamodb

import (
	"context"
	"maps"
	"slices"
	"strings"

	"ratchet/embedded/internal/dynamodb/catalog"
	"ratchet/embedded/internal/dynamodb/model"
	"ratchet/embedded/internal/dynamodb/tables"
	"ratchet/embedded/internal/wire"
)

type tagResourceIn struct {
	ResourceArn *string
	Tags        []tables.Tag
}

func (s *Service) tagResource(_ context.Context, in *tagResourceIn) (any, error) {
	var c model.Constraints
	c.Resource(in.ResourceArn)

	if in.Tags == nil {
		c.Missing("tags")
	}

	if err := c.Err(); err != nil {
		return nil, err
	}

	if len(in.Tags) == 0 {
		return nil, invalid("Atleast one Tag needs to be provided as Input.")
	}

	return s.retag(in.ResourceArn, "TagResource", func(r *tables.Record) error { return r.AddTags(in.Tags) })
}

type untagResourceIn struct {
	ResourceArn *string
	TagKeys     []*string
}

func (s *Service) untagResource(_ context.Context, in *untagResourceIn) (any, error) {
	var c model.Constraints
	c.Resource(in.ResourceArn)

	if in.TagKeys == nil {
		c.Missing("tagKeys")
	}

	if err := c.Err(); err != nil {
		return nil, err
	}

	if len(in.TagKeys) == 0 {
		return nil, invalid("Atleast one Tag Key needs to be provided as Input.")
	}

	return s.retag(in.ResourceArn, "UntagResource", func(r *tables.Record) error { return r.RemoveTags(in.TagKeys) })
}

// retag changes the tags of a table.
func (s *Service) retag(arn *string, operation string, edit func(*tables.Record) error) (any, error) {
	s.tables.DDL.Lock()
	defer s.tables.DDL.Unlock()

	t, err := s.resource(arn, operation)
	if err != nil {
		return nil, err
	}

	next := *t.State()
	if err := edit(&next.Record); err != nil {
		return nil, err
	}

	if err := s.tables.Save(t, &next); err != nil {
		return nil, err
	}

	return struct{}{}, nil
}

type tag struct{ Key, Value string }

type listTagsIn struct{ ResourceArn, NextToken *string }

func (s *Service) listTags(_ context.Context, in *listTagsIn) (any, error) {
	// All tags fit one page, so the engine has never made a token. The service's words are not recorded.
	if in.NextToken != nil {
		return nil, invalid("The NextToken provided is invalid")
	}

	t, err := s.resource(in.ResourceArn, "ListTagsOfResource")
	if err != nil {
		return nil, err
	}

	tags := t.State().Record.Tags
	list := make([]tag, 0, len(tags))
	for _, k := range slices.Sorted(maps.Keys(tags)) {
		list = append(list, tag{k, tags[k]})
	}

	return map[string]any{"Tags": list}, nil
}

// resource returns the table of an ARN that the operation names.
func (s *Service) resource(arn *string, operation string) (*catalog.Table, error) {
	if arn == nil {
		return nil, wire.Missing("resourceArn")
	}

	account, name, ok := s.parseTableARN(*arn)
	if !ok {
		return nil, invalid("Invalid TableArn: Invalid ResourceArn provided as input %s", *arn)
	}

	own := account == s.cfg.AccountID
	if t := s.tables.Get(name); own && t != nil {
		return t, nil
	}

	if own && account != noAccount {
		return nil, wire.Errorf("ResourceNotFoundException", "Requested resource not found: ResourcArn: %s not found", *arn)
	}

	return nil, wire.Errorf("AccessDeniedException",
		"User: arn:aws:iam::%s:root is not authorized to perform: dynamodb:%s on resource: %s because no resource-based policy allows the dynamodb:%s action",
		s.cfg.AccountID, operation, *arn, operation)
}

// noAccount is an account that does not exist on AWS. The service denies access to its resources, as to the
// resources of other accounts. It is the engine's account by default.
// Source: https://github.com/nubo-db/dynamodb-conformance tests/tier2/tags/basic.test.ts, "rejects
// ListTagsOfResource with a non-existent ARN", recorded on the service. Source for a missing table
// in the caller's own account: https://github.com/turbot/steampipe-plugin-aws/issues/1516
const noAccount = "000000000000"

// parseTableARN returns the account and the name in the ARN of a table of this engine's region.
func (s *Service) parseTableARN(arn string) (account, name string, ok bool) {
	rest, ok := strings.CutPrefix(arn, s.tables.RegionARNs())
	if !ok {
		return "", "", false
	}

	account, name, ok = strings.Cut(rest, ":table/")

	return account, name, ok && account != "" && name != ""
}
