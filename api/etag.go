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

// etag names what an order looks like: its transition and its content.
func etag(o *transitions.Order) string {
	return fmt.Sprintf(`"t%d.c%d"`, o.TransitionID, o.ContentVersion)
}

func overtaken(o *transitions.Order) *problem {
	return newProblem(http.StatusPreconditionFailed, "superseded", "The order has changed since that ETag. This request was not applied.").at(o)
}

// at says where the order stands.
func (p *problem) at(o *transitions.Order) *problem {
	if o != nil {
		p.Order = &position{string(o.State), int64(o.TransitionID), int64(o.ContentVersion)}
		return p.with("ETag", etag(o))
	}

	return p
}
