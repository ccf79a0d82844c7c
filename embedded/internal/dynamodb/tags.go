package dynamodb

import (
	"context"
	"maps"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"ratchet/embedded/internal/wire"
)

// maxTags is how many tags a table can have.
// Source: https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Tagging.html
const maxTags = 50

// addTags adds tags to the record and replaces tags with the same key.
// Source of the words: ack-api-quirks, services/dynamodb, "The Tag Key provided is invalid" and the errors beside
// it, recorded on the service. The order of the checks is not recorded.
func (r *tableRecord) addTags(tags []tagIn) error {
	// Cloned, because readers use the map of the published state.
	next := maps.Clone(r.Tags)
	if next == nil {
		next = map[string]string{}
	}

	seen := map[string]bool{}
	for _, t := range tags {
		switch {
		case !isTagText(t.Key, 1, 128):
			return invalid("The Tag Key provided is invalid, Key: %s", orNull(t.Key))
		case !isTagText(t.Value, 0, 256):
			return invalid("The Tag Value provided is invalid, Value: %s", orNull(t.Value))
		case strings.HasPrefix(strings.ToLower(*t.Key), "aws:"):
			return invalid("Tag Key cannot be prefixed with aws:, Key: %s", *t.Key)
		case seen[*t.Key]:
			return invalid("Duplicate Tag Keys provided as input: Duplicate Tag Key found %s", *t.Key)
		}
		seen[*t.Key], next[*t.Key] = true, *t.Value
	}

	if len(next) > maxTags {
		return invalid("Number of Tags exceed the current limit for the provided ResourceArn")
	}
	r.Tags = next

	return nil
}

// isTagText reports whether the text can be the key or the value of a tag: letters, numbers and spaces of any
// language, and a few signs.
// Source: https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Tagging.html
func isTagText(text *string, least, most int) bool {
	if text == nil {
		return false
	}

	for _, c := range *text {
		if !unicode.IsLetter(c) && !unicode.IsNumber(c) && !unicode.IsSpace(c) && !strings.ContainsRune("+-=._:/@", c) {
			return false
		}
	}

	n := utf8.RuneCountInString(*text)

	return n >= least && n <= most
}

// orNull returns the text as messages show it.
func orNull(text *string) string {
	if text == nil {
		return "null"
	}

	return *text
}

type tagResourceIn struct {
	ResourceArn *string
	Tags        []tagIn
}

func (s *Service) tagResource(_ context.Context, in *tagResourceIn) (any, error) {
	var c constraints
	c.resource(in.ResourceArn)

	if in.Tags == nil {
		c.Missing("tags")
	}

	if err := c.Err(); err != nil {
		return nil, err
	}

	if len(in.Tags) == 0 {
		return nil, invalid("Atleast one Tag needs to be provided as Input.")
	}

	return s.retag(in.ResourceArn, "TagResource", func(r *tableRecord) error { return r.addTags(in.Tags) })
}

type untagResourceIn struct {
	ResourceArn *string
	TagKeys     []*string
}

func (s *Service) untagResource(_ context.Context, in *untagResourceIn) (any, error) {
	var c constraints
	c.resource(in.ResourceArn)

	if in.TagKeys == nil {
		c.Missing("tagKeys")
	}

	if err := c.Err(); err != nil {
		return nil, err
	}

	if len(in.TagKeys) == 0 {
		return nil, invalid("Atleast one Tag Key needs to be provided as Input.")
	}

	return s.retag(in.ResourceArn, "UntagResource", func(r *tableRecord) error {
		r.Tags = maps.Clone(r.Tags)
		for _, k := range in.TagKeys {
			if !isTagText(k, 1, 128) {
				return invalid("The Tag Key provided is invalid, Key: %s", orNull(k))
			}
			delete(r.Tags, *k)
		}

		return nil
	})
}

// resource checks a ResourceArn against the API model.
func (c *constraints) resource(arn *string) {
	if arn == nil {
		c.Missing("resourceArn")
		return
	}
	c.Length(len(*arn), *arn, "resourceArn", 1, 1283)
}

// retag changes the tags of a table.
func (s *Service) retag(arn *string, operation string, edit func(*tableRecord) error) (any, error) {
	s.tables.ddl.Lock()
	defer s.tables.ddl.Unlock()

	t, err := s.resource(arn, operation)
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

	tags := t.state.Load().record.Tags
	list := make([]tag, 0, len(tags))
	for _, k := range slices.Sorted(maps.Keys(tags)) {
		list = append(list, tag{k, tags[k]})
	}

	return map[string]any{"Tags": list}, nil
}

// resource returns the table of an ARN that the operation names.
func (s *Service) resource(arn *string, operation string) (*table, error) {
	if arn == nil {
		return nil, wire.Missing("resourceArn")
	}

	account, name, ok := s.parseTableARN(*arn)
	if !ok {
		return nil, invalid("Invalid TableArn: Invalid ResourceArn provided as input %s", *arn)
	}

	own := account == s.cfg.AccountID
	if t := s.tables.get(name); own && t != nil {
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
	rest, ok := strings.CutPrefix(arn, s.regionPrefix())
	if !ok {
		return "", "", false
	}

	account, name, ok = strings.Cut(rest, ":table/")

	return account, name, ok && account != "" && name != ""
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

	// The state is published only now, so that no writer uses a state that a crash could undo.
	t.state.Store(next)

	return nil
}
