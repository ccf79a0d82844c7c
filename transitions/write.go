package transitions

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ratchet/internal/dynamo"
	"ratchet/once/txn"
	"ratchet/workflow"
)

// step is one transition of an order, about to be written.
type step struct {
	request Request // with the order's id as IfMatch if the order must not have moved
	// transition goes into the ring, except for its From: DynamoDB copies the state that the
	// order is in.
	transition Transition
	move       workflow.Group
	version    int           // the order must be of this version; 0: of any that is known
	parcel     *parcelUpdate // the further changes of a parcel, nil for none
	with       []func(*txn.Transaction, Transition)
	// restart: the transition keeps the state and restarts all of its timers.
	restart bool
	// timers is the order's new attribute of that name, nil to leave it, and seenTimers what it is before.
	timers     image
	seenTimers types.AttributeValue
	// entered is when the order must have entered its state, zero for any time.
	entered time.Time
	// blind: the slot of the ring that the write overwrites is not known.
	blind bool
	// foreign are attributes that the write leaves alone. It is only known if the order is.
	foreign foreign
	// requestsAfter is the order's new attribute of that name, 0 to leave it as it is.
	requestsAfter TransitionID
}

// planned returns the write of the step: one transaction if the journal is transactional or the caller adds parts.
// base is the order as it was read, nil if it is not known.
func (o *Orders) planned(t *step, base *Order) decision {
	if id := t.transition.ID; id > maxTransitionID {
		return decision{err: &LimitError{What: "transitionId", Limit: int64(maxTransitionID)}}
	}

	if base != nil && o.keepsRequests() {
		if err := base.Readable(requestsAt, requestsAfter); err != nil {
			return decision{err: err}
		}
	}

	w := &write{keep: o.keepRequest(t, base), into: "recent"}
	if o.cfg.Journal == JournalTransactional || len(t.with) > 0 {
		err := o.inTransaction(w, t, base)
		return decision{write: w, err: err}
	}

	u, err := o.render(t, nil)
	// ALL_NEW returns the order after the write: the answer needs no read.
	w.update = &dynamodb.UpdateItemInput{
		TableName:                           u.TableName,
		Key:                                 u.Key,
		ConditionExpression:                 u.ConditionExpression,
		UpdateExpression:                    u.UpdateExpression,
		ExpressionAttributeNames:            u.ExpressionAttributeNames,
		ExpressionAttributeValues:           u.ExpressionAttributeValues,
		ReturnValues:                        types.ReturnValueAllNew,
		ReturnValuesOnConditionCheckFailure: u.ReturnValuesOnConditionCheckFailure,
	}

	return decision{write: w, err: err}
}

// render is the step as DynamoDB takes it. If pin, the order that was read, is given, the
// condition is that the order has not changed since.
func (o *Orders) render(w *step, pin *Order) (types.Update, error) {
	t := w.transition
	values := make(image, 8+len(w.move.From)) // a map that grows is copied
	values[":to"] = dynamo.S(string(t.To))
	values[":id"] = dynamo.N(int64(t.ID))
	values[":version"] = o.versions.values[":version"]
	values[":at"] = dynamo.Millis(t.At)
	values[":slot"] = t.slot()

	has := recorded{
		named: t.request != (digest{}), code: t.Cause.Code != "", details: t.Cause.hasDetails(), enters: enters(w.move) || w.restart,
	}
	// The texts are made already (see newUpdates). Only the rarer parts are added below.
	update := o.updates[t.ID%ringSize][has]

	if has.named {
		values[":req"] = t.request.value()
	}

	if has.code {
		values[":code"] = dynamo.S(t.Cause.Code)
	}

	if has.details {
		values[":cause"] = t.causeValue(w.request.OrderID)
	}

	// Only after a writer without a table of requests has moved the order (see requests.go).
	if w.requestsAfter != 0 {
		update = alsoSetting(requestsAfter, ":after", update)
		values[":after"] = dynamo.N(int64(w.requestsAfter))
	}

	condition := ""
	// A row of the journal names the state and the id before it, so the transaction with the row
	// must find the order exactly as it was read.
	if pin != nil {
		condition = pinned(pin, values)
	} else {
		condition = o.condition(w, values)
	}

	if w.foreign != (foreign{}) {
		update = w.foreign.without(update, values)
	}
	update, condition = w.timed(update, condition, values)

	// The guards are checked for a pinned write, too: they may look at attributes that another
	// program changes without a transition.
	condition, names, err := guarded(condition, w.move.Guards, w.request.Values, values)
	if err != nil {
		return types.Update{}, err
	}

	if w.parcel != nil {
		update, names = w.parcel.extend(update, names, values)
	}

	if !w.request.Own.IsZero() {
		c := w.request.Own.clauses(o.cfg.Mapping)
		if update, condition, names, err = c.extend(update, condition, names, values); err != nil {
			return types.Update{}, err
		}
	}

	return types.Update{
		TableName:                           &o.cfg.Table,
		Key:                                 orderKey(w.request.OrderID),
		ConditionExpression:                 &condition,
		UpdateExpression:                    update,
		ExpressionAttributeNames:            names,
		ExpressionAttributeValues:           values,
		ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld,
	}, nil
}

