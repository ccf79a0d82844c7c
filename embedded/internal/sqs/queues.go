package sqs

import (
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"ratchet/embedded/internal/store"
	"ratchet/embedded/internal/wire"
)

// empty is the answer of operations that return nothing.
var empty = json.RawMessage("{}")

func (s *Service) createQueue(ctx context.Context, in *struct {
	QueueName  string
	Attributes map[string]string
	Tags       map[string]string `json:"tags"`
}) (any, error) {
	in.Attributes = lowered(in.Attributes)
	fifo := in.Attributes["FifoQueue"] == "true"

	err := s.update(func(b *store.Batch) error {
		// The checks run under the lock, because a redrive policy names another queue.
		if err := checkName(in.QueueName, fifo); err != nil {
			return err
		}

		if err := cmp.Or(s.checkAttributes(in.Attributes, fifo), checkThroughput(in.Attributes), checkEncryption(in.Attributes, in.Attributes)); err != nil {
			return err
		}

		if q := s.queues[in.QueueName]; q != nil {
			// Creating a queue that exists succeeds if nothing differs.
			return s.checkSameAttributes(q, in.Attributes)
		}

		tags, err := withTags(nil, in.Tags)
		if err != nil {
			return err
		}

		attributes := maps.Clone(in.Attributes)
		if attributes == nil {
			attributes = map[string]string{}
		}
		settle(attributes)

		now := s.cfg.Clock.Now().UnixMilli()
		s.lastID++
		q := newQueue(record{
			ID:         s.lastID,
			Name:       in.QueueName,
			Created:    now,
			Modified:   now,
			Attributes: attributes,
			Tags:       tags,
		})
		s.queues[q.Name] = q

		return q.store(b)
	})
	if err != nil {
		return nil, err
	}

	return map[string]string{"QueueUrl": s.url(ctx, in.QueueName)}, nil
}

// checkSameAttributes decides about creating a queue that exists: it is fine when each
// attribute of the request has the value that the queue has.
func (s *Service) checkSameAttributes(q *queue, attributes map[string]string) error {
	existing := s.describe(q)
	for _, name := range slices.Sorted(maps.Keys(attributes)) {
		if existing[name] != attributes[name] {
			return wire.Errorf("QueueNameExists", "A queue already exists with the same name and a different value for attribute %s", name)
		}
	}

	return nil
}

func (s *Service) getQueueURL(ctx context.Context, in *struct {
	QueueName string
	Owner     string `json:"QueueOwnerAWSAccountId"`
}) (any, error) {
	// Nothing is changed, but the Barrier of update keeps a crash from undoing the queue
	// after this answer.
	err := s.update(func(*store.Batch) error {
		if s.queues[in.QueueName] == nil || in.Owner != "" && in.Owner != s.cfg.AccountID {
			return queueDoesNotExist()
		}

		return nil
	})
	if err != nil {
		return nil, err
	}

	return map[string]string{"QueueUrl": s.url(ctx, in.QueueName)}, nil
}

func (s *Service) getQueueAttributes(_ context.Context, in *struct {
	QueueUrl       string //nolint:revive // the wire's name
	AttributeNames []string
}) (any, error) {
	out := map[string]string{}

	err := s.withQueue(in.QueueUrl, func(q *queue, _ *store.Batch, _ time.Time) error {
		all := s.describe(q)
		for _, name := range in.AttributeNames {
			if name == "All" {
				out = all
				return nil
			}

			if value, ok := all[name]; ok {
				out[name] = value
				// A valid attribute without a value, as RedrivePolicy, is left out of the answer.
			} else if !isAttribute(name) {
				return unknownAttribute(name)
			}
		}

		return nil
	})
	if err != nil {
		return nil, err
	}

	// Source: LocalStack's recordings of AWS (tests/aws/services/sqs, test_sqs_permission_lifecycle)
	if len(out) == 0 {
		return empty, nil
	}

	return map[string]any{"Attributes": out}, nil
}

// isAttribute reports whether queues can have the attribute.
func isAttribute(name string) bool {
	return numberAttributes[name] != bounds{} || enumAttributes[name] != nil || name == "RedrivePolicy" || slices.Contains(keptAttributes, name)
}

