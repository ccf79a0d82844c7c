package stepfunctions

import (
	"context"
	"strings"

	"ratchet/embedded/internal/stepfunctions/requests"
	"ratchet/embedded/internal/stepfunctions/settings"
	"ratchet/embedded/internal/wire"
)

func (s *Service) tagResource(_ context.Context, in *struct {
	ResourceArn string
	Tags        settings.Tags
}) (any, error) {
	if err := in.Tags.Check(); err != nil {
		return nil, err
	}

	return s.changeTags(in.ResourceArn, func(t settings.Tags) settings.Tags { return t.With(in.Tags) })
}

func (s *Service) untagResource(_ context.Context, in *struct {
	ResourceArn string
	TagKeys     []string
}) (any, error) {
	return s.changeTags(in.ResourceArn, func(t settings.Tags) settings.Tags { return t.Without(in.TagKeys) })
}

func (s *Service) listTags(_ context.Context, in *struct{ ResourceArn string }) (any, error) {
	of, name, err := s.taggable(in.ResourceArn)
	if err != nil {
		return nil, err
	}

	found, ok := of.Tags(name)
	if !ok {
		return nil, noTagged(in.ResourceArn)
	}

	// Not nil, so that the answer has [] and not null.
	return map[string]settings.Tags{"tags": append(settings.Tags{}, found...)}, nil
}

// taggable are machines or activities.
type taggable interface {
	Tags(name string) (settings.Tags, bool)
	ChangeTags(name string, change func(settings.Tags) settings.Tags) (found bool, err error)
}

// taggable returns the machines or the activities, and the name in the ARN of one of them. Versions, aliases
// and executions have no tags.
func (s *Service) taggable(arn string) (of taggable, name string, err error) {
	resource := "stateMachine"

	of = s.machines
	if parts := strings.SplitN(arn, ":", 7); len(parts) == 7 && parts[5] == "activity" {
		resource, of = "activity", s.activities
	}

	name, ours, err := s.account.Name(arn, resource)
	if err == nil && !ours {
		err = noTagged(arn)
	}

	return of, name, err
}

func noTagged(arn string) error {
	return wire.Errorf("ResourceNotFound", "Resource not found: '%s'", arn)
}

// ChangeTags stores the changed tags of a machine or activity.
func (s *Service) changeTags(arn string, change func(settings.Tags) settings.Tags) (any, error) {
	of, name, err := s.taggable(arn)
	if err != nil {
		return nil, err
	}

	found, err := of.ChangeTags(name, change)
	if err == nil && !found {
		err = noTagged(arn)
	}

	return requests.Empty, err
}