// recorded says which optional parts a transition leaves in the order. enters: it leads into another state.
type recorded struct{ named, code, details, enters bool }

// enters reports whether the move leads into another state. Its sources are either all others than its
// target, or the target alone (see oneEntry).
func enters(g workflow.Group) bool { return !slices.Contains(g.From, g.To) }

// oneEntry leaves out of a move the sources for which the write would not be the same: an order that is
// in the target already does not enter it, and keeps the time at which it did. order is nil if it is not
// known; then the order that is in the target refuses the write and shows that it is.
func oneEntry(g workflow.Group, order *Order) workflow.Group {
	isTarget := func(s workflow.State) bool { return s == g.To }

	switch {
	case enters(g) || len(g.From) == 1:
	case order != nil && order.State == g.To:
		g.From = []workflow.State{g.To}
	default:
		g.From = slices.DeleteFunc(slices.Clone(g.From), isTarget)
	}

	return g
}

// updates holds the text of the update for each slot and each combination of optional parts. The
// texts are made once, because every transition needs one.
type updates [ringSize]map[recorded]*string

func newUpdates(keepsRequests bool) (out updates) {
	head := "SET orderState = :to, previousState = orderState, transitionId = :id, definitionVersion = :version, updatedAt = :at, "
	entry := enteredAtAttribute + " = :at, "

	if keepsRequests {
		head += requestsAt + " = :id, "
	}

	for k := range out {
		out[k] = map[recorded]*string{}

		// Four optional parts have 16 combinations.
		for n := range 16 {
			has := recorded{named: n&1 != 0, code: n&2 != 0, details: n&4 != 0, enters: n&8 != 0}
			text := head + has.update(k)
			if has.enters {
				text = head + entry + has.update(k)
			}
			out[k][has] = &text
		}
	}

	return out
}

// update returns the part of an update that sets slot k of the ring and the cause. It removes
// the members that the transition does not have: an earlier transition may have left them.
func (has recorded) update(k int) string {
	set := "recent." + ringNames.slot[k] + " = :slot, recent." + ringNames.from[k] + " = orderState"

	var remove []string
	for _, m := range []struct {
		set                 bool
		member, placeholder string
	}{
		{has.named, "recent." + ringNames.request[k], ":req"},
		{has.code, "recent." + ringNames.code[k], ":code"},
		{has.details, causeAttribute, ":cause"},
	} {
		if m.set {
			set += ", " + m.member + " = " + m.placeholder
		} else {
			remove = append(remove, m.member)
		}
	}

	if len(remove) == 0 {
		return set
	}

	return set + " REMOVE " + strings.Join(remove, ", ")
}

// alsoSetting returns the update, which begins with SET, with one attribute more.
func alsoSetting(attribute, placeholder string, update *string) *string {
	text := strings.Replace(*update, "SET ", "SET "+attribute+" = "+placeholder+", ", 1)

	return &text
}

// condition requires a state that the write may leave, a known version, and an id
// below the transition's; with IfMatch, exactly the id that the caller has seen.
func (o *Orders) condition(w *step, values image) string {
	from := w.move.From
	for i, s := range from {
		values[o.sources.names[i]] = dynamo.S(string(s))
	}

	named := w.transition.request != (digest{})
	if w.request.IfMatch == nil && w.request.IfContent == nil && w.version == 0 && !w.blind && w.foreign == (foreign{}) {
		// The usual case, whose whole text was made once (see newSources).
		maps.Copy(values, o.versions.values)
		bindTypes(values)

		text := o.sources.anonymous[len(from)]
		if named {
			text = o.sources.named[len(from)]
		}

		return text + inLife(w, values)
	}

	id := newerID
	if seen := w.request.IfMatch; seen != nil {
		values[":seen"] = dynamo.N(int64(*seen))
		// An order that another program has created may lack the attribute. It counts as 0.
		id = equalsOrAbsent("transitionId", ":seen", *seen == 0)
	}

	unused := ""
	if named {
		unused = unusedKey
	}

	version := o.versions.condition
	switch {
	case w.foreign.version:
		version = "NOT attribute_type(" + versionAttribute + ", :number)"
		values[":number"] = dynamo.S("N")
	case w.version != 0:
		// DynamoDB refuses values that no expression uses, so the usual versions are left out.
		version = "definitionVersion = :only"
		values[":only"] = dynamo.N(int64(w.version))
	default:
		maps.Copy(values, o.versions.values)
	}

	text := o.sources.conditions[len(from)] + " AND " + id + " AND " + version + unused
	if w.foreign == (foreign{}) {
		text += o.types()
		bindTypes(values)
	}

	if w.blind {
		text += vacant[w.transition.ID%ringSize]
	}

	if seen := w.request.IfContent; seen != nil {
		values[":seenContent"] = dynamo.N(*seen)
		text += " AND " + equalsOrAbsent("contentVersion", ":seenContent", *seen == 0)
	}

	return text + inLife(w, values)
}

