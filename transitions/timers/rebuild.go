package timers

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ratchet/internal/dynamo"
	"ratchet/transitions"
)

const (
	// parts is how many parts the table of orders is read in. A rebuild that goes on reads only the parts that were not
	// read to their end.
	parts = 64
	// partsAtOnce is how many parts are read at the same time.
	partsAtOnce = 4
)

// rebuiltKey is the key of the item that says for which definition the rows were built, and since when.
var rebuiltKey = dynamo.Item{"shard": dynamo.S("rebuilt"), "due": dynamo.S(kind)}

// Attributes of that item. A rebuild that has begun has a time and the parts that it has done.
const (
	builtFor  = "builtFor"
	builtAt   = "builtAt"
	begunFor  = "begunFor"
	begunAt   = "begunAt"
	doneParts = "doneParts"
)

// Rebuilt says what a rebuild has found.
type Rebuilt struct {
	// Orders is how many orders were read, Timers how many of them time will move, and Unreadable how many
	// cannot be read.
	Orders     int `json:"orders"`
	Timers     int `json:"timers"`
	Unreadable int `json:"unreadable"`
	// Resumed says that the rebuild has gone on where an earlier one ended, whose numbers are not counted.
	Resumed bool `json:"resumed,omitempty"`
}

// State says whether every order has its row.
type State struct {
	// Missing says why orders may lack their rows, "" if none does as far as the stream was handled.
	Missing string
	// Since is when the newest rebuild has begun: records that the stream has lost before it are made up for. Zero if
	// there was none.
	Since time.Time
}

// fingerprint names the timed transitions of the definition.
func (t *Timers) fingerprint() string {
	var text strings.Builder

	def := t.cfg.Orders.Definition()
	for _, state := range def.States() {
		for _, timed := range def.Timed(state.State) {
			fmt.Fprintf(&text, "%s %s %s %d %q\n", state.State, timed.Event, timed.To, timed.After.Delay, timed.After.Attribute)
		}
	}
	sum := sha256.Sum256([]byte(text.String()))

	return hex.EncodeToString(sum[:8])
}

// State reads whether the rows were built for the definition. It costs half a read unit, and a read of one order if they were never
// built.
func (t *Timers) State(ctx context.Context) (State, error) {
	out, err := t.cfg.DynamoDB.GetItem(ctx, &dynamodb.GetItemInput{TableName: &t.cfg.Table, Key: rebuiltKey})
	if err != nil {
		return State{}, fmt.Errorf("timers of orders: %w", err)
	}

	state := State{Since: dynamo.Time(out.Item, builtAt)}
	switch was := dynamo.Text(out.Item, builtFor); {
	case was == t.fingerprint():
		return state, nil
	case was != "":
		state.Missing = "the timed transitions of the definition have changed, and orders of before lack their due rows"
		return state, nil
	}

	if none, err := t.hasNoOrders(ctx); err != nil || none {
		return state, err
	}
	state.Missing = "orders that are older than the timed transitions lack their due rows"

	return state, nil
}

var errFound = errors.New("an order was found")

// hasNoOrders reports whether the table of orders is empty.
func (t *Timers) hasNoOrders(ctx context.Context) (bool, error) {
	one := dynamodb.ScanInput{Limit: aws.Int32(1)}
	err := t.cfg.Orders.Scan(ctx, transitions.Sweep{Segments: 1}, one, func(context.Context, *transitions.Order, error) error { return errFound })

	if errors.Is(err, errFound) {
		return false, nil
	}

	return err == nil, err
}

// otherDefinition stands for the definition of what was built before a worker of another definition ran.
const otherDefinition = "another"

// Begin notes that the rows are complete if there are no orders yet. If they were built for other timed transitions, it
// ends that, and a rebuild that is under way for these: the worker that calls it, now and then, writes no rows for
// them.
func (t *Timers) Begin(ctx context.Context) error {
	out, err := t.cfg.DynamoDB.GetItem(ctx, &dynamodb.GetItemInput{TableName: &t.cfg.Table, Key: rebuiltKey, ConsistentRead: aws.Bool(true)}, t.clock.Listen)
	if err != nil {
		return fmt.Errorf("timers of orders: %w", err)
	}

	if err := t.endOthers(ctx, out.Item); err != nil {
		return fmt.Errorf("timers of orders: %w", err)
	}

	if !t.cfg.Orders.HasTimers() || dynamo.Text(out.Item, builtFor) == t.fingerprint() {
		return nil
	}

	if none, err := t.hasNoOrders(ctx); err != nil || !none {
		return err
	}

	return t.store(ctx, t.builtSince(t.clock.Now()))
}

// endOthers ends what was built, or is being built, for another definition. The item is as it was read.
func (t *Timers) endOthers(ctx context.Context, item dynamo.Item) error {
	update, ends := dynamo.NewUpdate(t.cfg.Table, rebuiltKey), false

	for _, attribute := range []string{builtFor, begunFor} {
		of := dynamo.Text(item, attribute)
		if of == "" {
			update.IfAbsent(attribute)
			continue
		}
		update.IfEquals(attribute, dynamo.S(of))

		switch {
		case of == t.fingerprint() || of == otherDefinition:
		case attribute == builtFor:
			ends = true
			update.SetValue(builtFor, dynamo.S(otherDefinition))
		default:
			ends = true

			for _, begun := range []string{begunFor, begunAt, doneParts} {
				update.RemoveAttribute(begun)
			}
		}
	}

	if !ends {
		return nil
	}

	// If it has changed meanwhile, the next call ends that.
	err := t.store(ctx, update)
	if _, changed := dynamo.FailedCondition(err); changed {
		return nil
	}

	return err
}

