package server

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ratchet/once/ledger"
	"ratchet/operate/processes"
	"ratchet/operate/restored"
	"ratchet/payments/reconcile"
	"ratchet/shipping"
	"ratchet/streams/leases"
	"ratchet/transitions"
)

var (
	// ErrRunning refuses a repair of restored tables while processes run.
	ErrRunning = errors.New("processes run")
	// ErrMoney refuses a repair of restored tables whose tables of money contradict each other.
	ErrMoney = errors.New("the tables of payments and of the ledger are not of one moment")
)

// Restoration says how tables that were restored to earlier times are made to fit together.
type Restoration struct {
	// Earliest is the earliest of the times to which the tables were restored.
	Earliest time.Time
	DryRun   bool
	// Progress, when set, is called with the number of orders that a step has read.
	Progress func(orders int)
}

// Restored is what [Backend.Restored] has done, or would do.
type Restored struct {
	// Earliest is that of the Restoration. Began is when its first call began.
	Earliest time.Time `json:"earliest"`
	Began    time.Time `json:"began"`
	DryRun   bool      `json:"dryRun,omitempty"`
	// Tables has what was created or switched on.
	Tables []string `json:"tables,omitempty"`
	// Leases are the rows about former streams that were removed.
	Leases int `json:"leases"`
	// Money is how often the tables of money contradict each other. The repair is refused then.
	Money int `json:"money"`
	restored.Report
}

// reactionsBefore is how long before the earliest moment a change may have been made whose reactions were
// still to come: a stream keeps its records for a day.
const reactionsBefore = 24 * time.Hour

// Restored makes tables fit together that were restored to earlier times, each to a moment of its own, as
// package restored describes. The tables of payments and of the ledger must be of one moment. It may be
// stopped and repeated with the same Earliest. It fails with [ErrRunning] while processes run, and with
// [ErrMoney].
func (b *Backend) Restored(ctx context.Context, r Restoration) (Restored, error) {
	done := Restored{Earliest: r.Earliest.UTC(), Began: time.Now().UTC(), DryRun: r.DryRun}

	steps := []func(context.Context, Restoration, *Restored) error{
		b.checkNothingRuns, b.completeTables, b.beginRestoration, b.dropLeases, b.checkMoney, b.repairOrders, b.rebuildIndexes, b.endRestoration,
	}
	for _, step := range steps {
		if err := step(ctx, r, &done); err != nil {
			return done, err
		}
	}

	return done, nil
}

func (b *Backend) checkNothingRuns(ctx context.Context, r Restoration, _ *Restored) error {
	all, err := b.Processes.Check(ctx)

	var missing *types.ResourceNotFoundException
	if errors.As(err, &missing) {
		return nil // it is created by the next step
	}

	if err != nil {
		return err
	}

	// An engine alone writes nothing by itself.
	all = slices.DeleteFunc(all, func(p processes.Process) bool {
		return p.State != processes.Live && p.State != processes.Unknown || len(p.Versions) == 0
	})
	if len(all) > 0 && !r.DryRun {
		return fmt.Errorf("%w: stop %s, and what else writes", ErrRunning, strings.Join(processes.Names(all), ", "))
	}

	return nil
}

// completeTables creates the tables that were not restored, and switches on what a restored table lacks.
func (b *Backend) completeTables(ctx context.Context, r Restoration, done *Restored) error {
	for _, spec := range b.tables() {
		lacks, err := b.lacksOf(ctx, spec)
		if err != nil {
			return err
		}
		done.Tables = append(done.Tables, lacks...)
	}

	if r.DryRun {
		return nil
	}

	if err := b.CreateTables(ctx); err != nil {
		return err
	}

	for _, spec := range b.tables() {
		if err := b.enableStream(ctx, spec); err != nil {
			return err
		}
	}

	return nil
}

// lacksOf says what [Backend.completeTables] does to a table.
func (b *Backend) lacksOf(ctx context.Context, spec tableSpec) (all []string, err error) {
	all, err = b.differencesOf(ctx, spec)
	if err != nil || spec.expiryAttribute == "" {
		return all, err
	}

	name := aws.ToString(spec.input.TableName)
	now, err := b.DynamoDB.DescribeTimeToLive(ctx, &dynamodb.DescribeTimeToLiveInput{TableName: &name})

	var missing *types.ResourceNotFoundException
	if errors.As(err, &missing) {
		return all, nil // which is one of the differences
	}

	if err != nil {
		return nil, fmt.Errorf("time to live of %s: %w", name, err)
	}

	if d := now.TimeToLiveDescription; d == nil || d.AttributeName == nil {
		all = append(all, "time to live of table "+name)
	}

	return all, nil
}

