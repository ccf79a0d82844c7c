package model

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ratchet/embedded"
	"ratchet/embedded/embeddedtest"
	"ratchet/once"
	"ratchet/once/actions"
	"ratchet/once/inventory"
	"ratchet/once/ledger"
	"ratchet/payments"
	"ratchet/payments/sandbox"
	"ratchet/transitions"
)

type item = map[string]types.AttributeValue

// store is one engine with the tables of everything.
type store struct {
	engine *embedded.Engine
	db     *dynamodb.Client // without faults
	key    actions.Key
}

// callers are machines that play one program after the other, on a clock of their own. The
// sweeps go by the clock, so they have their own tables of stock, accounts, holds and payments.
type callers struct {
	*store
	slot     int
	playing  *program
	clock    *embeddedtest.Clock
	machines []*machine
}

// retentions are how long claims are kept: the configuration changes from call to call.
var retentions = []time.Duration{24 * time.Hour, 48 * time.Hour}

const orderTable, journalTable, requestsTable, businessTable = "orders", "order-events", "order-requests", "business"

func newStore(t *testing.T) *store {
	t.Helper()

	engine := embeddedtest.Open(t)
	s := &store{engine: engine, db: dynamodb.NewFromConfig(engine.AWSConfig()), key: actions.NewKey(1)}
	embeddedtest.Create(t, s.db, once.TableInput(businessTable), actions.TableInput("actions"),
		transitions.Mapping{}.OrdersTable(orderTable), transitions.JournalTable(journalTable), transitions.RequestsTable(requestsTable), sandbox.Table("charges"))

	return s
}

func ledgerTables(slot int) ledger.Tables {
	return ledger.Tables{
		Accounts: fmt.Sprint("accounts-", slot), Entries: fmt.Sprint("entries-", slot),
		Transfers: fmt.Sprint("transfers-", slot), Holds: fmt.Sprint("holds-", slot),
	}
}

func paymentTables(slot int) payments.Tables {
	return payments.Tables{Payments: fmt.Sprint("payments-", slot), Due: fmt.Sprint("payments-due-", slot)}
}

func claimsTable(slot int) string { return fmt.Sprint("once-", slot) }

func stockTable(slot int) string { return fmt.Sprint("stock-", slot) }

func dueTable(slot int) string { return fmt.Sprint("stock-due-", slot) }

// slot returns the callers of one slot.
func (s *store) slot(t *testing.T, slot int) *callers {
	t.Helper()

	embeddedtest.Create(t, s.db, once.TableInput(claimsTable(slot)), inventory.TableInput(stockTable(slot)), inventory.DueTableInput(dueTable(slot)))
	embeddedtest.Create(t, s.db, ledgerTables(slot).Inputs()...)
	embeddedtest.Create(t, s.db, paymentTables(slot).Inputs()...)

	c := &callers{store: s, slot: slot, clock: new(embeddedtest.Clock)}
	c.restart(t)

	return c
}

// restart gives the machines new processes, which have heard nothing.
func (c *callers) restart(t *testing.T) {
	t.Helper()

	c.machines = nil
	for _, skew := range skews {
		m, err := newMachine(c.store, c, skew)
		if err != nil {
			t.Error(err)
		}
		c.machines = append(c.machines, m)
	}
}

// machine is a caller: a clock that is off, and clients whose requests can be cut off.
type machine struct {
	clock *embeddedtest.Clock
	skew  atomic.Int64
	// era counts how often the clock was set.
	era atomic.Int64
	// heard is the era in which the parts that do not find that out have read something.
	heard int64

	claims   *once.Claims
	actions  *actions.Actions
	ledger   *ledger.Ledger
	payments *payments.Payments
	stock    *inventory.Stock
	// kept are the claims of each retention. The first are claims.
	kept      []*once.Claims
	keptHears []ears
	// orders are one for each of configurations, made when they are needed.
	orders     []*transitions.Orders
	orderHears []ears

	db        *dynamodb.Client
	transport *embeddedtest.Transport
	mu        sync.Mutex
	fuse      fuse
}

// fuse cuts a machine off.
type fuse struct {
	armed bool
	// left is how many requests are still carried out. If made is set, the answer of the
	// last of them is lost.
	left int
	made bool
	// once ends the fault with the first request that it strikes: a bad network and not a
	// crash.
	once   bool
	struck bool
	cancel context.CancelFunc
	// sets is before which request the clock is set, counted from 1, and to what. 0 is never.
	sets int
	skew time.Duration
}

func newMachine(s *store, c *callers, skew time.Duration) (*machine, error) {
	slot := c.slot
	cfg := s.engine.AWSConfig()
	// The client of an engine in the same process leaves out the steps that read the Date.
	cfg.APIOptions = nil
	m := &machine{clock: c.clock, transport: embeddedtest.Intercept(&cfg)}
	m.set(skew)
	m.heard = m.era.Load()
	cfg.Retryer = embeddedtest.RetryAtOnce
	m.transport.Around(m.carry)

	db := dynamodb.NewFromConfig(cfg)
	faults := make([]error, 6)
	for _, retention := range retentions {
		claims, err := once.New(once.Config{DynamoDB: db, Table: claimsTable(slot), Operation: "charge", Lease: time.Minute, Retention: retention,
			Reconcile: c.reconcile, Now: m.now})
		m.kept, faults[0] = append(m.kept, claims), errors.Join(faults[0], err)
	}
	m.claims = m.kept[0]
	m.actions, faults[1] = actions.New(actions.Config{DynamoDB: db, Table: "actions", Keys: []actions.Key{s.key}, Retention: 24 * time.Hour, Now: m.now})
	m.ledger, faults[2] = ledger.New(ledger.Config{DynamoDB: db, Tables: ledgerTables(slot), Now: m.now})
	bank, err := sandbox.New(sandbox.Config{DynamoDB: db, Table: "charges", TimeoutPercent: 20})

	faults[3] = err
	m.payments, faults[4] = payments.New(payments.Config{DynamoDB: db, Tables: paymentTables(slot), Ledger: m.ledger, Processor: bank, Now: m.now})
	m.stock, faults[5] = inventory.New(inventory.Config{DynamoDB: db, Table: stockTable(slot), DueTable: dueTable(slot), Now: m.now})
	m.db, m.orders = db, make([]*transitions.Orders, len(configurations))
	m.keptHears, m.orderHears = make([]ears, len(m.kept)), make([]ears, len(m.orders))

	return m, errors.Join(faults...)
}

