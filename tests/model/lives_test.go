package model

import (
	"context"
	"errors"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"ratchet/transitions"
)

// mostLives keeps below the number of lives whose history an order finds.
const mostLives = 10

// renewOrder gives the order another life. It keeps its history and its content.
func renewOrder(p *program) {
	o := &p.orders
	if o.renewed == mostLives {
		return
	}
	order := o.get(p)
	o.renewed++

	i := p.configuration()
	_, err := p.callOrders("renew", i, nil, func(ctx context.Context, orders *transitions.Orders) error {
		_, err := orders.Renew(ctx, order)
		return err
	})
	now := o.get(p)
	if err != nil || now.Incarnation == order.Incarnation || len(now.LifeIDs()) < len(order.LifeIDs()) || now.PlacedLifeID() != order.PlacedLifeID() {
		p.fail("renew %s of the lives %v: %v, %v", o.id, order.LifeIDs(), now.LifeIDs(), err)
	}

	for _, m := range o.made {
		if now.LifeAt(m.id) != order.LifeAt(m.id) {
			p.fail("transition %d of %s has got another life: %s, before %s", m.id, o.id, now.LifeAt(m.id), order.LifeAt(m.id))
		}
	}
	o.changed(p)
}

// restoreOrder deletes the order, and restores it from its journal, which must be whole.
func restoreOrder(p *program) {
	o := &p.orders
	readStream(p)
	if slices.ContainsFunc(o.made, func(m made) bool { return m.row != stored }) {
		o.restoreNothing(p)
		return
	}

	if hasEarlyName(o.get(p)) {
		p.counts.add("an early name")
		return
	}

	if _, err := p.store.db.DeleteItem(p.t.Context(), &dynamodb.DeleteItemInput{TableName: aws.String(orderTable), Key: o.key()}); err != nil {
		p.fail("delete %s: %v", o.id, err)
	}
	o.journal.write(p, nil)

	i := p.journaling()
	_, err := p.callOrders("restore", i, nil, func(ctx context.Context, orders *transitions.Orders) error {
		_, err := orders.Restore(ctx, o.id, true)
		// A caller that has crashed has restored it.
		if errors.Is(err, transitions.ErrNothingToRestore) && o.item(p) != nil {
			err = nil
		}

		return err
	})
	if err != nil {
		p.fail("restore %s: %v", o.id, err)
	}

	o.content, o.kept = content{lost: true}, false
	o.changed(p)
}

// restoreNothing tries to restore an order that is not behind its journal.
func (o *orders) restoreNothing(p *program) {
	i := p.journaling()
	_, err := p.callOrders("restore", i, nil, func(ctx context.Context, orders *transitions.Orders) error {
		_, err := orders.Restore(ctx, o.id, true)
		return err
	})
	if !errors.Is(err, transitions.ErrNothingToRestore) && !errors.Is(err, transitions.ErrJournalBroken) {
		p.fail("restore %s, which is not behind its journal: %v", o.id, err)
	}
	o.changed(p)
}
