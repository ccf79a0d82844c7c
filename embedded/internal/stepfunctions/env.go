package stepfunctions

import (
	"math/rand/v2"

	"ratchet/embedded/internal/stepfunctions/arns"
	"ratchet/embedded/internal/stepfunctions/asl"
	"ratchet/embedded/internal/stepfunctions/execution"
	"ratchet/embedded/internal/stepfunctions/keys"
	"ratchet/embedded/internal/stepfunctions/machines"
)

// randomness is a rand.Source for many goroutines: it draws from the global generator.
type randomness struct{}

func (randomness) Uint64() uint64 { return rand.Uint64() } //nolint:gosec // jitter, MathRandom and UUID promise no secrecy

// env returns the environment for a stimulus to the execution.
func (s *Service) env(key keys.Execution, st *execution.State, rev *machines.Revision) *execution.Env {
	env := s.envOf(key, rev)
	env.Identity = func() execution.Identity { return s.identity(st, rev) }

	if st.Child == nil {
		return env
	}

	// A child runs the item processor of its Map as its machine, and an
	// Express child has the limit of Express executions.
	d := rev.Program.States[st.Child.Map].Distributed
	if env.Machine = d.Child; d.Express {
		env.Limit = expressSeconds
	}

	return env
}

// identity returns the names and ARNs that the context object shows for an execution.
func (s *Service) identity(st *execution.State, rev *machines.Revision) execution.Identity {
	o, err := s.runs.Origin(rev.Machine, st)
	// The context object cannot fail: without its Map Run, the child gets the machine's names.
	if err != nil {
		s.log.Error("step functions: context object", "machine", rev.Machine, "execution", st.Name, "error", err)
	}

	i := execution.Identity{
		ARN:         s.runs.ExecutionARN(o, st.Name),
		RoleARN:     rev.RoleARN,
		MachineARN:  s.runs.MachineARN(o),
		MachineName: rev.Machine,
	}
	if o.Run != nil {
		i.MachineName = arns.Labeled(rev.Machine, o.Run.Label())
	}

	return i
}

// envOf returns the environment for a stimulus to an execution of the revision, without the identity.
func (s *Service) envOf(key keys.Execution, rev *machines.Revision) *execution.Env {
	env := &execution.Env{
		Machine:        rev.Program,
		Now:            s.cfg.Clock.Now(),
		Random:         s.random,
		History:        history{s, key},
		ActivityExists: s.activities.Exists,
		Sequence:       func() uint64 { return s.queueOrder.Add(1) },
		NewSecret:      newSecret,
		Token: func(thread int64, secret [execution.TokenSize]byte) string {
			return taskToken{execution: key, thread: thread, secret: secret}.String()
		},
	}
	if rev.Program.Distributed {
		env.NewRun = func(state *asl.State) (uint64, string, error) { return s.runs.NewName(rev.Machine, state) }
	}

	return env
}