func (t *Timers) store(ctx context.Context, update *dynamo.Update) error {
	_, err := t.cfg.DynamoDB.UpdateItem(ctx, update.Input())

	return err
}

// Rebuild writes the due row of every order. It reads the table of orders, and may run beside workers, and again; a call
// after one that was cut short goes on. progress, when set, is called with what was found so far.
func (t *Timers) Rebuild(ctx context.Context, progress func(Rebuilt)) (Rebuilt, error) {
	found, err := t.rebuild(ctx, progress)
	if err != nil {
		err = fmt.Errorf("rebuild the timers of orders: %w", err)
	}

	return found, err
}

func (t *Timers) rebuild(ctx context.Context, progress func(Rebuilt)) (found Rebuilt, err error) {
	began, done, err := t.begin(ctx)
	if err != nil {
		return found, err
	}
	found.Resumed = len(done) > 0

	var mu sync.Mutex // guards found
	sweep := transitions.Sweep{
		Segments: parts, AtOnce: partsAtOnce, Skip: done,
		Progress: func(int) {
			if progress != nil {
				mu.Lock()
				defer mu.Unlock()

				progress(found)
			}
		},
		Done: t.noteDone,
	}

	err = t.cfg.Orders.Scan(ctx, sweep, dynamodb.ScanInput{}, func(ctx context.Context, order *transitions.Order, unreadable error) error {
		has := false
		if unreadable == nil {
			row, timed := t.row(order)
			if has = timed; timed {
				if err := t.rows.Write(ctx, row); err != nil {
					return err
				}
			}
		}

		mu.Lock()
		defer mu.Unlock()

		switch found.Orders++; {
		case unreadable != nil:
			found.Unreadable++
		case has:
			found.Timers++
		}

		return nil
	})
	if err != nil {
		return found, err
	}

	return found, t.built(ctx, began)
}

// errOthers says that workers of another definition have handled changes during a rebuild.
var errOthers = errors.New("a worker whose definition has other timed transitions runs: run it again when all workers have this one")

// begin notes that a rebuild has begun, and returns when, and the parts that an earlier one for the same
// definition has done.
func (t *Timers) begin(ctx context.Context) (began time.Time, done map[int]bool, err error) {
	start := dynamo.NewUpdate(t.cfg.Table, rebuiltKey).
		If("attribute_not_exists(#"+begunFor+") OR #"+begunFor+" <> :of").Bind(":of", dynamo.S(t.fingerprint())).
		Set("#"+begunFor+" = :of").SetValue(begunAt, dynamo.Millis(t.clock.Now())).RemoveAttribute(doneParts)

	_, err = t.cfg.DynamoDB.UpdateItem(ctx, start.Input())
	if _, begun := dynamo.FailedCondition(err); err != nil && !begun {
		return began, nil, err
	}

	out, err := t.cfg.DynamoDB.GetItem(ctx, &dynamodb.GetItemInput{TableName: &t.cfg.Table, Key: rebuiltKey, ConsistentRead: aws.Bool(true)})
	if err != nil {
		return began, nil, err
	}

	return dynamo.Time(out.Item, begunAt), dynamo.Numbers(out.Item, doneParts), nil
}

// noteDone notes that a part was read to its end, unless a rebuild for another definition has begun since, to which
// the part says nothing.
func (t *Timers) noteDone(ctx context.Context, part int) error {
	update := dynamo.NewUpdate(t.cfg.Table, rebuiltKey).IfEquals(begunFor, dynamo.S(t.fingerprint())).
		Bind(":part", &types.AttributeValueMemberNS{Value: []string{strconv.Itoa(part)}}).Add("#" + doneParts + " :part")

	_, err := t.cfg.DynamoDB.UpdateItem(ctx, update.Input())
	if _, other := dynamo.FailedCondition(err); other {
		return nil
	}

	return err
}

// built notes that the rows are complete for the definition, unless a worker of another one has run meanwhile.
func (t *Timers) built(ctx context.Context, since time.Time) error {
	err := t.store(ctx, t.builtSince(since).IfEquals(begunFor, dynamo.S(t.fingerprint())))
	if _, failed := dynamo.FailedCondition(err); !failed {
		return err
	}

	// Another rebuild for the definition may have come to its end, or an earlier attempt of this write.
	out, err := t.cfg.DynamoDB.GetItem(ctx, &dynamodb.GetItemInput{TableName: &t.cfg.Table, Key: rebuiltKey, ConsistentRead: aws.Bool(true)})
	if err == nil && dynamo.Text(out.Item, builtFor) != t.fingerprint() {
		err = errOthers
	}

	return err
}

// builtSince is an update that notes that the rows are complete for the definition, but for records that the stream
// loses from then on.
func (t *Timers) builtSince(since time.Time) *dynamo.Update {
	update := dynamo.NewUpdate(t.cfg.Table, rebuiltKey).
		SetValue(builtFor, dynamo.S(t.fingerprint())).SetValue(builtAt, dynamo.Millis(since))

	for _, attribute := range []string{begunFor, begunAt, doneParts} {
		update.RemoveAttribute(attribute)
	}

	return update
}
