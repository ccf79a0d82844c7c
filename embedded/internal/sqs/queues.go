package sqs

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"

	"ratchet/embedded/internal/store"
	"ratchet/embedded/internal/wire"
)

var nameRule = regexp.MustCompile(`^[A-Za-z0-9_-]{1,80}$`)

// checkName refuses a name that a queue of that kind cannot have.
func checkName(name string, fifo bool) error {
	plain, suffixed := strings.CutSuffix(name, ".fifo")
	switch {
	case name == "":
		return missingParameter("QueueName")
	case len(name) > 80 || !nameRule.MatchString(plain) || suffixed != fifo:
		return invalidParameter("QueueName", name, "Can only include alphanumeric characters, hyphens, or underscores. 1 to 80 in length; the name of a FIFO queue, and of no other, ends with .fifo.")
	}

	return nil
}

// empty is the answer of operations that return nothing.
var empty = json.RawMessage("{}")

func (s *Service) createQueue(_ context.Context, in *struct {
	QueueName  string
	Attributes map[string]string
	Tags       map[string]string `json:"tags"`
}) (any, error) {
	if len(in.Tags) > 0 {
		return nil, unsupported("tagging")
	}
	fifo := in.Attributes["FifoQueue"] == "true"

	err := s.change(func(b *store.Batch) error {
		if err := checkName(in.QueueName, fifo); err != nil {
			return err
		}

		if in.Attributes["FifoQueue"] == "false" {
			return wire.Errorf("InvalidAttributeName", "Unknown Attribute FifoQueue.")
		}

		if err := s.checkAttributes(in.Attributes, fifo); err != nil {
			return err
		}

		if q := s.queues[in.QueueName]; q != nil {
			return s.sameQueue(q, in.Attributes)
		}
		now := time.Now().UnixMilli()
		s.lastID++
		q := newQueue(record{ID: s.lastID, Name: in.QueueName, Created: now, Modified: now, Attributes: maps.Clone(in.Attributes)})
		s.queues[q.Name] = q

		return q.store(b)
	})
	if err != nil {
		return nil, err
	}

	return map[string]string{"QueueUrl": s.url(in.QueueName)}, nil
}

// sameQueue refuses to create a queue that is there with other attributes.
func (s *Service) sameQueue(q *queue, attributes map[string]string) error {
	has := s.described(q)
	for _, name := range slices.Sorted(maps.Keys(attributes)) {
		if has[name] != attributes[name] {
			return wire.Errorf("QueueNameExists", "A queue already exists with the same name and a different value for attribute %s", name)
		}
	}

	return nil
}

func (q *queue) store(b *store.Batch) error {
	text, err := json.Marshal(&q.record)
	if err != nil {
		return fmt.Errorf("store queue %s: %w", q.Name, err)
	}
	b.Set(queueKey(q.Name), text)

	return nil
}

func (s *Service) getQueueURL(_ context.Context, in *struct {
	QueueName string
	Owner     string `json:"QueueOwnerAWSAccountId"`
}) (any, error) {
	err := s.change(func(*store.Batch) error {
		if s.queues[in.QueueName] == nil || in.Owner != "" && in.Owner != s.cfg.AccountID {
			return noQueue()
		}
		return nil
	})
	if err != nil {
		return nil, err
	}

	return map[string]string{"QueueUrl": s.url(in.QueueName)}, nil
}

func (s *Service) getQueueAttributes(_ context.Context, in *struct {
	QueueUrl       string //nolint:revive // the wire's name
	AttributeNames []string
}) (any, error) {
	out := map[string]string{}

	err := s.on(in.QueueUrl, func(q *queue, _ *store.Batch, _ time.Time) error {
		all := s.described(q)
		for _, name := range in.AttributeNames {
			if name == "All" {
				out = all
				return nil
			}

			if value, ok := all[name]; ok {
				out[name] = value
			} else if numbers[name] == (bounds{}) && words[name] == nil && name != "RedrivePolicy" {
				return wire.Errorf("InvalidAttributeName", "Unknown Attribute %s.", name)
			}
		}

		return nil
	})
	if err != nil {
		return nil, err
	}

	return map[string]any{"Attributes": out}, nil
}

