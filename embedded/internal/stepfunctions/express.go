package stepfunctions

import (
	"context"
	"encoding/json"
	"fmt"

	"golang.org/x/sync/errgroup"

	"ratchet/embedded/internal/stepfunctions/execution"
	"ratchet/embedded/internal/stepfunctions/keys"
	"ratchet/embedded/internal/stepfunctions/machines"
	"ratchet/embedded/internal/stepfunctions/requests"
	"ratchet/embedded/internal/stepfunctions/waiting"
)

// expressSeconds is the longest time of an Express execution. expressAtATime is how many asynchronous
// Express executions the engine runs side by side; further ones wait.
// Source: https://docs.aws.amazon.com/step-functions/latest/dg/service-quotas.html
const (
	expressSeconds = 300
	expressAtATime = 1000
)

// expressQueue is the name of the queue of Express executions that wait to run. No activity has this ARN.
const expressQueue = "express"

// expressRecord is an asynchronous Express execution that has not ended. It is
// stored from StartExecution's answer until the execution has ended. An execution
// that a stop interrupts runs again from its start.
// Source: https://docs.aws.amazon.com/step-functions/latest/dg/choosing-workflow-type.html
type expressRecord struct {
	Machine  string `json:"machine"`
	Revision uint64 `json:"revision"`
	Name     string `json:"name"`
	Run      string `json:"run"`
	Input    string `json:"input"`
}

// startExpress stores an Express execution and queues it. Names need not be unique. The caller
// holds the machine.
func (s *Service) startExpress(t machines.Target, name string, input []byte) (*startAnswer, error) {
	id, err := s.ids.Next()
	if err != nil {
		return nil, err
	}

	k := keys.Execution{Machine: t.Machine.ID, ID: id}
	// Run is stored, so that the ARN stays the same when a crash makes the execution run again.
	record := expressRecord{Machine: t.Machine.Name, Revision: t.Revision, Name: name, Run: s.newName(), Input: string(input)}
	started := requests.Stamp(s.cfg.Clock.Now().UnixMilli())

	// The record is on disk before the execution is queued: from here on the execution
	// runs at least once.
	if err := keys.Store(s.db, k.Express(), record); err != nil {
		return nil, err
	}

	s.queueExpress(k)

	return &startAnswer{s.account.Express(record.Machine, name, record.Run), started}, nil
}

func (s *Service) queueExpress(k keys.Execution) {
	s.queues.Of(expressQueue).Put(waiting.Placed{Task: waiting.Task{Execution: k}, Order: int64(k.ID)})
}

// recoverExpress queues the Express executions that have not ended.
func (s *Service) recoverExpress() error {
	return keys.Each(s.db, keys.Express, func(k, _ []byte) (bool, error) {
		s.queueExpress(keys.ExecutionAt(k))
		return true, nil
	})
}

// runExpresses runs Express executions until ctx ends.
func (s *Service) runExpresses(ctx context.Context) error {
	var g errgroup.Group
	g.SetLimit(expressAtATime)

	for {
		task, ok := s.queues.Of(expressQueue).Take(ctx)
		if !ok {
			return g.Wait()
		}

		// At the limit, Go blocks, and further executions stay in the queue.
		g.Go(func() error {
			if err := s.runExpress(ctx, task.Execution); err != nil && ctx.Err() == nil {
				s.log.Error("step functions: express execution", "machine", task.Execution.Machine,
					"execution", task.Execution.ID, "error", err)
			}

			return nil
		})
	}
}

// runExpress runs one asynchronous execution to its end and forgets it. After an error its
// record stays, and it runs again when the engine is opened.
func (s *Service) runExpress(ctx context.Context, k keys.Execution) error {
	text, ok, err := s.db.Get(k.Express())
	// Without a record, the execution was deleted with its machine.
	if err != nil || !ok {
		return err
	}

	var record expressRecord
	if err := json.Unmarshal(text, &record); err != nil {
		return fmt.Errorf("read the record: %w", err)
	}

	rev, err := s.machines.Revision(k.Machine, record.Revision)
	if err != nil {
		return err
	}

	m := s.newExpress(rev, record.Name, record.Run, false)
	if err := m.start(ctx, []byte(record.Input)); err != nil {
		return err
	}

	s.log.Debug("step functions: express execution has ended", "execution", s.account.Express(record.Machine, record.Name, record.Run),
		"status", m.state.Status.String(), "error", m.state.Error, "cause", m.state.Cause)

	// The record is deleted only after the end: a crash before this point lets the
	// execution run again.
	b := s.db.NewBatch()
	b.Delete(k.Express())

	if err := b.Commit(); err != nil {
		return fmt.Errorf("remove the record: %w", err)
	}

	return nil
}