func hasStream(table *types.TableDescription) bool {
	return table.StreamSpecification != nil && aws.ToBool(table.StreamSpecification.StreamEnabled)
}

// enableStream switches on the stream of a table that has none: a restored table comes without it.
func (b *Backend) enableStream(ctx context.Context, spec tableSpec) error {
	name := spec.input.TableName
	if spec.input.StreamSpecification == nil {
		return nil
	}

	is, err := b.DynamoDB.DescribeTable(ctx, &dynamodb.DescribeTableInput{TableName: name})
	if err == nil && !hasStream(is.Table) {
		_, err = b.DynamoDB.UpdateTable(ctx, &dynamodb.UpdateTableInput{TableName: name, StreamSpecification: spec.input.StreamSpecification})
	}

	if err != nil {
		return fmt.Errorf("stream of table %s: %w", aws.ToString(name), err)
	}

	return dynamodb.NewTableExistsWaiter(b.DynamoDB, func(o *dynamodb.TableExistsWaiterOptions) { o.MinDelay = time.Second }).
		Wait(ctx, &dynamodb.DescribeTableInput{TableName: name}, tableWait)
}

// restorationNote is the name of the note of a restoration.
const restorationNote = "restored"

// restoration is the note: a repeat goes on with the time at which the first call began.
type restoration struct {
	Earliest time.Time `json:"earliest"`
	Began    time.Time `json:"began"`
	Ended    bool      `json:"ended,omitempty"`
}

// beginRestoration takes the time of an earlier call that was stopped, or notes when this one began.
func (b *Backend) beginRestoration(ctx context.Context, r Restoration, done *Restored) error {
	// By the time of the service, like the lives of orders, with which it is compared.
	life, err := b.Orders.NewIncarnation(ctx)

	text := ""
	if err == nil {
		done.Began = life.Began()
		text, err = b.Processes.Note(ctx, restorationNote)
	}

	var missing *types.ResourceNotFoundException
	if errors.As(err, &missing) && r.DryRun {
		return nil
	}

	if err != nil {
		return err
	}

	var known restoration
	if text != "" && json.Unmarshal([]byte(text), &known) == nil && known.Earliest.Equal(done.Earliest) && !known.Ended {
		done.Began = known.Began
		return nil
	}

	if r.DryRun {
		return nil
	}

	return b.noteRestoration(ctx, text, restoration{Earliest: done.Earliest, Began: done.Began})
}

func (b *Backend) endRestoration(ctx context.Context, r Restoration, done *Restored) error {
	if r.DryRun {
		return nil
	}

	text, err := b.Processes.Note(ctx, restorationNote)
	if err != nil {
		return err
	}

	return b.noteRestoration(ctx, text, restoration{Earliest: done.Earliest, Began: done.Began, Ended: true})
}

func (b *Backend) noteRestoration(ctx context.Context, seen string, next restoration) error {
	text, err := json.Marshal(next)
	if err != nil {
		return err
	}

	return b.Processes.ReplaceNote(ctx, restorationNote, seen, string(text))
}

// dropLeases removes what the table of leases says of streams that the orders' table does not have any more. Pauses of
// handlers, which stand with the retry queues, stay.
func (b *Backend) dropLeases(ctx context.Context, r Restoration, done *Restored) error {
	now, err := b.streamARN(ctx)

	var missing *types.ResourceNotFoundException
	if r.DryRun && (err != nil || now == "") || errors.As(err, &missing) {
		return nil
	}

	if err != nil {
		return err
	}

	pages := dynamodb.NewScanPaginator(b.DynamoDB, &dynamodb.ScanInput{TableName: &b.Tables.Leases, ConsistentRead: aws.Bool(true)})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if errors.As(err, &missing) && r.DryRun {
			return nil
		}

		if err != nil {
			return fmt.Errorf("read the leases: %w", err)
		}

		for _, row := range page.Items {
			if leases.IsAbout(row, now) {
				continue
			}
			done.Leases++

			if r.DryRun {
				continue
			}

			if _, err := b.DynamoDB.DeleteItem(ctx, &dynamodb.DeleteItemInput{TableName: &b.Tables.Leases, Key: leases.KeyOf(row)}); err != nil {
				return fmt.Errorf("remove a lease: %w", err)
			}
		}
	}

	return nil
}

