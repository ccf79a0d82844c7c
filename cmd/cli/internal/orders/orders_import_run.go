package orders

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/spf13/cobra"

	"ratchet/cmd/cli/internal/arguments"
	"ratchet/cmd/cli/internal/exit"
	"ratchet/cmd/cli/internal/settings"
	"ratchet/cmd/cli/internal/terminal"
	"ratchet/internal/plural"
	"ratchet/operate/executions"
	"ratchet/server"
	"ratchet/transitions"
	"ratchet/workflow"
)

// importRun brings orders here and counts them. Its methods may be called at the same time.
type importRun struct {
	backend *server.Backend
	command *cobra.Command
	json    bool
	start   bool // the executions, too
	show    func(string, ...any)

	mu     sync.Mutex
	states map[workflow.State]int // of the orders that were brought in
	importReport
}

// importReport is the result of a run.
type importReport struct {
	Read     int `json:"read"`
	Imported int `json:"imported"`
	// Already were here with the same content and state.
	Already int `json:"already"`
	Refused int `json:"refused"`
	// BadLines hold no order.
	BadLines int                    `json:"badLines,omitempty"`
	Started  int                    `json:"executionsStarted,omitempty"`
	States   map[workflow.State]int `json:"states,omitempty"`
	DryRun   bool                   `json:"dryRun,omitempty"`
}

// refusedImport is an order that was not brought in, or a line that holds none.
type refusedImport struct {
	Line    int                 `json:"line,omitempty"`
	OrderID transitions.OrderID `json:"orderId,omitempty"`
	Reason  string              `json:"reason"`
}

func newImportRun(c *cobra.Command, s *settings.Settings, b *server.Backend, dryRun, start bool) *importRun {
	return &importRun{
		backend: b, command: c, json: s.JSON, start: start, show: s.Progress.Print, states: map[workflow.State]int{},
		importReport: importReport{DryRun: dryRun},
	}
}

// answered counts the answer to an order. It returns an error that ends the run: the order is fine, and the same
// command may be repeated.
func (r *importRun) answered(ctx context.Context, line int, id transitions.OrderID, state workflow.State, result transitions.Result, err error) error {
	switch {
	case err != nil && isAboutOrder(err):
		return r.refused(line, id, reasonOf(err))
	case err != nil:
		return err
	}

	started := false
	if result.Verdict.Done() && r.start && !r.DryRun && !r.backend.Orders.Definition().Settled(result.Order.State) {
		var failed *executions.FailedError

		switch _, err := r.backend.Executions.StartPlaced(ctx, id); {
		case errors.As(err, &failed):
			return r.refused(line, id, "imported, and not started: "+err.Error())
		case err != nil:
			return fmt.Errorf("start the execution of order %s: %w", id, err)
		}
		started = true
	}

	r.mu.Lock()
	defer r.mu.Unlock()

	if started {
		r.Started++
	}

	switch result.Verdict {
	case transitions.Applied:
		r.Imported++
		r.states[state]++
	case transitions.Replayed:
		r.Already++
	default:
		return r.refuse(line, id, cmp.Or(result.Reason, result.Verdict.String()))
	}
	r.count()

	return nil
}

// isAboutOrder reports whether the error says that this order cannot be brought in, and not that nothing can.
func isAboutOrder(err error) bool {
	return slices.ContainsFunc([]error{
		transitions.ErrInvalidRequest, transitions.ErrUnreadable, transitions.ErrUnknownVersion, transitions.ErrOrderFull, transitions.ErrJournalAhead,
	}, func(of error) bool { return errors.Is(err, of) })
}

// reasonOf returns the text of the error without the request that it is about: the line names the order.
func reasonOf(err error) string {
	if of := (*transitions.Error)(nil); errors.As(err, &of) {
		err = of.Err
	}

	return strings.TrimPrefix(err.Error(), transitions.ErrInvalidRequest.Error()+": ")
}

