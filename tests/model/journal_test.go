package model

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ratchet/transitions"
)

// journal is the way of an order's transitions into the journal: the stream of its item, whose reader comes
// now and then, and whose records end after a day.
type journal struct {
	image  item // as the newest record has left it
	unread []record
	last   *record // the newest record that was read
}

type record struct {
	old, new item
	at       time.Time
}

// row is what the journal has of a transition.
type row int

const (
	missing row = iota
	stored
	lost // a row says that it is lost
)

// trimmed is how long the stream keeps a record.
const trimmed = 24 * time.Hour

// write adds what was written to the stream.
func (j *journal) write(p *program, now item) {
	j.unread = append(j.unread, record{j.image, now, p.store.clock.Now()})
	j.image = now
}

// journaled looks for the transition with the index among those that the ring has forgotten, as long as no
// table proves it: the journal does, if its chain reaches far enough. An index of -1 is that of a request
// that was never applied.
func (o *orders) journaled(c configuration, i int) (*made, error) {
	upTo := o.forgotten()
	if c.requests != "" && o.kept {
		upTo = o.unkept
	}

	switch {
	case upTo == 0:
		return nil, nil
	case c.journal == unjournaled:
		return nil, transitions.ErrEvidenceGone
	case i >= 0 && o.made[i].row == stored:
		return &o.made[i], nil
	}

	gone := false
	for _, m := range o.made {
		if m.row == missing {
			return nil, transitions.ErrJournalBehind
		}

		if gone = gone || m.row == lost; m.id >= upTo {
			break
		}
	}

	if gone {
		return nil, transitions.ErrEvidenceGone
	}

	return nil, nil
}

// journaledID looks for an id that the ring has forgotten.
func (o *orders) journaledID(c configuration, id transitions.TransitionID) (*made, error) {
	if c.journal == unjournaled {
		return nil, transitions.ErrEvidenceGone
	}

	// The first row with the id or a later one decides.
	i := slices.IndexFunc(o.made, func(m made) bool { return m.id >= id && m.row != missing })
	switch {
	case i < 0:
		return nil, transitions.ErrJournalBehind
	case o.made[i].row == lost:
		return nil, transitions.ErrEvidenceGone
	case o.made[i].id == id:
		return &o.made[i], nil
	case i > 0 && o.made[i-1].id >= id:
		return nil, transitions.ErrJournalBehind
	}

	return nil, nil // it was skipped
}

// readStream lets the reader of the stream write the journal. It reads some records again.
func readStream(p *program) {
	o := &p.orders
	again := o.journal.last
	if again != nil && p.chance(30) {
		o.record(p, *again)
	}

	for len(o.journal.unread) > 0 && !p.t.Failed() {
		next := o.journal.unread[0]
		if o.journal.unread = o.journal.unread[1:]; p.store.clock.Now().Sub(next.at) > trimmed {
			p.counts.add("trimmed")
			continue
		}
		o.record(p, next)
		o.journal.last = &next
	}
}

// record writes the journal's row of a record.
func (o *orders) record(p *program, r record) {
	change, moved, err := transitions.Mapping{}.FromRecord(r.old, r.new)
	if err != nil || !moved {
		if err != nil {
			p.fail("the record of %s: %v", o.id, err)
		}

		return
	}

	err = p.call("record", func(ctx context.Context, m *machine) error { return m.with(p, p.journaling()).Record(ctx, change) })
	if err != nil {
		p.fail("record %+v: %v", change.Transition, err)
	}

	if m := o.byID(change.Transition.ID); m != nil {
		m.row = stored
	}
}

// journaling is a configuration with a journal.
func (p *program) journaling() int {
	for {
		if i := p.roll(len(configurations)); configurations[i].journal != unjournaled {
			return i
		}
	}
}

