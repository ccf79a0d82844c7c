package lists

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"golang.org/x/sync/errgroup"

	"ratchet/internal/dynamo"
	"ratchet/transitions"
)

const (
	// parts is how many parts each of the two tables is read in. A rebuild that goes on reads only the
	// parts that were not read to their end.
	parts = 64
	// partsAtOnce is how many parts are read at the same time.
	partsAtOnce = 4
	// maxUnreadable is how many orders that cannot be read are named.
	maxUnreadable = 100
)

// readyRow exists once all orders that are older than the lists are listed.
var readyRow = row{"lists", "ready"}

// Attributes of readyRow. A rebuild that has begun has done the parts of the orders' table and of the
// lists' table.
const (
	doneOrders = "doneOrders"
	doneLists  = "doneLists"
	readyMark  = "ready"
	// misses counts the calls of Missed, so that a rebuild that one of them overtakes does not end.
	misses = "misses"
	// begunAt is when the first rebuild after a call of Missed has begun: nothing that the lists show is older.
	begunAt = "begunAt"
	// missedUntil is until when changes are missed, by the clock that is furthest ahead. No rebuild begins before.
	missedUntil = "missedUntil"
)

// clockMargin is how much the clocks of two workers may differ.
const clockMargin = time.Minute

// Rebuilt says what a rebuild has found.
type Rebuilt struct {
	// Orders is how many orders were read. Corrected is how many of them were listed as they are not, or
	// not at all.
	Orders, Corrected int
	// Gone is how many deleted orders were still listed. Rows is how many other rows showed an order that
	// they are not of.
	Gone, Rows int
	// Unreadable is how many orders cannot be read. They are not listed. Names are the first of them.
	Unreadable int
	Names      []transitions.OrderID
	// Resumed says that the rebuild has gone on where an earlier one ended, whose numbers are not counted.
	Resumed bool
}

// Ready reports whether the lists show all orders whose changes were handled. It is false
// until [Lists.Rebuild] has succeeded once, and after [Lists.Missed]. It costs half a read unit.
func (l *Lists) Ready(ctx context.Context) (bool, error) {
	item, err := l.get(ctx, readyRow, false)
	if err != nil {
		return false, fmt.Errorf("lists of orders: %w", err)
	}

	return dynamo.Flag(item, readyMark), nil
}

// Missed notes that the lists do not get changes of orders that are made until the time: they were lost in a
// gap of the stream, or a worker without lists handles them. The lists are not ready then until the next
// rebuild. If the time is still to come, no rebuild begins before it: such a worker may end at any moment, and
// calls Missed in time, with a later one, for as long as it runs. Missed does nothing if all that the lists show
// was read after the time.
func (l *Lists) Missed(ctx context.Context, until time.Time) error {
	err := errMissed
	if until.After(time.Now()) {
		err = l.miss(ctx, until, func(u *dynamo.Update) {
			u.If("(attribute_not_exists(#"+missedUntil+") OR #"+missedUntil+" < :until)").
				SetValue(missedUntil, dynamo.Millis(until.Add(clockMargin)))
		})
	}

	// Otherwise the row says already that no rebuild begins so early.
	if errors.Is(err, errMissed) {
		err = l.miss(ctx, until, func(u *dynamo.Update) { u.If("#" + begunAt + " < :until") })
	}

	if err != nil && !errors.Is(err, errMissed) {
		return fmt.Errorf("lists of orders: %w", err)
	}

	return nil
}

// miss takes back that the lists are ready, and the marks of a rebuild that is under way: it has read parts
// before the changes. It fails with errMissed if the condition is not met.
func (l *Lists) miss(ctx context.Context, until time.Time, condition func(*dynamo.Update)) error {
	update := dynamo.NewUpdate(l.cfg.Table, readyRow.key()).
		Bind(":until", dynamo.Millis(until.Add(clockMargin))).
		Bind(":one", dynamo.N(1)).Add("#" + misses + " :one").
		RemoveAttribute(readyMark).RemoveAttribute(begunAt).RemoveAttribute(doneOrders).RemoveAttribute(doneLists)
	condition(update)

	_, err := l.cfg.DynamoDB.UpdateItem(ctx, update.Input())
	if _, refused := dynamo.FailedCondition(err); refused {
		return errMissed
	}

	return err
}

// rebuild is the state of one call of Rebuild.
type rebuild struct {
	*Lists
	misses  int64 // at the begin
	isReady bool

	mu    sync.Mutex // guards found
	found Rebuilt
}

// Rebuild makes the lists show every order as it is, and nothing else, and then declares the lists
// ready. It reads both tables: a read of each order, and of each row of the lists with the head of its
// order. It may run beside [Lists.Record], and again; a call after one that was cut short goes on.
// Rebuild does not end at orders that cannot be read. progress, when set, is called with what was found
// so far.
func (l *Lists) Rebuild(ctx context.Context, progress func(Rebuilt)) (Rebuilt, error) {
	r := &rebuild{Lists: l}

	err := r.run(ctx, progress)
	if err != nil {
		err = fmt.Errorf("rebuild the lists of orders: %w", err)
	}

	return r.found, err
}

