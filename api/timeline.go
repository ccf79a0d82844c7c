package api

import (
	"context"
	"strings"
	"time"

	"ratchet/api/auth"
	"ratchet/notify"
	"ratchet/operate/inspect"
)

// moment is one fact of an order's time line.
type moment struct {
	At   time.Time `json:"at"`
	Kind string    `json:"kind" enum:"transition,edit,refusal,execution,task,reservation,payment,parcel,carrier report,delivery,retry,dead letter,effect"`
	What string    `json:"what" doc:"What has happened, in words."`
	Why  string    `json:"why,omitempty" personal:"text" doc:"What a person or another program has written about it."`
	Next string    `json:"next,omitempty" doc:"What brings the order on from here. Absent if nothing has to be done."`
	Ref  reference `json:"ref"`
}

// reference names what a moment is about.
type reference struct {
	TransitionID   int64      `json:"transitionId,omitempty" doc:"The transition that was made or is handled, or after which a task waits."`
	Event          string     `json:"event,omitempty"`
	State          string     `json:"state,omitempty" doc:"Where a transition leads, or what a task or notification is about."`
	Code           string     `json:"code,omitempty" doc:"The verdict or other reason of a refusal; the code of a cause."`
	Needs          []string   `json:"needs,omitempty" doc:"The states from which a refused event is legal."`
	Status         string     `json:"status,omitempty" doc:"What has become of it."`
	Execution      string     `json:"execution,omitempty"`
	Handler        string     `json:"handler,omitempty"`
	DeadLetter     string     `json:"deadLetter,omitempty" doc:"The id of the dead letter of the handler."`
	Endpoint       string     `json:"endpoint,omitempty"`
	Delivery       string     `json:"delivery,omitempty" doc:"The id of the delivery, as paths have it."`
	Attempt        int        `json:"attempt,omitempty"`
	Payment        string     `json:"payment,omitempty"`
	Step           string     `json:"step,omitempty" doc:"The step of the payment."`
	Reservation    string     `json:"reservation,omitempty"`
	Parcel         string     `json:"parcel,omitempty"`
	Report         string     `json:"report,omitempty" doc:"The ref of a report of the carrier."`
	ContentVersion int64      `json:"contentVersion,omitempty" doc:"The version of the content that an edit made."`
	Count          int64      `json:"count,omitempty" doc:"How many refusals at least, records that wait, or redrives."`
	First          *time.Time `json:"first,omitempty" doc:"When the first of the refusals was."`
	More           int64      `json:"more,omitempty" doc:"Other refusals, for which the log had no room."`
	Error          string     `json:"error,omitempty" personal:"text"`
	NextTry        *time.Time `json:"nextTry,omitempty"`
}

// showRef returns a reference as the tenant sees it.
func (t tenant) showRef(r inspect.Ref) reference {
	return reference{
		TransitionID: int64(r.Transition), Event: r.Event, State: string(r.State), Code: r.Code, Needs: toStrings(r.Needs), Status: r.Status,
		Execution: t.ownWords(r.Execution), Handler: r.Handler, DeadLetter: encodedID(r.DeadLetter),
		Endpoint: t.publicID(r.Endpoint), Delivery: encodedID(r.Delivery), Attempt: r.Attempt,
		Payment: t.publicID(r.Payment), Step: r.Step, Reservation: t.publicID(r.Reservation), Parcel: r.Parcel, Report: encodedID(r.Report),
		ContentVersion: r.ContentVersion, Count: r.Count, First: optionalTime(r.First), More: r.More,
		Error: t.ownWords(r.Error), NextTry: optionalTime(r.NextTry),
	}
}

// timeline returns the time line of an explanation as the caller may see it, and the names of the parts
// that could not be read. The reasons are for the log: they name tables and permissions.
func (s *service) timeline(ctx context.Context, c caller, e inspect.Explanation) (moments []moment, effects []due, incomplete []string) {
	found, waiting, unread := e.Timeline(ctx, s.definition(), s.around(c))

	moments = make([]moment, len(found))
	for i, m := range found {
		moments[i] = moment{
			At: m.At, Kind: string(m.Kind), What: c.tenant.ownWords(m.What), Why: c.tenant.ownWords(m.Why), Next: c.tenant.ownWords(m.Next),
			Ref: c.tenant.showRef(m.Ref),
		}
		// What has happened is said with the text of its error, which is masked in the reference.
		if errText := moments[i].Ref.Error; errText != "" && !c.Personal {
			moments[i].What = strings.ReplaceAll(moments[i].What, errText, masked)
		}
	}

	effects = make([]due, len(waiting))
	for i, d := range waiting {
		effects[i] = due{
			d.Handler, d.Report, c.tenant.ownWords(d.Payment), string(d.Event), c.tenant.ownWords(d.What), c.tenant.ownWords(d.Error), d.Attempts,
			optionalTime(d.Since), optionalTime(d.NextTry), optionalTime(d.PausedAt), c.tenant.ownWords(d.Next),
		}
	}

	for _, u := range unread {
		s.cfg.Log.WarnContext(ctx, "a time line is incomplete", "order", e.Order.ID, "what", u.What, "error", u.Err)
		incomplete = append(incomplete, u.What)
	}

	return moments, effects, incomplete
}

// around returns the sources that the caller may see beside an order's transitions. Tasks, deliveries, payments, reports and
// dead letters are for administrators, as are their lists.
func (s *service) around(c caller) inspect.Around {
	a := inspect.Around{Executions: s.cfg.Around.Executions, Refusals: s.cfg.Around.Refusals, Stock: s.cfg.Around.Stock}
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
