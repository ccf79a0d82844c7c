package stepfunctions

import (
	"math/rand/v2"
	"strings"
	"time"

	"ratchet/embedded/internal/stepfunctions/execution"
)

// randomness is a rand.Source for many goroutines: it draws from the global generator.
type randomness struct{}

func (randomness) Uint64() uint64 { return rand.Uint64() } //nolint:gosec // jitter, MathRandom and UUID promise no secrecy

// env returns what a stimulus to the execution depends on.
func (s *Service) env(key executionKey, name string, rev *revision) *execution.Env {
	return &execution.Env{
		Machine: rev.program,
		Identity: func() execution.Identity {
			return execution.Identity{
				ARN:         s.executionARN(rev.Machine, name),
				RoleARN:     rev.RoleARN,
				MachineARN:  s.arn("stateMachine", rev.Machine),
				MachineName: rev.Machine,
			}
		},
		Now:            time.Now(),
		Random:         s.random,
		History:        history{s, key},
		ActivityExists: s.activityExists,
		Sequence:       func() uint64 { return s.queueOrder.Add(1) },
		NewSecret:      newSecret,
		Token: func(thread int64, secret [execution.TokenSize]byte) string {
			return taskToken{execution: key, thread: thread, secret: secret}.String()
		},
	}
}

func (s *Service) activityExists(arn string) bool {
	s.activitiesMu.RLock()
	defer s.activitiesMu.RUnlock()

	_, ok := s.activities[arn[strings.LastIndexByte(arn, ':')+1:]]

	return ok && strings.HasPrefix(arn, s.arn("activity", ""))
}