// checkMoney verifies the ledger, and the payments against it. Nothing can be said of money that its tables contradict.
func (b *Backend) checkMoney(ctx context.Context, r Restoration, done *Restored) error {
	first := ledger.Finding{}

	proof, err := b.Ledger.Verify(ctx, func(f ledger.Finding) error {
		if first.Kind == "" {
			first = f
		}

		return nil
	}, nil)

	payments := 0
	if err == nil {
		payments, err = b.checkPayments(ctx, func(m reconcile.Mismatch) {
			if first.Kind == "" {
				first = ledger.Finding{Kind: string(m.Reason), Transfer: m.Key, Detail: m.Here}
			}
		})
	}

	var missing *types.ResourceNotFoundException
	if errors.As(err, &missing) && r.DryRun {
		return nil
	}

	if err != nil {
		return err
	}

	if done.Money = proof.Findings + payments; done.Money > 0 && !r.DryRun {
		return fmt.Errorf("%w: %d contradictions, the first is %s %s%s: %s; restore %s to one second in which no payment was made, or mend what `ratchet ledger verify` lists",
			ErrMoney, done.Money, first.Kind, first.Account, first.Transfer, first.Detail, strings.Join(b.moneyTables(), ", "))
	}

	return nil
}

// checkPayments calls found with every step of a payment that its transfer contradicts, and returns how many there are. The
// processor's own list is not there, so it is an empty file.
func (b *Backend) checkPayments(ctx context.Context, found func(reconcile.Mismatch)) (n int, err error) {
	const header = "key,kind,amount,currency,state\n"

	_, err = reconcile.Run(ctx, strings.NewReader(header), reconcile.Config{Payments: b.Payments, Ledger: b.Ledger}, func(m reconcile.Mismatch) error {
		if m.Reason == reconcile.OtherLedger {
			n++
			found(m)
		}

		return nil
	})

	return n, err
}

// moneyTables are the tables that are written in common transactions with money.
func (b *Backend) moneyTables() []string {
	l := b.Tables.Ledger

	return []string{b.Tables.Payments, b.Tables.PaymentsDue, l.Accounts, l.Entries, l.Transfers, l.Holds}
}

func (b *Backend) repairOrders(ctx context.Context, r Restoration, done *Restored) error {
	changes := b.Rebuild(b.Handlers(), "")
	changes.Name, changes.Restart, changes.Repeat = restorationNote, true, true
	changes.Since = done.Earliest.Add(-reactionsBefore)
	changes.Expand = b.Expander(Repair{FromJournal: true, CloseJournal: !r.DryRun})

	cfg := restored.Config{
		Orders:     b.Orders,
		Deliveries: b.Deliveries,
		Executions: b.Executions,
		Queue:      b.RetryQueue(),
		Handlers:   b.EveryHandlerName(),
		Changes:    changes,
		Began:      done.Began,
		DryRun:     r.DryRun,
		Sweep:      transitions.Sweep{Segments: 4, Progress: r.Progress},
	}
	if !b.flow.own {
		cfg.Shop = &restored.Shop{Payments: b.Payments, Ledger: b.Ledger, Stock: b.Stock, Reports: b.Reports}
		cfg.Shop.Asker, _ = b.carrier.(shipping.Asker)
	}

	repair, err := restored.New(cfg)
	if err != nil {
		return err
	}

	done.Report, err = repair.Run(ctx)

	return err
}

// rebuildIndexes writes what follows from the orders and from the requests for later.
func (b *Backend) rebuildIndexes(ctx context.Context, r Restoration, _ *Restored) error {
	if r.DryRun {
		return nil
	}

	if _, err := b.RebuildDueRows(ctx, nil, nil); err != nil {
		return err
	}

	if b.Lists == nil {
		return nil
	}

	if err := b.Lists.Missed(ctx, time.Now()); err != nil {
		return err
	}
	_, err := b.Lists.Rebuild(ctx, nil)

	return err
}
