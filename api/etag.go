package api

import (
	"fmt"
	"net/http"

	"ratchet/transitions"
)

const (
	idempotencyKey = "Idempotency-Key"
	ifMatch        = "If-Match"
)

// etag identifies a version of an order by its transitionId, contentVersion and incarnation.
func etag(o *transitions.Order) string {
	return fmt.Sprintf(`"t%d.c%d.%s"`, o.TransitionID, o.ContentVersion, o.Incarnation)
}

// orderChanged is the problem of a request whose If-Match names an older version.
func orderChanged(o *transitions.Order) *problem {
	return newProblem(http.StatusPreconditionFailed, "superseded", "The order has changed since that ETag. This request was not applied.").withOrder(o)
}

// withOrder adds the current state and ETag of the order, if there is one.
func (p *problem) withOrder(o *transitions.Order) *problem {
	if o == nil {
		return p
	}

	p.Order = &position{
		State:          string(o.State),
		TransitionID:   int64(o.TransitionID),
		ContentVersion: o.ContentVersion,
	}

	return p.withHeader("ETag", etag(o))
}