func (r *importRun) refused(line int, id transitions.OrderID, reason string) error {
	r.mu.Lock()
	defer r.mu.Unlock()

	return r.refuse(line, id, reason)
}

// refuse counts and prints a refusal. The caller holds the lock.
func (r *importRun) refuse(line int, id transitions.OrderID, reason string) error {
	r.Refused++
	r.count()

	return r.print(refusedImport{line, id, reason})
}

func (r *importRun) badLine(line int, err error) error {
	r.mu.Lock()
	defer r.mu.Unlock()

	r.BadLines++

	return r.print(refusedImport{Line: line, Reason: err.Error()})
}

func (r *importRun) count() {
	r.Read++
	r.show("%s read, %d imported, %d here already, %d refused", plural.Of(r.Read, "order"), r.Imported, r.Already, r.Refused)
}

// scanned shows how many items were read of the table.
func (r *importRun) scanned(items int) {
	r.mu.Lock()
	defer r.mu.Unlock()

	r.show("%s read, %d imported, %d refused", plural.Of(items, "item"), r.Imported, r.Refused)
}

func (r *importRun) print(l refusedImport) error {
	out := r.command.OutOrStdout()
	if r.json {
		return terminal.PrintJSON(out, l)
	}

	where := ""
	if l.Line > 0 {
		where = fmt.Sprintf("line %d: ", l.Line)
	}

	if l.OrderID != "" {
		where += fmt.Sprintf("order %s: ", terminal.OneLine(string(l.OrderID)))
	}
	_, err := fmt.Fprintf(out, "%s%s\n", where, terminal.OneLine(l.Reason))

	return err
}

// adopt brings in an order of the table.
func (r *importRun) adopt(ctx context.Context, order *transitions.Order, err error) error {
	if err != nil {
		return r.refused(0, order.ID, reasonOf(err))
	}

	if r.DryRun {
		if def := r.backend.Orders.Definition(); !def.HasState(order.State) {
			return r.refused(0, order.ID, fmt.Sprintf("state %q: the definition %s has no such state", order.State, def.Name()))
		}

		return r.answered(ctx, 0, order.ID, order.State, transitions.Result{Verdict: transitions.Applied, Order: order}, nil)
	}

	result, err := r.backend.Orders.Adopt(ctx, order, arguments.CliCause())

	return r.answered(ctx, 0, order.ID, order.State, result, err)
}

// finish prints what was done, also if an error has ended the run.
func (r *importRun) finish(err error) error {
	out := r.command.OutOrStdout()
	r.States = r.states

	if r.json {
		err = errors.Join(err, terminal.PrintJSON(out, r.importReport))
	} else {
		err = errors.Join(err, r.summary(out))
	}

	switch {
	case err != nil && r.Imported > 0 && !r.DryRun:
		return fmt.Errorf("%w; to go on, repeat the command: what was imported is here", err)
	case err != nil:
		return err
	case r.BadLines > 0:
		return exit.With(exit.Usage, nil)
	case r.Refused > 0:
		return exit.With(exit.Refused, nil)
	}

	return nil
}

func (r *importRun) summary(out io.Writer) error {
	verb := "imported"
	if r.DryRun {
		verb = "would be imported"
	}

	_, err := fmt.Fprintf(out, "%s read: %d %s, %d here already, %d refused\n", plural.Of(r.Read, "order"), r.Imported, verb, r.Already, r.Refused)
	for _, state := range slices.Sorted(maps.Keys(r.states)) {
		_, failed := fmt.Fprintf(out, "  %s: %d\n", state, r.states[state])
		err = errors.Join(err, failed)
	}

	for _, more := range []struct {
		n    int
		text string
	}{{r.BadLines, plural.Of(r.BadLines, "line") + " could not be read"}, {r.Started, plural.Of(r.Started, "execution") + " started, or started before"}} {
		if more.n > 0 {
			_, failed := fmt.Fprintln(out, more.text)
			err = errors.Join(err, failed)
		}
	}

	return err
}