// inLife is the last part of the condition, for a caller that has seen a life of the order.
func inLife(w *step, values image) string {
	if w.request.Incarnation == "" {
		return ""
	}

	values[":life"] = dynamo.S(string(w.request.Incarnation))

	return " AND " + isIn(w.request.Incarnation, ":life")
}

// unusedKey refuses a request id that the ring holds under any transitionId: a caller
// that refreshes its If-Match between two attempts is still the same caller.
var unusedKey = func() string {
	used := make([]string, ringSize)
	for k, name := range ringNames.request {
		used[k] = "recent." + name + " = :req"
	}

	return " AND NOT (" + strings.Join(used, " OR ") + ")"
}()

// newerID is the condition that the order has not reached the id.
const newerID = "(attribute_not_exists(transitionId) OR transitionId < :id)"

// sources are texts about the states that a write may leave. names holds the placeholders of
// the states. The other texts are indexed by the number of states: conditions requires that
// the order is in one of the states; anonymous and named are the usual condition as a whole,
// of a write without and with a request id. All are made once, because every transition needs
// them.
type sources struct{ names, conditions, anonymous, named []string }

func newSources(most int, versions, types string) (s sources) {
	for i := range most {
		s.names = append(s.names, ":from"+strconv.Itoa(i))
	}

	for n := range most + 1 {
		states := "attribute_exists(orderId) AND orderState IN (" + strings.Join(s.names[:n], ", ") + ")"
		usual := states + " AND " + newerID + " AND " + versions + types
		s.conditions = append(s.conditions, states)
		s.anonymous, s.named = append(s.anonymous, usual), append(s.named, usual+unusedKey)
	}

	return s
}

// pinned is the condition that the order is in the life in which it was read, and has neither moved nor been
// edited since.
func pinned(base *Order, values image) string {
	values[":from0"] = dynamo.S(string(base.State))
	values[":previous"] = dynamo.N(int64(base.TransitionID))
	values[":content"] = dynamo.N(base.ContentVersion)

	content := equalsOrAbsent(contentVersionAttribute, ":content", base.ContentVersion == 0)
	// Another program's attribute of this name is compared as it is.
	if base.Readable(contentVersionAttribute) != nil {
		values[":content"], content = base.item[contentVersionAttribute], contentVersionAttribute+" = :content"
	}

	values[":life"] = dynamo.S(string(base.Incarnation))

	life := isIn(base.Incarnation, ":life")
	if base.Readable(incarnationAttribute) != nil {
		values[":life"], life = base.item[incarnationAttribute], incarnationAttribute+" = :life"
	}

	return "orderState = :from0 AND " + equalsOrAbsent("transitionId", ":previous", base.TransitionID == 0) +
		" AND " + content + " AND " + life
}

// ifUnchanged adds the condition pinned to an update.
func ifUnchanged(u *dynamo.Update, base *Order) {
	values := image{}
	u.If(pinned(base, values))

	for placeholder, v := range values {
		u.Bind(placeholder, v)
	}
}

// equalsOrAbsent compares an attribute that may be absent instead of zero.
func equalsOrAbsent(attribute, placeholder string, zero bool) string {
	if zero {
		return "(attribute_not_exists(" + attribute + ") OR " + attribute + " = " + placeholder + ")"
	}

	return attribute + " = " + placeholder
}

// guarded adds the guards to a condition and returns the names that they need, nil
// without guards. newMove has validated the request's values.
func guarded(condition string, guards []workflow.Guard, request map[string]any, values image) (string, map[string]string, error) {
	if len(guards) == 0 {
		return condition, nil, nil
	}

	c, err := workflow.RenderGuards(guards, "g", request)
	if err != nil {
		return "", nil, fmt.Errorf("%w: values: %w", ErrInvalidRequest, err)
	}

	for name, v := range c.Values {
		switch v := v.(type) {
		case string:
			values[name] = dynamo.S(v)
		case int64:
			values[name] = dynamo.N(v)
		// A number as the order has it, which may be a fraction.
		case json.Number:
			values[name] = &types.AttributeValueMemberN{Value: v.String()}
		case bool:
			values[name] = dynamo.Bool(v)
		default:
			return "", nil, fmt.Errorf("guard value %s is a %T", name, v)
		}
	}

	return condition + " AND " + c.Expression, c.Names, nil
}