// with returns the orders under a configuration.
func (m *machine) with(p *program, i int) *transitions.Orders {
	if m.orders[i] == nil {
		cfg := configurations[i].config()
		cfg.DynamoDB, cfg.Log, cfg.Now = m.db, embeddedtest.Quiet(), m.now

		orders, err := transitions.New(cfg)
		if err != nil {
			p.fail("configuration %d: %v", i, err)
		}
		m.orders[i] = orders
	}

	return m.orders[i]
}

// carry carries a request, as far as the fuse lets it. The answer has the service's time.
func (m *machine) carry(_ *embeddedtest.Call, send embeddedtest.Sender) (*http.Response, error) {
	lost, answerLost := m.strike()
	if lost {
		return nil, embeddedtest.ErrLost
	}

	response, err := send()
	if err != nil {
		return nil, err
	}

	if answerLost {
		_ = response.Body.Close()
		return nil, embeddedtest.ErrAnswerLost
	}
	response.Header.Set("Date", m.clock.Now().Format(http.TimeFormat))

	return response, nil
}

func (m *machine) strike() (lost, answerLost bool) {
	m.mu.Lock()
	defer m.mu.Unlock()

	f := &m.fuse
	if f.sets--; f.sets == 0 {
		m.set(f.skew)
	}

	switch {
	case !f.armed:
		return false, false
	case f.left > 1 || f.left == 1 && !f.made:
		f.left--
		return false, false
	}

	lost = f.left == 0
	f.left, f.struck = 0, true
	if f.once {
		f.armed = false
	} else {
		f.cancel()
	}

	return lost, !lost
}

// arm makes the machine fail, and returns the context of its call.
func (m *machine) arm(ctx context.Context, f fuse) context.Context {
	ctx, f.cancel = context.WithCancel(ctx)
	f.armed = true

	m.mu.Lock()
	defer m.mu.Unlock()
	m.fuse = f

	return ctx
}

// disarm mends the machine and reports whether the fault has struck.
func (m *machine) disarm() (struck bool) {
	m.mu.Lock()
	defer m.mu.Unlock()

	struck = m.fuse.struck
	m.fuse.cancel()
	m.fuse = fuse{}
	m.transport.Reset()

	return struck
}

// call makes a call that may crash, any number of times, on any machine, and is then made
// again, with no more than one lost request or answer. It returns the answer of the last
// one, which is the first that the caller could use.
func (p *program) call(name string, do func(ctx context.Context, m *machine) error) error {
	p.t.Helper()

	return p.callWith(name, func(f fuse) fuse { return f }, do)
}

// callSetting is call, and the machine's clock may be set during the call.
func (p *program) callSetting(name string, do func(ctx context.Context, m *machine) error) error {
	p.t.Helper()

	return p.callWith(name, p.setting, do)
}

func (p *program) callWith(name string, with func(fuse) fuse, do func(ctx context.Context, m *machine) error) error {
	p.t.Helper()
	p.counts.add(name)

	for crashes := 0; crashes < 3 && p.chance(25); crashes++ {
		m := p.machine()
		ctx := m.arm(p.t.Context(), with(fuse{left: p.roll(6), made: p.chance(50)}))

		err := do(ctx, m)
		struck := m.disarm()
		p.hear(m)

		if !struck {
			p.note("%s: %v", name, err)
			return err // it had ended before
		}
		p.note("%s: crashed: %v", name, err)
		p.counts.add("crash")
	}

	m := p.machine()
	ctx := m.arm(p.t.Context(), with(fuse{left: p.roll(8), made: p.chance(50), once: true}))

	err := do(ctx, m)
	m.disarm()
	p.hear(m)
	p.note("%s: %v", name, err)

	return err
}

// machine chooses a machine.
func (p *program) machine() *machine { return p.store.machines[p.roll(len(p.store.machines))] }

// deleteExpired deletes an item as TTL does, if it has expired.
func (p *program) deleteExpired(table, expiry string, key item) {
	p.t.Helper()

	now := strconv.FormatInt(p.store.clock.Now().Unix(), 10)
	out, err := p.store.db.DeleteItem(p.t.Context(), &dynamodb.DeleteItemInput{TableName: &table, Key: key, ReturnValues: types.ReturnValueAllOld,
		ConditionExpression: aws.String("attribute_exists(#e) AND #e < :now"), ExpressionAttributeNames: map[string]string{"#e": expiry},
		ExpressionAttributeValues: item{":now": &types.AttributeValueMemberN{Value: now}}})

	if kept := (*types.ConditionalCheckFailedException)(nil); errors.As(err, &kept) {
		return
	}

	if err != nil {
		p.fail("delete an item of %s: %v", table, err)
		return
	}

	if len(out.Attributes) > 0 {
		p.counts.add("deleted")
		p.note("deleted an item of %s", table)
	}
}
