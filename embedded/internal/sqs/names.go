package sqs

import (
	"context"
	"regexp"
	"strings"
	"sync"

	"ratchet/embedded/internal/wire"
)

// byURL finds a queue by the last part of its URL, as requests may name any host. The
// caller holds the lock.
func (s *Service) byURL(url string) (*queue, error) {
	if url == "" {
		return nil, missingParameter("QueueUrl")
	}

	// A name without a slash is taken as it is.
	q := s.queues[url[strings.LastIndexByte(url, '/')+1:]]
	if q == nil {
		return nil, queueDoesNotExist()
	}

	return q, nil
}

// byARN finds a queue of this service by its ARN; nil means that there is none. The
// caller holds the lock.
func (s *Service) byARN(arn string) *queue {
	name, ours := strings.CutPrefix(arn, s.arn(""))
	if !ours {
		return nil
	}

	return s.queues[name]
}

func (s *Service) arn(name string) string {
	return "arn:aws:sqs:" + s.cfg.Region + ":" + s.cfg.AccountID + ":" + name
}

// url returns the URL of a queue under the address that the caller has used.
func (s *Service) url(ctx context.Context, name string) string {
	return wire.Address(ctx) + "/" + s.cfg.AccountID + "/" + name
}

var nameRule = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z0-9_-]{1,80}$`) })

// checkName fails for a name that a queue of that kind cannot have.
// Source: https://docs.aws.amazon.com/AWSSimpleQueueService/latest/APIReference/API_CreateQueue.html
func checkName(name string, fifo bool) error {
	plain, suffixed := strings.CutSuffix(name, ".fifo")
	switch {
	case name == "":
		return missingParameter("QueueName")
	case len(name) > 80 || !nameRule().MatchString(plain) || suffixed != fifo:
		// Source: https://github.com/boto/botocore/issues/3058 (a standard queue), https://github.com/mapbox/cloudfriend/issues/94
		if fifo {
			return invalidText("The name of a FIFO queue can only include alphanumeric characters, hyphens, or underscores, " +
				"must end with .fifo suffix and be 1 to 80 in length.")
		}

		return invalidText("Can only include alphanumeric characters, hyphens, or underscores. 1 to 80 in length")
	}

	return nil
}