func (r *rebuild) run(ctx context.Context, progress func(Rebuilt)) error {
	orders, rows, err := r.begin(ctx)
	if err != nil {
		return err
	}

	if err := r.orders(ctx, partsAtOnce, orders, progress); err != nil {
		return err
	}

	group, groupCtx := errgroup.WithContext(ctx)
	group.SetLimit(partsAtOnce)

	for part := range parts {
		if !rows[part] {
			group.Go(func() error { return r.listed(groupCtx, part, progress) })
		}
	}

	if err := group.Wait(); err != nil {
		return err
	}

	return r.ready(ctx)
}

// begin reads which parts are done. The row is there from now on, so that Missed is not without effect.
func (r *rebuild) begin(ctx context.Context) (orders, rows map[int]bool, err error) {
	begin := dynamo.NewUpdate(r.cfg.Table, readyRow.key()).
		Alias("#"+missedUntil, missedUntil).
		If("(attribute_not_exists(#"+missedUntil+") OR #"+missedUntil+" < :now)").
		Bind(":none", dynamo.N(0)).Add("#"+misses+" :none").
		Bind(":now", dynamo.Millis(time.Now())).Set("#" + begunAt + " = if_not_exists(#" + begunAt + ", :now)")

	out, err := r.cfg.DynamoDB.UpdateItem(ctx, begin.Input())
	if now, missed := dynamo.FailedCondition(err); missed {
		return nil, nil, fmt.Errorf("%w, and after %s", errMissed, time.UnixMilli(dynamo.Number(now, missedUntil)).UTC().Format(time.RFC3339))
	}

	if err != nil {
		return nil, nil, err
	}
	item := out.Attributes
	r.misses, r.isReady = dynamo.Number(item, misses), dynamo.Flag(item, readyMark)

	orders, rows = dynamo.Numbers(item, doneOrders), dynamo.Numbers(item, doneLists)
	r.found.Resumed = len(orders)+len(rows) > 0

	return orders, rows, nil
}

// orders compares the parts of the orders' table with the lists, but for those to skip.
func (r *rebuild) orders(ctx context.Context, atOnce int, skip map[int]bool, progress func(Rebuilt)) error {
	sweep := transitions.Sweep{
		Segments: parts,
		AtOnce:   atOnce,
		Skip:     skip,
		Done:     func(ctx context.Context, part int) error { return r.note(ctx, doneOrders, part) },
		Progress: func(n int) { r.count(func(found *Rebuilt) { found.Orders = n }, progress) },
	}

	return r.cfg.Orders.Scan(ctx, sweep, dynamodb.ScanInput{}, r.order)
}

// ready is the last step, so that a rebuild that fails does not declare the lists ready. The next one begins from the
// start.
func (r *rebuild) ready(ctx context.Context) error {
	return r.mark(ctx, func(u *dynamo.Update) {
		u.SetValue(readyMark, dynamo.Bool(true)).RemoveAttribute(doneOrders).RemoveAttribute(doneLists)
	})
}

// Parts is how many parts [Lists.RebuildPart] has.
const Parts = 2*parts + 1

// ErrIncomplete says that the lists cannot be declared ready, because not all parts are done.
var ErrIncomplete = errors.New("not all parts of the lists are rebuilt since changes were missed")

// RebuildPart does one of the parts of [Lists.Rebuild], 0 to Parts-1. Called for each of them in order, it does the same as
// Rebuild; the last part declares the lists ready. A part that is done is not done again.
func (l *Lists) RebuildPart(ctx context.Context, part int) (Rebuilt, error) {
	r := &rebuild{Lists: l}

	err := r.part(ctx, part)
	if err != nil {
		err = fmt.Errorf("rebuild part %d of the lists of orders: %w", part, err)
	}

	return r.found, err
}

func (r *rebuild) part(ctx context.Context, part int) error {
	orders, rows, err := r.begin(ctx)

	switch {
	case err != nil:
		return err
	case part < parts:
		skip := map[int]bool{}
		for other := range parts {
			skip[other] = other != part || orders[part]
		}

		return r.orders(ctx, 1, skip, nil)
	case part < 2*parts:
		if rows[part-parts] {
			return nil
		}

		return r.listed(ctx, part-parts, nil)
	case len(orders) == parts && len(rows) == parts:
		return r.ready(ctx)
	case r.isReady:
		// Another rebuild has come to its end meanwhile, or this part is repeated.
		return nil
	}

	return ErrIncomplete
}

// mark changes readyRow, unless Missed was called since the begin: then what was read is outdated.
func (r *rebuild) mark(ctx context.Context, change func(*dynamo.Update)) error {
	update := dynamo.NewUpdate(r.cfg.Table, readyRow.key()).IfEquals(misses, dynamo.N(r.misses))
	change(update)

	_, err := r.cfg.DynamoDB.UpdateItem(ctx, update.Input())
	if _, missed := dynamo.FailedCondition(err); missed {
		return errMissed
	}

	return err
}

// errMissed says that Missed was called during a rebuild, or for a time that is still to come.
var errMissed = errors.New("a worker without lists has handled changes meanwhile: run it again when all workers keep lists")