func (s *Service) setQueueAttributes(_ context.Context, in *struct {
	QueueUrl   string //nolint:revive // the wire's name
	Attributes map[string]string
}) (any, error) {
	err := s.on(in.QueueUrl, func(q *queue, b *store.Batch, now time.Time) error {
		if kind, ok := in.Attributes["FifoQueue"]; ok && (kind == "true") != q.fifo {
			return invalidAttribute("FifoQueue")
		}

		changed := maps.Clone(q.Attributes)
		if changed == nil {
			changed = map[string]string{}
		}
		maps.Copy(changed, in.Attributes)

		if err := s.checkAttributes(changed, q.fifo); err != nil {
			return err
		}

		if changed["RedrivePolicy"] == "" {
			delete(changed, "RedrivePolicy")
		}
		q.Attributes, q.Modified, q.settings = changed, now.UnixMilli(), parse(changed)
		q.settle(b, q.Modified) // a shorter retention counts at once

		return q.store(b)
	})
	if err != nil {
		return nil, err
	}

	return empty, nil
}

func (s *Service) listQueues(_ context.Context, in *struct {
	QueueNamePrefix, NextToken string
	MaxResults                 int
}) (any, error) {
	last, err := base64.RawURLEncoding.DecodeString(in.NextToken)
	switch {
	case err != nil:
		return nil, invalidParameter("NextToken", in.NextToken, "Invalid token.")
	case in.MaxResults < 0 || in.MaxResults > 1000:
		return nil, invalidParameter("MaxResults", fmt.Sprint(in.MaxResults), "Must be from 1 to 1000.")
	}

	limit := in.MaxResults
	if limit == 0 {
		limit = 1000
	}
	out := struct {
		QueueUrls []string `json:",omitempty"`
		NextToken string   `json:",omitempty"`
	}{}
	err = s.change(func(*store.Batch) error {
		for _, name := range slices.Sorted(maps.Keys(s.queues)) {
			if !strings.HasPrefix(name, in.QueueNamePrefix) || name <= string(last) {
				continue
			}

			if len(out.QueueUrls) == limit {
				if in.MaxResults > 0 { // without it the service pages nothing
					_, previous, _ := strings.Cut(out.QueueUrls[limit-1], s.cfg.AccountID+"/")
					out.NextToken = base64.RawURLEncoding.EncodeToString([]byte(previous))
				}
				break
			}
			out.QueueUrls = append(out.QueueUrls, s.url(name))
		}

		return nil
	})

	return out, err
}

type queueRequest struct {
	QueueUrl string //nolint:revive // the wire's name
}

func (s *Service) deleteQueue(_ context.Context, in *queueRequest) (any, error) {
	err := s.on(in.QueueUrl, func(q *queue, b *store.Batch, _ time.Time) error {
		q.clear(b)
		ids := key(keyDedup, q.ID)
		b.DeleteRange(ids, store.PrefixEnd(ids))
		b.Delete(queueKey(q.Name))
		delete(s.queues, q.Name)
		q.wake() // who waits for messages learns that there is no queue

		return nil
	})
	if err != nil {
		return nil, err
	}

	return empty, nil
}

func (s *Service) purgeQueue(_ context.Context, in *queueRequest) (any, error) {
	err := s.on(in.QueueUrl, func(q *queue, b *store.Batch, _ time.Time) error {
		q.clear(b)
		return nil
	})
	if err != nil {
		return nil, err
	}

	return empty, nil
}

// clear takes all messages away; deduplication ids stay.
func (q *queue) clear(b *store.Batch) {
	for _, kind := range []byte{keyContent, keyState} {
		b.DeleteRange(key(kind, q.ID), store.PrefixEnd(key(kind, q.ID)))
	}

	for _, m := range q.messages {
		q.drop(m)
	}
}