// newExpress returns an Express execution that has not started.
func (s *Service) newExpress(rev *machines.Revision, name, run string, sync bool) *memory {
	// The zero key: nothing is stored under it, newMemory replaces the history that would use it, and
	// Express machines have no task tokens.
	env := s.envOf(keys.Execution{}, rev)
	identity := s.identity(&execution.State{Name: name}, rev)
	identity.ARN, identity.NoRedrives = s.account.Express(rev.Machine, name, run), sync
	env.Identity = func() execution.Identity { return identity }
	env.Limit = expressSeconds

	return s.newMemory(env, name)
}

// start runs an execution from its start to its end.
func (m *memory) start(ctx context.Context, input []byte) error {
	m.env.Life = ctx

	_, err := m.apply(m.s.cfg.Clock.Now(), func(e *execution.Env, st *execution.State) (*execution.Turn, error) { return e.Start(st, input) })
	if err != nil {
		return err
	}

	return m.run(ctx)
}

// startSync runs an Express execution while the caller waits. The execution
// runs at most once, because nothing of it is stored.
// Source: https://docs.aws.amazon.com/step-functions/latest/apireference/API_StartSyncExecution.html
func (s *Service) startSync(ctx context.Context, in *struct{ StateMachineArn, Name, Input, IncludedData, TraceHeader string }) (any, error) {
	if err := requests.CheckIncluded(in.IncludedData); err != nil {
		return nil, err
	}

	if err := checkTrace(in.TraceHeader); err != nil {
		return nil, err
	}

	name, input, err := s.startParameters(in.Name, in.Input)
	if err != nil {
		return nil, err
	}

	// The machine is not held: a deletion has nothing of this execution to remove.
	t, err := s.machines.Target(in.StateMachineArn)
	switch {
	case err != nil:
		return nil, err
	case t.Machine.Deleting:
		return nil, machines.Deleting(in.StateMachineArn)
	case !t.Machine.Express:
		return nil, machines.WrongType()
	}

	rev, err := s.machines.Revision(t.Machine.ID, t.Revision)
	if err != nil {
		return nil, err
	}

	run := s.newName()

	m := s.newExpress(rev, name, run, true)
	if err := m.start(ctx, input); err != nil {
		return nil, err
	}

	answer := m.answerSync(in.IncludedData != requests.MetadataOnly, input)
	answer["executionArn"] = s.account.Express(rev.Machine, name, run)
	answer["stateMachineArn"] = s.account.ARN("stateMachine", rev.Machine)
	answer["name"] = name

	return answer, nil
}

// Express executions are billed in steps of duration and memory.
// Source: https://aws.amazon.com/step-functions/pricing/
const (
	billedStep   = 100 // ms
	billedMemory = 64  // MB
)

// answerSync returns the members of StartSyncExecution's answer that tell how the execution
// has ended.
func (m *memory) answerSync(data bool, input []byte) map[string]any {
	st := m.state
	steps := max(1, (st.Stopped-st.Started+billedStep-1)/billedStep)
	answer := map[string]any{
		"status":         st.Status.String(),
		"startDate":      requests.Stamp(st.Started),
		"stopDate":       requests.Stamp(st.Stopped),
		"inputDetails":   dataDetails{data},
		"outputDetails":  dataDetails{data},
		"billingDetails": map[string]int64{"billedDurationInMilliseconds": steps * billedStep, "billedMemoryUsedInMB": billedMemory},
	}

	// A timeout of the whole execution records no error, but the answer has one.
	if st.Status == execution.TimedOut {
		answer["error"] = "States.Timeout"
	}

	if st.Error != "" {
		answer["error"] = st.Error
	}

	if st.Cause != "" {
		answer["cause"] = st.Cause
	}

	if !data {
		return answer
	}

	answer["input"] = string(input)
	if st.Status == execution.Succeeded {
		// The documents are in memory, and the state keeps its output's turn there.
		output, _ := m.Document(st.Output)
		answer["output"] = string(output)
	}

	return answer
}
