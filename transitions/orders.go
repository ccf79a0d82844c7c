package transitions

import (
	"context"
	"log/slog"
	"maps"

	"ratchet/internal/dynamo"
	"ratchet/once/txn"
	"ratchet/workflow"
)

// Orders applies transitions. It is safe for concurrent use.
type Orders struct {
	cfg          Config
	clock        *dynamo.Clock
	def          *workflow.Definition
	transactions *txn.Writer
	versions     versions
	sources      sources
	updates      updates

	journalBatches journalBatches
}

// New returns the orders of the configured tables. The error names every field of cfg
// that breaks a rule, or the event whose write would exceed a bound of DynamoDB's expressions.
func New(cfg Config) (*Orders, error) {
	cfg.setDefaults()

	if err := cfg.check(); err != nil {
		return nil, err
	}

	cfg.raw = cfg.DynamoDB

	if cfg.Events.Consumed != nil {
		// The client is wrapped before txn gets it, so that transactions are counted, too.
		cfg.DynamoDB = meteredClient{cfg.DynamoDB}
	}

	clock := &dynamo.Clock{Local: cfg.Now}
	cfg.DynamoDB = client{dynamo.Client{DB: cfg.DynamoDB, Clock: clock}, cfg.DynamoDB}

	if !cfg.Mapping.isDefault() {
		cfg.Mapping.Attributes = maps.Clone(cfg.Mapping.Attributes)
		cfg.DynamoDB = mapped{cfg.DynamoDB, cfg.Mapping, cfg.Table}
	}

	// One attempt: the loop of the call sends again (see run).
	transactions, err := txn.New(txn.Config{DynamoDB: cfg.DynamoDB, Attempts: 1, Clock: clock})
	if err != nil {
		return nil, err
	}

	versions := newVersions(cfg.Definition.Version(), cfg.Versions)

	o := &Orders{
		cfg:          cfg,
		clock:        clock,
		def:          cfg.Definition,
		transactions: transactions,
		versions:     versions,
		updates:      newUpdates(cfg.RequestsTable != ""),
	}
	o.journalBatches.table, o.journalBatches.clock = cfg.JournalTable, clock
	o.journalBatches.db, _ = cfg.raw.(statements)
	o.sources = newSources(len(cfg.Definition.States()), versions.condition, o.types())

	if err := o.checkExpressions(); err != nil {
		return nil, err
	}

	return o, nil
}

// Definition returns the definition of these orders.
func (o *Orders) Definition() *workflow.Definition { return o.def }

// Mapping returns how the orders stand in their table.
func (o *Orders) Mapping() Mapping { return o.cfg.Mapping }

// HasJournal reports whether a journal table is configured.
func (o *Orders) HasJournal() bool { return o.cfg.JournalTable != "" }

// begin calls Events.Begin for a request that is about to be decided.
func (o *Orders) begin(ctx context.Context, id OrderID, event workflow.Event, trace string) (context.Context, string, func(Result, error)) {
	if o.cfg.Events.Begin == nil {
		return ctx, trace, func(Result, error) {}
	}

	return o.cfg.Events.Begin(ctx, id, event, trace)
}

// report passes an answer to the events and the log.
func (o *Orders) report(ctx context.Context, m *meter, r Request, result Result) {
	v := result.Verdict
	o.reportConsumed(m, r.OrderID, v)
	o.reportRefusal(r.Event, r.Cause.Source, result.Order, v, result.Expected, result.Reason)

	if o.cfg.Events.Decided != nil {
		o.cfg.Events.Decided(r.OrderID, r.Event, v)
	}

	if !o.cfg.Log.Enabled(ctx, slog.LevelDebug) {
		return // spares the allocation of the arguments
	}

	id := r.TransitionID
	if v.Done() {
		id = result.Transition.ID // a request may leave it out
	}

	o.cfg.Log.DebugContext(ctx, "transition", "order", r.OrderID, "event", r.Event,
		"transition", id, "request", r.RequestID, "verdict", v)
}

// reportRefusal calls Events.Refused for an answer that changed nothing.
func (o *Orders) reportRefusal(event workflow.Event, source string, order *Order, v Verdict, expected []workflow.State, reason string) {
	if o.cfg.Events.Refused == nil {
		return
	}

	if r, refused := newRefusal(event, source, order, v, expected, reason); refused {
		o.cfg.Events.Refused(r)
	}
}
