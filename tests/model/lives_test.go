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
	o.earlier = nil
	o.changed(p)
}

// snapshot is an order as it was.
type snapshot struct {
	image   item
	at      transitions.TransitionID
	content content
}

// restoreOrder takes the order back to an earlier time, or deletes it, and restores it from its journal, which
// must be whole. It keeps the content that it had at that time.
func restoreOrder(p *program) {
	o := &p.orders
	readStream(p)

	if slices.ContainsFunc(o.made, func(m made) bool { return m.row != stored }) {
		o.restoreNothing(p)
		return
	}

	o.takeBack(p)

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

	o.kept = false
	o.changed(p)
}

// takeBack takes the order back to an earlier time of its present life, or deletes it.
func (o *orders) takeBack(p *program) {
	earlier := slices.DeleteFunc(slices.Clone(o.earlier), func(s snapshot) bool { return s.at == o.at() })
	if len(earlier) == 0 || p.chance(50) {
		p.counts.add("lost order")

		_, err := p.store.db.DeleteItem(p.t.Context(), &dynamodb.DeleteItemInput{TableName: aws.String(orderTable), Key: o.key()})
		if err != nil {
			p.fail("delete %s: %v", o.id, err)
		}
		o.journal.write(p, nil)
		o.content, o.earlier = content{lost: true}, nil

		return
	}

	p.counts.add("order taken back")

	s := earlier[p.roll(len(earlier))]
	_, err := p.store.db.PutItem(p.t.Context(), &dynamodb.PutItemInput{TableName: aws.String(orderTable), Item: s.image})
	if err != nil {
		p.fail("take %s back to %d: %v", o.id, s.at, err)
	}
	o.journal.image, o.content, o.earlier = s.image, s.content, nil
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