func (s *Service) setQueueAttributes(_ context.Context, in *struct {
	QueueUrl   string //nolint:revive // the wire's name
	Attributes map[string]string
}) (any, error) {
	in.Attributes = lowered(in.Attributes)

	err := s.withQueue(in.QueueUrl, func(q *queue, b *store.Batch, now time.Time) error {
		changed := maps.Clone(q.Attributes)
		if changed == nil {
			changed = map[string]string{}
		}
		maps.Copy(changed, in.Attributes)

		// The attributes that stay are not checked again: a dead-letter queue may be gone.
		if err := cmp.Or(s.checkAttributes(in.Attributes, q.fifo), checkThroughput(changed), checkEncryption(in.Attributes, changed)); err != nil {
			return err
		}

		settle(changed)
		q.Attributes = changed
		q.Modified = now.UnixMilli()
		q.settings = parseSettings(changed)
		// A shorter retention takes effect at once.
		q.advance(b, q.Modified)

		return q.store(b)
	})
	if err != nil {
		return nil, err
	}

	return empty, nil
}

// listDeadLetterSources lists the queues whose dead letters go to a queue.
func (s *Service) listDeadLetterSources(ctx context.Context, in *struct {
	QueueUrl  string //nolint:revive // the wire's name
	NextToken string
	// MaxResults is the length of a page, 0 for 1000.
	MaxResults int
}) (any, error) {
	out := struct {
		QueueUrls []string `json:"queueUrls"`
		NextToken string   `json:",omitempty"`
	}{QueueUrls: []string{}}

	last, limit, err := readPage(in.NextToken, in.MaxResults)
	if err != nil {
		return nil, err
	}

	err = s.withQueue(in.QueueUrl, func(target *queue, _ *store.Batch, _ time.Time) error {
		previous := ""
		for _, name := range slices.Sorted(maps.Keys(s.queues)) {
			if q := s.queues[name]; q.redrive == nil || q.redrive.target != s.arn(target.Name) || name <= last {
				continue
			}

			if len(out.QueueUrls) == limit {
				out.NextToken = base64.RawURLEncoding.EncodeToString([]byte(previous))
				break
			}

			previous, out.QueueUrls = name, append(out.QueueUrls, s.url(ctx, name))
		}

		return nil
	})

	return out, err
}

// readPage returns the name before the page that a request asks for, and the length of the page.
func readPage(token string, most int) (last string, limit int, err error) {
	name, err := base64.RawURLEncoding.DecodeString(token)
	switch {
	case err != nil:
		return "", 0, invalidParameter("NextToken", token, "Invalid token.")
	case most < 0 || most > 1000:
		return "", 0, invalidParameter("MaxResults", fmt.Sprint(most), "Must be from 1 to 1000.")
	}

	return string(name), cmp.Or(most, 1000), nil
}

func (s *Service) listQueues(ctx context.Context, in *struct {
	QueueNamePrefix, NextToken string
	MaxResults                 int
}) (any, error) {
	last, limit, err := readPage(in.NextToken, in.MaxResults)
	if err != nil {
		return nil, err
	}

	out := struct {
		QueueUrls []string `json:",omitempty"`
		NextToken string   `json:",omitempty"`
	}{}
	err = s.update(func(*store.Batch) error {
		for _, name := range slices.Sorted(maps.Keys(s.queues)) {
			// The token is the last name of its page, which may have been deleted since.
			if !strings.HasPrefix(name, in.QueueNamePrefix) || name <= last {
				continue
			}

			if len(out.QueueUrls) == limit {
				// Without MaxResults the service returns the first 1000 queues and no token.
				if in.MaxResults > 0 {
					_, previous, _ := strings.Cut(out.QueueUrls[limit-1], s.cfg.AccountID+"/")
					out.NextToken = base64.RawURLEncoding.EncodeToString([]byte(previous))
				}

				break
			}

			out.QueueUrls = append(out.QueueUrls, s.url(ctx, name))
		}

		return nil
	})

	return out, err
}

type queueRequest struct {
	QueueUrl string //nolint:revive // the wire's name
}

func (s *Service) deleteQueue(_ context.Context, in *queueRequest) (any, error) {
	err := s.withQueue(in.QueueUrl, func(q *queue, b *store.Batch, _ time.Time) error {
		q.clear(b)
		b.Delete(queueKey(q.Name))

		delete(s.queues, q.Name)
		// Receives that wait for messages fail now.
		q.wake()

		return nil
	})
	if err != nil {
		return nil, err
	}

	return empty, nil
}

func (s *Service) purgeQueue(_ context.Context, in *queueRequest) (any, error) {
	err := s.withQueue(in.QueueUrl, func(q *queue, b *store.Batch, _ time.Time) error {
		q.clear(b)
		return nil
	})
	if err != nil {
		return nil, err
	}

	return empty, nil
}
