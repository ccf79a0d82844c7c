package api

import (
	"context"
	"strings"
	"time"

	"ratchet/api/auth"
	"ratchet/notify"
	"ratchet/operate/inspect"
)

// moment is one line of an order's time line.
type moment struct {
	At   time.Time `json:"at"`
	Kind string    `json:"kind" enum:"transition,execution,task,delivery,dead letter,effect,refusal"`
	What string    `json:"what" personal:"text" doc:"What has happened, in words."`
	Next string    `json:"next,omitempty" doc:"What brings the order on from here. Absent if nothing has to be done."`
}

// timeline returns the time line of an explanation as the caller may see it, and the names of the parts
// that could not be read. The reasons are for the log: they name tables and permissions.
func (s *service) timeline(ctx context.Context, c caller, e inspect.Explanation) (moments []moment, effects []due, incomplete []string) {
	found, waiting, unread := e.Timeline(ctx, s.definition(), s.around(c))

	moments = make([]moment, len(found))
	for i, m := range found {
		moments[i] = moment{At: m.At, Kind: string(m.Kind), What: c.tenant.ownWords(m.What), Next: c.tenant.ownWords(m.Next)}
	}

	effects = make([]due, len(waiting))
	for i, d := range waiting {
		effects[i] = due{
			d.Handler, d.Report, c.tenant.ownWords(d.Payment), c.tenant.ownWords(d.What), c.tenant.ownWords(d.Error), d.Attempts,
			optionalTime(d.Since), optionalTime(d.NextTry), optionalTime(d.PausedAt), c.tenant.ownWords(d.Next),
		}
	}

	for _, u := range unread {
		s.cfg.Log.WarnContext(ctx, "a time line is incomplete", "order", e.Order.ID, "what", u.What, "error", u.Err)
		incomplete = append(incomplete, u.What)
	}

	return moments, effects, incomplete
}

// around returns the sources that the caller may see beside an order's transitions. Tasks, deliveries and
// dead letters are for administrators, as are their lists.
func (s *service) around(c caller) inspect.Around {
	a := inspect.Around{Executions: s.cfg.Around.Executions, Refusals: s.cfg.Around.Refusals}
	if !c.May(auth.Admin) {
		return a
	}

	a.Tasks, a.DeadLetters, a.Handlers = s.cfg.Around.Tasks, s.cfg.Around.DeadLetters, s.cfg.Around.Handlers
	a.Payment = s.cfg.Around.Payment
	a.Queue, a.Reports, a.ShipmentDue = s.cfg.Around.Queue, s.cfg.Around.Reports, s.cfg.Around.ShipmentDue
	if s.cfg.Around.Deliveries != nil {
		a.Endpoints = s.cfg.Around.Endpoints
		a.Deliveries = ownDeliveries{s.cfg.Around.Deliveries, c.tenant}
	}

	return a
}

// ownDeliveries are the deliveries to the endpoints of a tenant.
type ownDeliveries struct {
	all interface {
		OfOrder(ctx context.Context, order string) ([]notify.Delivery, error)
	}
	tenant tenant
}

// OfOrder returns the deliveries of an order.
func (o ownDeliveries) OfOrder(ctx context.Context, order string) (own []notify.Delivery, err error) {
	all, err := o.all.OfOrder(ctx, order)
	// With an error, too: the deliveries that were read are shown.
	for _, d := range all {
		if _, is := o.tenant.ownID(d.Endpoint); is {
			own = append(own, d)
		}
	}

	return own, err
}

// ownWords returns a text with the tenant's ids as the tenant knows them.
func (t tenant) ownWords(text string) string {
	owner := t.owner()
	if owner == "" {
		return text
	}

	// Texts name stored ids.
	return strings.ReplaceAll(text, owner+":", "")
}
