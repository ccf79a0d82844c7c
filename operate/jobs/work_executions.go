package jobs

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"time"

	"ratchet/operate/executions"
	"ratchet/transitions"
)

// Executions is the work of [RedriveExecutions].
type Executions struct{ Executions *executions.Executions }

// The codes of executions that are not redriven.
const (
	CodeHealthy       = "execution_healthy"
	CodeNotRedrivable = "not_redrivable"
)

// Select implements [Work].
func (w Executions) Select(ctx context.Context, j Job, found func(Subject) error) error {
	f := executions.Filter{Error: j.Filter.Error, Since: j.Filter.Since, Until: j.Filter.Until}

	return w.Executions.Survey(ctx, time.Now(), f, func(p executions.Problem) error {
		if p.Kind != executions.Failed || !isOf(j.Tenant, string(p.OrderID)) {
			return nil
		}

		return found(failedExecution(string(p.Ref()), *p.Execution))
	}, nil)
}

func failedExecution(id string, x executions.Execution) Subject {
	s := Subject{ID: id, Mark: strconv.Itoa(x.Redrives) + " " + x.Name}

	switch {
	case !x.Failed():
		s.Code = CodeHealthy
	case x.NotRedrivable != "":
		s.Code = CodeNotRedrivable
	}

	return s
}

// Look implements [Work].
func (w Executions) Look(ctx context.Context, j Job, id string) (Subject, error) {
	x, exists, err := w.Executions.Current(ctx, transitions.OrderID(id))
	switch {
	case err != nil:
		return Subject{}, err
	case !exists || !isOf(j.Tenant, id):
		return Subject{ID: id, Code: CodeGone}, nil
	}

	return failedExecution(id, x), nil
}

// Act implements [Work].
func (w Executions) Act(ctx context.Context, _ Job, s Subject) (code string, err error) {
	redrives, name, _ := strings.Cut(s.Mark, " ")
	seen, _ := strconv.Atoi(redrives)

	_, err = w.Executions.RedriveFrom(ctx, transitions.OrderID(s.ID), name, seen)

	switch {
	case err == nil:
		return CodeDone, nil
	case errors.Is(err, executions.ErrHealthy):
		return CodeHealthy, nil
	case errors.Is(err, executions.ErrNotRedrivable):
		return CodeNotRedrivable, nil
	}

	return "", err
}

// isOf reports whether the stored id of an order belongs to the owner, "" for the default tenant.
func isOf(owner, id string) bool {
	tenant, _, prefixed := strings.Cut(id, ":")
	if !prefixed {
		return owner == ""
	}

	return tenant == owner
}
