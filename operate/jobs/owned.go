package jobs

import (
	"context"
	"encoding/hex"
	"errors"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ratchet/internal/dynamo"
	"ratchet/internal/ids"
	"ratchet/internal/worker"
	"ratchet/operate/audit"
	"ratchet/transitions"
)

// owned is a job while this process owns it. job has the epoch of the owner, whose writes all depend on it.
type owned struct {
	r    *Runner
	turn *turn
	s    *Store
	work Work
	job  Job
	log  *slog.Logger

	mu    sync.Mutex
	asked State                   // what a person has asked for
	cut   context.CancelCauseFunc // of the selection that runs
}

func (o *owned) wanted() State {
	o.mu.Lock()
	defer o.mu.Unlock()

	return o.asked
}

// renew renews the lease on the job as it was taken until it ends, also while an act takes long. It notes what a person
// asks for.
func (o *owned) renew(lease context.Context, lose context.CancelCauseFunc, taken Job) {
	until := time.Now().Add(o.r.cfg.Lease)

	for worker.Wait(lease, min(renewEach, o.r.cfg.Lease/3)) {
		next := time.Now().Add(o.r.cfg.Lease) // by the monotonic clock of this machine
		j, err := o.s.apply(lease, o.s.ifEpoch(taken).SetValue(leaseName, dynamo.Millis(o.s.now().Add(o.r.cfg.Lease))))

		switch {
		case err == nil:
			until = next

			o.note(j.Wanted)
		case errors.Is(err, errLost), lease.Err() == nil && !time.Now().Before(until):
			lose(errLost)
			return
		}
	}
}

// note keeps what a person asks for, and cuts a selection short: nothing has happened yet.
func (o *owned) note(asked State) {
	o.mu.Lock()
	defer o.mu.Unlock()

	if o.asked = asked; asked != "" && o.cut != nil {
		o.cut(errWanted)
	}
}

// selecting returns the context of a selection.
func (o *owned) selecting(ctx, lease context.Context) (selection context.Context, done func()) {
	selection, cancel := context.WithCancelCause(lease)

	o.mu.Lock()
	o.cut = cancel
	o.mu.Unlock()

	// A selection, unlike an act, need not come to its end when the process is to stop.
	stop := context.AfterFunc(ctx, func() { cancel(context.Canceled) })

	return selection, func() {
		stop()
		cancel(nil)
	}
}

// renewEach is how soon an owner follows what a person asks for.
const renewEach = 2 * time.Second

// do selects the subjects, and acts on them.
func (o *owned) do(ctx, lease context.Context) error {
	if o.job.Wanted != "" {
		o.asked = o.job.Wanted
		return errWanted
	}

	if !o.job.Selected {
		if err := o.selectAll(ctx, lease); err != nil {
			return err
		}
	}

	if o.job.DryRun {
		return &endError{Done, ""}
	}

	return o.actOnAll(ctx, lease)
}

// mostPlace is how many bytes a sort key has at most.
const mostPlace = 1024

// fitted returns the place, or what stands for one that is too long for a key: its beginning, which orders it, and a digest.
func fitted(place string) string {
	if len(place) <= mostPlace {
		return place
	}
	sum := hex.EncodeToString(ids.Digest(place))

	return dynamo.Cut(place, mostPlace-len(sum)) + sum
}

// rowsEach is how many rows one transaction stores: with the job's item they are 25 parts.
const rowsEach = 24

// selectAll stores a row for each subject. After an interruption it begins again, and finds the rows that are
// there.
func (o *owned) selectAll(ctx, lease context.Context) error {
	var batch []Subject

	if o.job.DryRun {
		o.job.Total, o.job.Counts, o.job.Sample = 0, map[string]int{}, nil
	}

	add := func(subject Subject) error {
		if err := o.goOn(ctx, lease); err != nil {
			return err
		}

		if subject.Place == "" {
			subject.Place = subject.ID
		}
		subject.Place = fitted(subject.Place)

		if batch = append(batch, subject); len(batch) < rowsEach {
			return nil
		}

		full := batch
		batch = nil

		return o.store(lease, full)
	}

	selection, done := o.selecting(ctx, lease)
	defer done()

	err := o.selection(selection, add)
	if err != nil && selection.Err() != nil {
		err = context.Cause(selection)
	}

	if err == nil && len(batch) > 0 {
		err = o.store(lease, batch)
	}

	var end *endError
	if err != nil && !errors.Is(err, errLost) && !errors.Is(err, errWanted) && !errors.As(err, &end) && ctx.Err() == nil && !dynamo.Retryable(err) && !passing(err) {
		o.log.ErrorContext(ctx, "the subjects of a job cannot be selected", "error", err)
		return &endError{Paused, selectionFail}
	}

	if err != nil {
		return err
	}
	o.job.Selected = true

	return o.s.write(lease, types.TransactWriteItem{Update: o.progressed().Part()})
}

