package sqs

import (
	"context"
	"maps"
	"slices"
	"time"
	"unicode/utf8"

	"ratchet/embedded/internal/store"
)

// maxTags is how many tags a queue can have.
// Source: https://docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/sqs-queue-tags.html
const maxTags = 50

// withTags returns the tags of a queue with further ones, which replace tags of the same key. The words of its
// errors are not recorded.
func withTags(old, more map[string]string) (map[string]string, error) {
	all := maps.Clone(old)
	if all == nil {
		all = map[string]string{}
	}

	for _, key := range slices.Sorted(maps.Keys(more)) {
		switch value := more[key]; {
		case key == "" || utf8.RuneCountInString(key) > 128:
			return nil, invalidParameter("Tags", key, "The key of a tag must have 1 to 128 characters.")
		case utf8.RuneCountInString(value) > 256:
			return nil, invalidParameter("Tags", value, "The value of a tag must have at most 256 characters.")
		}
		all[key] = more[key]
	}

	if len(all) > maxTags {
		return nil, invalidText("Too many tags added for queue: a queue can have at most %d tags.", maxTags)
	}

	return all, nil
}

func (s *Service) tagQueue(_ context.Context, in *struct {
	QueueUrl string //nolint:revive // the wire's name
	Tags     map[string]string
}) (any, error) {
	return s.editQueue(in.QueueUrl, func(q *queue) (err error) {
		if len(in.Tags) == 0 {
			return missingParameter("Tags")
		}

		all, err := withTags(q.Tags, in.Tags)
		if err == nil {
			q.Tags = all
		}

		return err
	})
}

func (s *Service) untagQueue(_ context.Context, in *struct {
	QueueUrl string //nolint:revive // the wire's name
	TagKeys  []string
}) (any, error) {
	return s.editQueue(in.QueueUrl, func(q *queue) error {
		if len(in.TagKeys) == 0 {
			return missingParameter("TagKeys")
		}

		q.Tags = maps.Clone(q.Tags)
		for _, key := range in.TagKeys {
			delete(q.Tags, key)
		}

		return nil
	})
}

func (s *Service) listQueueTags(_ context.Context, in *queueRequest) (any, error) {
	var out struct {
		Tags map[string]string `json:",omitempty"`
	}

	err := s.withQueue(in.QueueUrl, func(q *queue, _ *store.Batch, _ time.Time) error {
		out.Tags = maps.Clone(q.Tags)
		return nil
	})

	return out, err
}

// editQueue changes the record of a queue and stores it. An error of edit must leave the record as it was.
func (s *Service) editQueue(url string, edit func(*queue) error) (any, error) {
	err := s.withQueue(url, func(q *queue, b *store.Batch, _ time.Time) error {
		if err := edit(q); err != nil {
			return err
		}

		return q.store(b)
	})
	if err != nil {
		return nil, err
	}

	return empty, nil
}