// closeJournal closes the chain of the journal where rows are lost. Records that can still be read are read
// before.
func closeJournal(p *program) {
	o := &p.orders
	readStream(p)

	for range len(o.made) + 1 {
		var wrote bool

		err := p.call("close the journal", func(ctx context.Context, m *machine) (err error) {
			wrote, err = m.with(p, p.journaling()).CloseJournal(ctx, o.journal.image)
			return err
		})
		if err != nil {
			p.fail("close the journal of %s: %v", o.id, err)
			return
		}

		if !wrote && !o.readLost(p) {
			o.checkClosed(p)
			return
		}
	}
	p.fail("the journal of %s has no end of gaps", o.id)
}

// checkClosed finds rows that are missing still, although nothing but the ring has their transitions.
func (o *orders) checkClosed(p *program) {
	for i := range o.made {
		if m := &o.made[i]; m.row == missing && !o.remembers(m) {
			p.fail("the journal of %s is closed, and lacks %+v", o.id, *m)
		}
	}
}

// readLost learns from the journal which rows are lost, and reports whether there are new ones. No row may
// be lost that was stored.
func (o *orders) readLost(p *program) (more bool) {
	rows := o.rows(p)
	from := 0
	for i := range o.made {
		m := &o.made[i]
		r, found := rows[m.id]
		switch {
		case !found:
			continue
		case r["lost"] == nil:
			from = i + 1
			continue
		}

		for ; from <= i; from++ {
			if o.made[from].row == stored {
				p.fail("the row of transition %d of %s was stored, and is lost", o.made[from].id, o.id)
			}

			if more = more || o.made[from].row == missing; more {
				p.counts.add("lost row")
			}
			o.made[from].row = lost
		}
	}

	return more
}

// rows reads the order's journal with plain reads.
func (o *orders) rows(p *program) map[transitions.TransitionID]item {
	out, err := p.store.db.Query(p.t.Context(), &dynamodb.QueryInput{
		TableName: aws.String(journalTable), KeyConditionExpression: aws.String("orderId = :id"), ConsistentRead: aws.Bool(true),
		ExpressionAttributeValues: item{":id": &types.AttributeValueMemberS{Value: string(o.id)}},
	})
	if err != nil || out.LastEvaluatedKey != nil {
		p.fail("read the journal of %s: %v", o.id, err)
		return nil
	}

	rows := map[transitions.TransitionID]item{}
	for _, r := range out.Items {
		var id transitions.TransitionID
		n, _ := r["transitionId"].(*types.AttributeValueMemberN)
		if _, err := fmt.Sscan(n.Value, &id); err != nil || rows[id] != nil {
			p.fail("the journal of %s has the id %s twice, or %v", o.id, n.Value, err)
		}
		rows[id] = r
	}

	return rows
}

// checkJournal compares the whole journal: each transition that was read or written with its row has one, and
// no others have.
func (o *orders) checkJournal(p *program) {
	rows, n := o.rows(p), 0
	for _, m := range o.made {
		r, found := rows[m.id]
		if found {
			n++
		}

		if event, _ := r["event"].(*types.AttributeValueMemberS); found != (m.row == stored) && m.row != lost ||
			m.row == stored && (event.Value != string(m.event) || (r["req"] != nil) != m.named) {
			p.fail("the journal's row of %+v of %s is %v", m, o.id, r)
		}
	}

	if n != len(rows) {
		p.fail("the journal of %s has %d rows, want %d", o.id, len(rows), n)
	}

	var facts transitions.Facts
	whole := !slices.ContainsFunc(o.made, func(m made) bool { return m.row == missing })
	err := facts.Rebuild(p.store.machines[1].with(p, 0).RowsOf(p.t.Context(), o.id, 0))
	if whole && (err != nil || facts.State != o.state || facts.TransitionID != o.at()) || err != nil && !errors.Is(err, transitions.ErrJournalBroken) {
		p.fail("the journal of %s proves %s at %d, %v; want %s at %d", o.id, facts.State, facts.TransitionID, err, o.state, o.at())
	}
}