func (o *owned) selection(ctx context.Context, add func(Subject) error) error {
	if o.job.IDs == 0 {
		return o.work.Select(ctx, o.job, add)
	}

	found := 0

	err := o.s.ids(ctx, o.job.ID, func(id string) error {
		found++

		subject, err := o.work.Look(ctx, o.job, id)
		if err != nil {
			return err
		}

		return add(subject)
	})
	if err == nil && found != o.job.IDs {
		return &endError{Failed, rowsExpired}
	}

	return err
}

// progressed is the update that stores the progress of the job.
func (o *owned) progressed() *dynamo.Update {
	return o.s.ifEpoch(o.job).SetValue(progressName, dynamo.S(text(o.job.progress())))
}

// sampleSize is how many subjects the job itself keeps.
const sampleSize = 10

// show keeps a subject as an example, if there is room.
func (o *owned) show(id, code string) {
	if len(o.job.Sample) < sampleSize {
		o.job.Sample = append(slices.Clone(o.job.Sample), Shown{id, code})
	}
}

// store stores rows of subjects, or counts those of a dry run.
func (o *owned) store(ctx context.Context, subjects []Subject) error {
	if o.job.DryRun {
		for _, s := range subjects {
			code := s.Code
			if code == "" {
				code = codeSelected
			}

			o.count(code)
			o.job.Total++

			o.show(s.ID, code)
		}

		return o.s.write(ctx, types.TransactWriteItem{Update: o.progressed().Part()})
	}

	// A selection may name a subject twice, and a transaction takes no two writes of one row.
	seen := map[string]bool{}
	subjects = slices.DeleteFunc(subjects, func(s Subject) bool {
		twice := seen[s.Place]
		seen[s.Place] = true

		return twice
	})

	for len(subjects) > 0 {
		before := o.job.progress()
		before.Counts = maps.Clone(o.job.Counts)

		there, err := o.storeNew(ctx, subjects)
		if err != nil || len(there) > 0 {
			o.job.Total, o.job.Counts = before.Total, before.Counts
		}

		if err != nil || len(there) == 0 {
			return err
		}

		// Rows that were stored before.
		var rest []Subject
		for i, s := range subjects {
			if !there[i] {
				rest = append(rest, s)
			}
		}
		subjects = rest
	}

	return nil
}

func (o *owned) count(code string) { o.job.Counts[code]++ }

// The attributes of a row.
const (
	idName     = "id"
	markName   = "mark"
	resultName = "result"
)

func rowsOf(job string) string { return "rows#" + job }

// storeNew stores the rows in one transaction. If some exist, it stores none, and returns which.
func (o *owned) storeNew(ctx context.Context, subjects []Subject) (there map[int]bool, err error) {
	parts := make([]types.TransactWriteItem, 1, 1+len(subjects))
	expiry := dynamo.Seconds(o.job.CreatedAt.Add(o.s.cfg.Rows))
	there = map[int]bool{}

	for _, s := range subjects {
		item := o.s.key(rowsOf(o.job.ID), s.Place)
		item[idName], item[ExpiryAttribute] = dynamo.S(s.ID), expiry

		if s.Mark != "" {
			item[markName] = dynamo.S(s.Mark)
		}

		if s.Code != "" {
			item[resultName] = dynamo.S(s.Code)
			o.count(s.Code)
		}

		o.job.Total++
		parts = append(parts, types.TransactWriteItem{Put: o.s.putNew(item)})
	}

	if o.job.Total > mostSubjects {
		return nil, &endError{Failed, tooMany}
	}
	parts[0] = types.TransactWriteItem{Update: o.progressed().Part()}

	err = o.s.write(ctx, parts...)

	for i := range subjects {
		if _, exists := dynamo.FailedPart(err, 1+i); exists {
			there[i] = true
		}
	}

	if len(there) > 0 {
		return there, nil
	}

	return nil, err
}

