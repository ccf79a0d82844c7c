package stepfunctions

import (
	"context"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"ratchet/embedded/internal/stepfunctions/keys"
	"ratchet/embedded/internal/stepfunctions/requests"
	"ratchet/embedded/internal/wire"
)

// Limits of tags; lengths are in characters.
// Source: https://docs.aws.amazon.com/step-functions/latest/dg/sfn-best-practices.html#concepts-tagging
const (
	maxTags     = 50
	maxTagKey   = 128
	maxTagValue = 256
)

type tag struct {
	Key   string `json:"key"`
	Value string `json:"value"`
}

// tags are the tags of a machine or activity, in the order in which they were added.
type tags []tag

// check fails for tags that the service does not accept.
func (t tags) check() error {
	for _, each := range t {
		if err := checkTagKey(each.Key); err != nil {
			return err
		}

		if utf8.RuneCountInString(each.Value) > maxTagValue || strings.ContainsFunc(each.Value, noTagRune) {
			return requests.Invalid("the value of tag '%s' must have at most %d characters: letters, digits, white space or _ . : / = + - @",
				each.Key, maxTagValue)
		}
	}

	// with drops repeated keys, which count once.
	return tags{}.with(t).checkCount()
}

func checkTagKey(key string) error {
	n := utf8.RuneCountInString(key)
	if n == 0 || n > maxTagKey || strings.ContainsFunc(key, noTagRune) || strings.HasPrefix(strings.ToLower(key), "aws:") {
		return requests.Invalid("a tag's key must have 1 to %d characters: letters, digits, white space or _ . : / = + - @, "+
			"and must not begin with aws:, not '%s'", maxTagKey, key)
	}

	return nil
}

func noTagRune(r rune) bool {
	return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !unicode.IsSpace(r) && !strings.ContainsRune("_.:/=+-@", r)
}

func (t tags) checkCount() error {
	if len(t) > maxTags {
		return wire.Errorf("TooManyTags", "You've exceeded the number of tags allowed for a resource.")
	}

	return nil
}

// with returns the tags with others added to them. A key that exists gets its new value.
func (t tags) with(others tags) tags {
	all := slices.Clone(t)
	for _, other := range others {
		at := slices.IndexFunc(all, func(each tag) bool { return each.Key == other.Key })
		if at < 0 {
			all = append(all, other)
			continue
		}

		all[at] = other
	}

	return all
}

// without returns the tags without those keys.
func (t tags) without(keys []string) tags {
	return slices.DeleteFunc(slices.Clone(t), func(each tag) bool { return slices.Contains(keys, each.Key) })
}

func (s *Service) tagResource(_ context.Context, in *struct {
	ResourceArn string
	Tags        tags
}) (any, error) {
	if err := in.Tags.check(); err != nil {
		return nil, err
	}

	return s.changeTags(in.ResourceArn, func(t tags) tags { return t.with(in.Tags) })
}

func (s *Service) untagResource(_ context.Context, in *struct {
	ResourceArn string
	TagKeys     []string
}) (any, error) {
	return s.changeTags(in.ResourceArn, func(t tags) tags { return t.without(in.TagKeys) })
}

func (s *Service) listTags(_ context.Context, in *struct{ ResourceArn string }) (any, error) {
	m, a, err := s.tagged(in.ResourceArn)

	var found tags
	switch {
	case err != nil:
		return nil, err
	case m != nil:
		found = m.Tags
	default:
		found = a.Tags
	}

	// Not nil, so that the answer has [] and not null.
	return map[string]tags{"tags": append(tags{}, found...)}, nil
}

// tagged returns the machine or the activity with an ARN. Versions, aliases and executions
// have no tags.
func (s *Service) tagged(arn string) (*machine, *activity, error) {
	resource := "stateMachine"
	if parts := strings.SplitN(arn, ":", 7); len(parts) == 7 && parts[5] == "activity" {
		resource = "activity"
	}

	name, ours, err := s.account.Name(arn, resource)
	if err != nil {
		return nil, nil, err
	}

	m := s.lookup(name)

	s.activitiesMu.RLock()
	a := s.activities[name]
	s.activitiesMu.RUnlock()

	switch {
	case ours && resource == "stateMachine" && m != nil:
		return m, nil, nil
	case ours && resource == "activity" && a != nil:
		return nil, a, nil
	default:
		return nil, nil, noTagged(arn)
	}
}

func noTagged(arn string) error {
	return wire.Errorf("ResourceNotFound", "Resource not found: '%s'", arn)
}

// changeTags stores the changed tags of a machine or activity.
func (s *Service) changeTags(arn string, change func(tags) tags) (any, error) {
	m, a, err := s.tagged(arn)
	switch {
	case err != nil:
		return nil, err
	case m != nil:
		return requests.Empty, s.changeMachineTags(arn, m.Name, change)
	default:
		return requests.Empty, s.changeActivityTags(arn, a.Name, change)
	}
}

func (s *Service) changeMachineTags(arn, name string, change func(tags) tags) error {
	s.mu.Lock()
	defer s.mu.Unlock()

	// Looked up again: the machine may have been deleted before the lock.
	old := s.machines[name]
	if old == nil {
		return noTagged(arn)
	}

	m := *old
	m.Tags = change(old.Tags)

	if err := m.Tags.checkCount(); err != nil {
		return err
	}

	return s.replaceMachine(&m)
}

func (s *Service) changeActivityTags(arn, name string, change func(tags) tags) error {
	s.activitiesMu.Lock()
	defer s.activitiesMu.Unlock()

	old := s.activities[name]
	if old == nil {
		return noTagged(arn)
	}

	a := *old
	a.Tags = change(old.Tags)

	if err := a.Tags.checkCount(); err != nil {
		return err
	}

	if err := s.commitRecord(keys.Named(keys.Activity, name), &a); err != nil {
		return err
	}

	s.activities[name] = &a

	return nil
}
