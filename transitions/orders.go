package transitions

import (
	"context"
	"log/slog"

	"ratchet/txn"
	"ratchet/workflow"
)

// Orders applies transitions. It is safe for concurrent use.
type Orders struct {
	cfg          Config
	def          *workflow.Definition
	transactions *txn.Writer
	editable     []workflow.State
	versions     versions
	sources      sources
	updates      updates
}

// New returns the orders of the configured tables. The error names every field of cfg
// that breaks a rule.
func New(cfg Config) (*Orders, error) {
	cfg.setDefaults()

	if err := cfg.check(); err != nil {
		return nil, err
	}

	if cfg.Events.Consumed != nil {
		cfg.DynamoDB = meteredClient{cfg.DynamoDB}
	}

	transactions, err := txn.New(txn.Config{DynamoDB: cfg.DynamoDB, Attempts: min(cfg.Attempts, maxTransactionAttempts)})
	if err != nil {
		return nil, err
	}

	versions := newVersions(cfg.Definition.Version(), cfg.Versions)

	return &Orders{
		cfg:          cfg,
		def:          cfg.Definition,
		transactions: transactions,
		editable:     editableIn(cfg.Definition),
		versions:     versions,
		sources:      newSources(len(cfg.Definition.States()), versions.condition),
		updates:      newUpdates(cfg.RequestsTable != ""),
	}, nil
}

// Definition is what these orders may do.
func (o *Orders) Definition() *workflow.Definition { return o.def }

// HasJournal reports whether a journal table is configured.
func (o *Orders) HasJournal() bool { return o.cfg.JournalTable != "" }

// report tells the events and the log of a verdict.
func (o *Orders) report(ctx context.Context, m *meter, r Request, v Verdict) {
	o.reportConsumed(m, r.OrderID, v)

	if o.cfg.Events.Decided != nil {
		o.cfg.Events.Decided(r.OrderID, r.Event, v)
	}

	if !o.cfg.Log.Enabled(ctx, slog.LevelDebug) {
		return // spares the allocation of the arguments
	}

	o.cfg.Log.DebugContext(ctx, "transition", "order", r.OrderID, "event", r.Event,
		"transition", r.TransitionID, "request", r.RequestID, "verdict", v)
}