// actOnAll acts on the subjects whose rows have no result, in the order of the rows.
func (o *owned) actOnAll(ctx, lease context.Context) error {
	failed := 0
	pause := time.Second / time.Duration(o.job.Rate)

	err := o.s.each(lease, rowsOf(o.job.ID), o.job.place, func(row dynamo.Item) error {
		if dynamo.Text(row, resultName) != "" {
			return nil
		}

		if err := o.goOn(ctx, lease); err != nil {
			return err
		}

		began := time.Now()
		subject := Subject{ID: dynamo.Text(row, idName), Place: dynamo.Text(row, placeKey), Mark: dynamo.Text(row, markName)}

		code, err := o.act(lease, subject)
		if err != nil {
			return err
		}

		if err := o.record(lease, subject, code); err != nil {
			return err
		}

		// Not one subject, but something that all of them need.
		if failed++; code != codeFailed {
			failed = 0
		}

		if failed == mostFailed {
			return &endError{Paused, actsFail}
		}
		worker.Wait(lease, pause-time.Since(began))

		return nil
	})
	if err != nil {
		return err
	}

	// A row that has expired was not acted on.
	if o.job.Results() != o.job.Total {
		return &endError{Failed, rowsExpired}
	}

	return &endError{Done, ""}
}

// mostFailed is how many acts in a row may end with errors before the job pauses itself.
const mostFailed = 5

// actTries is how often an act is tried that a service throttles.
const actTries = 5

var actBackoff = worker.Backoff{Base: 200 * time.Millisecond, Max: 5 * time.Second}

// act writes the act down, does it, and adds its result.
func (o *owned) act(ctx context.Context, subject Subject) (code string, err error) {
	act, err := o.r.cfg.Audit.Begin(ctx, audit.Entry{
		Who:     o.job.By,
		Via:     "job",
		Tenant:  o.job.Tenant,
		Act:     string(o.job.Kind),
		On:      subject.ID,
		Reason:  o.job.Reason,
		Request: o.job.ActID(subject.ID),
	})
	if err != nil {
		return "", err
	}

	err = worker.Retry(ctx, actBackoff, actTries, func() error {
		code, err = o.work.Act(ctx, o.job, subject)
		if err != nil && !dynamo.Retryable(err) && !transitions.Retryable(err) {
			return worker.Permanent(err)
		}

		return err
	})

	if err != nil {
		if ctx.Err() != nil {
			return "", context.Cause(ctx)
		}

		o.log.ErrorContext(ctx, "an act of a job has failed", "subject", subject.ID, "error", err)
		code = codeFailed
	}

	result, detail := audit.Refused, code
	switch code {
	case codeDone:
		result, detail = audit.Done, ""
	case codeFailed:
		result = audit.Failed
	}

	// The act has happened: a result that cannot be written down must not keep it from being counted.
	if err := act.End(ctx, result, detail); err != nil {
		o.log.WarnContext(ctx, "the result of an act cannot be written down", "subject", subject.ID, "error", err)
	}

	return code, nil
}

// record stores the result of a subject and the counts of the job in one transaction.
func (o *owned) record(ctx context.Context, subject Subject, code string) error {
	before, sample := maps.Clone(o.job.Counts), o.job.Sample
	o.count(code)
	o.job.place = subject.Place

	if code != codeDone {
		o.show(subject.ID, code)
	}

	row := dynamo.NewUpdate(o.s.cfg.Table, o.s.key(rowsOf(o.job.ID), subject.Place)).
		IfPresent(idName).IfAbsent(resultName).SetValue(resultName, dynamo.S(code))

	err := o.s.write(ctx, types.TransactWriteItem{Update: o.progressed().Part()}, types.TransactWriteItem{Update: row.Part()})

	if _, gone := dynamo.FailedPart(err, 1); gone {
		// The time to live has deleted the row meanwhile. The job notices at its end.
		o.job.Counts, o.job.Sample = before, sample
		return nil
	}

	return err
}

// follow comes to the state that a person has asked for. It returns errLost if that is not asked for any more.
func (o *owned) follow(ctx context.Context, to State) error {
	if to == "" {
		return errLost
	}

	_, err := o.s.settle(ctx, o.job, to, o.s.ifEpoch(o.job).IfEquals(wantedName, dynamo.S(string(to))))

	return err
}

// release ends the ownership, so that another process goes on.
func (o *owned) release(ctx context.Context) error {
	_, err := o.s.apply(ctx, o.s.ifEpoch(o.job).RemoveAttribute(ownerName).RemoveAttribute(leaseName))

	return err
}

// settle ends the ownership with a state. The progress is that of the last rows: what this process knows of it may be
// less, if the answer about some of them was lost.
func (o *owned) settle(ctx context.Context, to State, problem string) (Job, error) {
	update := o.s.ifEpoch(o.job)
	if problem != "" {
		update.SetValue(problemName, dynamo.S(problem))
	}

	return o.s.settle(ctx, o.job, to, update)
}
