package transitions

import (
	"strings"

	"ratchet/internal/dynamo"
)

// editCauseAttribute is the attribute with the cause of the newest edit:
//
//	"<digest of the event id> <code> <source> <actor> <trace> <text>"
//
// with a dash for an empty field. The digest names the edit, because another program may edit the
// content and leave the attribute as it is.
const editCauseAttribute = "editCause"

// leaveCause sets the cause of the edit, or removes the cause of the edit before. Another program's attribute of
// this name stays as it is (see foreign.go). base is the order, nil if it is not known.
func (d draft) leaveCause(e Edit, base *Order) {
	if base != nil && base.Readable(editCauseAttribute) != nil {
		return
	}

	d.requireOwn(editCauseAttribute, "S")

	if e.Cause == (Cause{}) {
		d.RemoveAttribute(editCauseAttribute)
		return
	}

	c := e.Cause.fitted()
	d.SetValue(editCauseAttribute, dynamo.S(traceKey(e.EventID.digest())+" "+dashed(c.Code)+" "+c.details(e.OrderID)))
}

// causeOfNewestEdit reads the value of editCauseAttribute. It returns no cause if the value belongs
// to another edit than the newest.
func (o *Order) causeOfNewestEdit(value string) (c Cause) {
	parts := strings.SplitN(value, " ", 3)
	if len(parts) < 3 || dynamo.Number(o.edits, parts[0]+versionSuffix) != o.ContentVersion {
		return Cause{}
	}

	c.Code = undashed(parts[1])
	c.addDetails(o.ID, parts[2])

	return c
}