// note stores that a part was read to its end.
func (r *rebuild) note(ctx context.Context, attribute string, part int) error {
	return r.mark(ctx, func(u *dynamo.Update) {
		u.Bind(":part", &types.AttributeValueMemberNS{Value: []string{strconv.Itoa(part)}}).Add("#" + attribute + " :part")
	})
}

func (r *rebuild) count(add func(*Rebuilt), progress func(Rebuilt)) {
	r.mu.Lock()
	defer r.mu.Unlock()

	if add(&r.found); progress != nil {
		progress(r.found)
	}
}

// order makes the lists show one order as it is.
func (r *rebuild) order(ctx context.Context, o *transitions.Order, err error) error {
	if err != nil {
		r.count(func(found *Rebuilt) {
			if found.Unreadable++; len(found.Names) < maxUnreadable {
				found.Names = append(found.Names, o.ID)
			}
		}, nil)

		return nil
	}

	shown, err := r.head(ctx, o.ID)
	// The usual case, without a second read of the order. Another head may be newer than the order that
	// was read.
	if err != nil || shown == headOf(o) {
		return err
	}

	corrected, gone, err := r.correct(ctx, o.ID)
	r.count(func(found *Rebuilt) {
		switch {
		case gone: // deleted since it was read
			found.Gone++
		case corrected:
			found.Corrected++
		}
	}, nil)

	return err
}

// correct makes the lists show the order as it is now, and not the rows to drop. It reports whether they
// did not, and whether they showed an order that is gone.
func (l *Lists) correct(ctx context.Context, id transitions.OrderID, drop ...row) (corrected, gone bool, err error) {
	err = l.race(ctx, id, func(shown head) error {
		o, exists, err := l.cfg.Orders.Get(ctx, id)
		switch {
		// Its rows stay: where it belongs is not known.
		case errors.Is(err, transitions.ErrUnreadable):
			corrected, gone = false, false
			return nil
		case err != nil:
			return err
		}

		next := shown // of an order that is gone
		if exists {
			next = headOf(o)
		}
		others := slices.DeleteFunc(slices.Clone(drop), func(r row) bool { return slices.Contains(next.rows(), r) })
		gone = !exists && len(shown.rows()) > 0

		switch {
		case exists && shown == next && len(others) == 0, !exists && !gone && len(drop) == 0:
			corrected = false
			return nil
		case exists:
			corrected = true
			return l.replace(ctx, o, shown, others...)
		}
		corrected = true

		return l.bury(ctx, id, shown, shown, drop...)
	})

	return corrected && err == nil, gone && err == nil, err
}

// listed corrects what one part of the lists' table shows.
func (r *rebuild) listed(ctx context.Context, part int, progress func(Rebuilt)) error {
	in := &dynamodb.ScanInput{
		TableName:      &r.cfg.Table,
		ConsistentRead: aws.Bool(true),
		Segment:        aws.Int32(int32(part)),
		TotalSegments:  aws.Int32(parts),
	}

	for pages := dynamodb.NewScanPaginator(r.cfg.DynamoDB, in); pages.HasMorePages(); {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return err
		}

		for _, item := range page.Items {
			if err := r.listedRow(ctx, row{dynamo.Text(item, listAttribute), dynamo.Text(item, placeAttribute)}); err != nil {
				return err
			}
		}
		r.count(func(*Rebuilt) {}, progress)
	}

	return r.note(ctx, doneLists, part)
}

// listedRow corrects what one row shows.
func (r *rebuild) listedRow(ctx context.Context, is row) error {
	if is == readyRow {
		return nil
	}

	id, isHead := strings.CutPrefix(is.list, headRow("").list)
	if isHead && is.place == headRow("").place {
		return r.listedHead(ctx, transitions.OrderID(id))
	}

	order := orderAt(is.place)
	shown, err := r.head(ctx, order)
	if err != nil || slices.Contains(shown.rows(), is) {
		return err
	}

	// A page is older than the head: the row may have left with a change of the head, which another part or
	// Record has made.
	if item, err := r.get(ctx, is, true); err != nil || item == nil {
		return err
	}

	corrected, gone, err := r.correct(ctx, order, is)
	r.count(func(found *Rebuilt) {
		if corrected {
			found.Rows++
		}

		if gone {
			found.Gone++
		}
	}, nil)

	return err
}

// listedHead buries a head whose order is gone. The heads of the others were compared with their orders.
func (r *rebuild) listedHead(ctx context.Context, id transitions.OrderID) error {
	shown, err := r.head(ctx, id)
	if err != nil || shown.isTombstone() || shown.transition == 0 {
		return err
	}

	if _, exists, err := r.cfg.Orders.Get(ctx, id); exists || errors.Is(err, transitions.ErrUnreadable) || err != nil {
		if errors.Is(err, transitions.ErrUnreadable) {
			err = nil
		}

		return err
	}

	_, gone, err := r.correct(ctx, id)
	if gone {
		r.count(func(found *Rebuilt) { found.Gone++ }, nil)
	}

	return err
}
