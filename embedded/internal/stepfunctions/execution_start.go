package stepfunctions

import (
	"context"
	"encoding/binary"
	"fmt"
	"hash/fnv"

	"ratchet/embedded/internal/stepfunctions/arns"
	"ratchet/embedded/internal/stepfunctions/execution"
	"ratchet/embedded/internal/stepfunctions/keys"
	"ratchet/embedded/internal/stepfunctions/machines"
	"ratchet/embedded/internal/stepfunctions/mapruns"
	"ratchet/embedded/internal/stepfunctions/rawjson"
	"ratchet/embedded/internal/stepfunctions/requests"
	"ratchet/embedded/internal/store"
	"ratchet/embedded/internal/wire"
)

// startExecution starts an execution. A name starts once. A second start with the same
// input while the execution runs returns the same answer; any other fails with
// ExecutionAlreadyExists, also long after the execution has ended.
// Source: https://docs.aws.amazon.com/step-functions/latest/apireference/API_StartExecution.html
func (s *Service) startExecution(ctx context.Context, body []byte) (any, error) {
	in, err := requests.Texts(body, "stateMachineArn", "name", "input", "traceHeader")
	if err != nil {
		return nil, err
	}

	// An absent input means {}, an empty one is an error.
	// Source: LocalStack's recordings of AWS (test_invalid_start_execution_input).
	if given, ok := rawjson.Member(body, "input"); ok && in[2] == "" && rawjson.KindOf(given) == rawjson.String {
		return nil, wire.Errorf("InvalidExecutionInput", "Invalid State Machine Execution Input: '%s'", rawjson.InputFault(nil))
	}

	if err := checkTrace(in[3]); err != nil {
		return nil, err
	}

	name, input, err := s.startParameters(in[1], in[2])
	if err != nil {
		return nil, err
	}

	answer, sync, err := s.start(ctx, in[0], name, input)
	if err != nil {
		return nil, err
	}

	// The sync comes after start has released the machine and its locks, so that
	// concurrent starts share one flush of the disk.
	return answer, sync()
}

// checkTrace checks a trace header, which has no effect.
func checkTrace(header string) error { return requests.AtMost(header, "traceHeader", 256) }

// startAnswer is the answer of StartExecution.
type startAnswer struct {
	ExecutionArn string         `json:"executionArn"`
	StartDate    requests.Stamp `json:"startDate"`
}

// startParameters checks the name and the input of an execution and returns them with their
// defaults.
func (s *Service) startParameters(name, text string) (string, []byte, error) {
	input := []byte(text)
	if len(input) == 0 {
		input = []byte("{}")
	}

	if len(input) > execution.MaxDocument {
		return "", nil, requests.Invalid("1 validation error detected: Value at 'input' failed to satisfy constraint: "+
			"Member must have length less than or equal to %d", execution.MaxDocument)
	}

	if err := rawjson.Valid(input); err != nil {
		return "", nil, wire.Errorf("InvalidExecutionInput", "Invalid State Machine Execution Input: '%s'", rawjson.InputFault(input))
	}

	if name == "" {
		return s.newName(), input, nil
	}

	return name, input, arns.CheckName(name)
}

// newName returns a name in the form of a random UUID.
func (s *Service) newName() string {
	hi, lo := s.random.Uint64(), s.random.Uint64()
	return fmt.Sprintf("%08x-%04x-4%03x-8%03x-%012x", hi>>32, hi>>16&0xffff, hi&0xfff, lo>>48&0xfff, lo&(1<<48-1))
}

// start stores a new execution, or finds the execution with that name. It returns the answer, and a
// function that makes the answer durable.
func (s *Service) start(ctx context.Context, arn, name string, input []byte) (answer *startAnswer, sync func() error, err error) {
	t, err := s.machines.Target(arn)
	if err != nil {
		return nil, nil, err
	}

	// From the look-up above to the first turn, the machine must not be deleted.
	release, held := s.machines.Hold(t.Machine)
	if !held {
		return nil, nil, machines.Deleting(arn)
	}
	defer release()

	if t.Machine.Express {
		answer, err = s.startExpress(t, name, input)
		// startExpress has committed its record, so nothing is left to sync.
		return answer, func() error { return nil }, err
	}

	batch, started, err := s.startStandard(ctx, t, name, input)
	switch {
	case err != nil:
		return nil, nil, err
	// It runs already. This answer must be as durable as the first one.
	case batch == nil:
		sync = s.db.Barrier
	default:
		sync = batch.Sync
	}

	return &startAnswer{s.account.Execution(t.Machine.Name, name), requests.Stamp(started)}, sync, nil
}

// startStandard stores a new execution of a Standard machine. If an execution with that name exists, the
// batch is nil. The caller holds the machine.
func (s *Service) startStandard(ctx context.Context, t machines.Target, name string, input []byte) (*store.Batch, int64, error) {
	m := t.Machine

	rev, err := s.machines.Revision(m.ID, t.Revision)
	if err != nil {
		return nil, 0, err
	}

	// One start at a time looks up the name and takes it. Names that share a lock only wait longer.
	named := keys.ExecutionName(m.ID, name)
	hash := fnv.New64a()
	_, _ = hash.Write(named)
	lock := &s.nameLocks[hash.Sum64()%lockStripes]
	lock.Lock()
	defer lock.Unlock()

	id, taken, err := s.db.Get(named)
	if err != nil {
		return nil, 0, fmt.Errorf("look up execution %s: %w", name, err)
	}

	if taken {
		started, err := s.answerStarted(keys.Execution{Machine: m.ID, ID: binary.BigEndian.Uint64(id)}, m.Name, name, input)
		return nil, started, err
	}

	// A number that an error below wastes is never used again. Gaps do no harm.
	next, err := s.ids.Next()
	if err != nil {
		return nil, 0, err
	}

	st := &execution.State{Name: name, Revision: rev.ID, Version: t.Version, Alias: t.Alias}

	first := &mapruns.First{Named: named, Value: binary.BigEndian.AppendUint64(nil, next)}

	return s.storeFirstTurn(ctx, keys.Execution{Machine: m.ID, ID: next}, first, st, rev, input)
}

// storeFirstTurn runs and stores the execution's first turn.
func (s *Service) storeFirstTurn(
	ctx context.Context, key keys.Execution, first *mapruns.First, st *execution.State, rev *machines.Revision, input []byte,
) (*store.Batch, int64, error) {
	// storeTurn makes tasks and timers visible before it returns, so workers
	// may come at once. They wait for this lock.
	lock := s.lock(key)
	lock.Lock()
	defer lock.Unlock()

	env := s.env(key, st, rev)
	env.Life = ctx

	turn, err := env.Start(st, input)
	if err != nil {
		return nil, 0, err
	}

	batch, err := s.storeTurn(key, nil, st, execution.AppendState(nil, st), turn, first)

	return batch, st.Started, err
}

// answerStarted answers the start of a name that is taken.
func (s *Service) answerStarted(key keys.Execution, machine, name string, input []byte) (int64, error) {
	_, st, err := s.loadExecution(key)
	if err != nil {
		return 0, err
	}

	first, err := history{s, key}.Document(execution.Ref{Chunk: 1, ID: 1})
	if err != nil {
		return 0, err
	}

	// The inputs are compared as texts: other white space is another input.
	if st.Status == execution.Running && string(first) == string(input) {
		return st.Started, nil
	}

	return 0, wire.Errorf("ExecutionAlreadyExists", "Execution Already Exists: '%s'", s.account.Execution(machine, name))
}
