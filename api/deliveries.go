package api

import (
	"cmp"
	"context"
	"encoding/base64"
	"errors"
	"net/http"
	"strconv"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"ratchet/api/auth"
	"ratchet/api/internal/input"
	"ratchet/notify"
	"ratchet/transitions"
)

func (s *service) deliveryRoutes(h huma.API) {
	register(s, h, route{
		id:          "list-order-deliveries",
		method:      http.MethodGet,
		path:        "/v1/orders/{orderId}/deliveries",
		tag:         "notifications",
		scope:       auth.Admin,
		status:      http.StatusOK,
		summary:     "List the deliveries of notifications about an order",
		description: "Of the last 30 days, to the caller's endpoints.",
	}, s.listOrderDeliveries)
	register(s, h, route{
		id:          "get-delivery",
		method:      http.MethodGet,
		path:        "/v1/deliveries/{delivery}",
		tag:         "notifications",
		scope:       auth.Admin,
		status:      http.StatusOK,
		errors:      []int{http.StatusNotFound},
		summary:     "Read a delivery with its last attempts",
		description: "At most 20 attempts, oldest first. A delivery whose first attempt succeeded has that one, without its duration.",
	}, s.getDelivery)
	register(s, h, route{
		id:          "list-endpoint-deliveries",
		method:      http.MethodGet,
		path:        "/v1/endpoints/{endpoint}/deliveries",
		tag:         "notifications",
		scope:       auth.Admin,
		status:      http.StatusOK,
		errors:      []int{http.StatusNotFound},
		summary:     "List what is under way to an endpoint, or what it missed",
		description: "The order is by time within each of four parts.",
	}, s.listEndpointDeliveries)

	register(s, h, adminVerb("notifications", "resend", http.MethodPost, "/v1/orders/{orderId}/deliveries/{transitionId}/{endpoint}/resend",
		"Send a notification again", "The delivery must have ended. It keeps its key.", "orderId", "transitionId", "endpoint").mayConflict(), s.resend)
}

// delivery is the record of one notification for one endpoint.
type delivery struct {
	ID           string     `json:"id" doc:"As paths have it."`
	OrderID      string     `json:"orderId"`
	TransitionID int64      `json:"transitionId"`
	Endpoint     string     `json:"endpoint"`
	State        string     `json:"state"`
	Key          string     `json:"key"`
	Status       string     `json:"status" enum:"PENDING,DELIVERED,MISSED,SKIPPED"`
	Attempts     int        `json:"attempts" doc:"Since the last resend."`
	NextTry      *time.Time `json:"nextTry,omitempty"`
	Answer       int        `json:"answer,omitempty"`
	Response     string     `json:"response,omitempty" personal:"text"`
	Error        string     `json:"error,omitempty" personal:"text"`
	CreatedAt    time.Time  `json:"createdAt"`
	TriedAt      *time.Time `json:"triedAt,omitempty"`
	Resends      int        `json:"resends,omitempty"`
	Tries        []attempt  `json:"tries,omitempty" doc:"The last attempts that have ended. Absent in lists."`
}

// attempt is an attempt of a delivery that has ended.
type attempt struct {
	At     time.Time `json:"at"`
	Number int       `json:"number" doc:"Since the last resend before it."`
	Answer int       `json:"answer,omitempty" doc:"The status of the answer. Absent without one."`
	Millis int64     `json:"millis,omitempty" doc:"How long it took."`
	Head   string    `json:"head,omitempty" personal:"text" doc:"The beginning of the answer, or of the error without one."`
}

type getDeliveryInput struct {
	Delivery string `path:"delivery" minLength:"1" maxLength:"1366" pattern:"^[A-Za-z0-9_-]+$" doc:"The id of a delivery."`
}

type getDeliveryOutput struct {
	Body delivery
}

func (s *service) getDelivery(ctx context.Context, c caller, in *getDeliveryInput) (*getDeliveryOutput, error) {
	id, err := base64.RawURLEncoding.Strict().DecodeString(in.Delivery)
	if err != nil {
		return nil, notFound("delivery")
	}

	d, err := s.cfg.Deliveries.Get(ctx, string(id))
	if errors.Is(err, notify.ErrInvalid) || errors.Is(err, notify.ErrNotFound) {
		return nil, notFound("delivery")
	}

	if err != nil {
		return nil, err
	}

	_, ownOrder := c.tenant.ownID(string(d.OrderID))
	_, ownEndpoint := c.tenant.ownID(d.Endpoint)

	if !ownOrder || !ownEndpoint {
		return nil, notFound("delivery")
	}

	out := &getDeliveryOutput{c.tenant.showDelivery(d)}
	for _, try := range d.Tries {
		out.Body.Tries = append(out.Body.Tries, attempt{try.At, try.Number, try.Answer, try.Took.Milliseconds(), try.Head})
	}

	return out, nil
}

func (t tenant) showDelivery(d notify.Delivery) delivery {
	return delivery{
		ID:           encodedID(d.ID()),
		OrderID:      t.publicID(string(d.OrderID)),
		TransitionID: int64(d.TransitionID),
		Endpoint:     t.publicID(d.Endpoint),
		State:        string(d.State),
		Key:          d.Key,
		Status:       string(d.Status),
		Attempts:     d.Attempts,
		NextTry:      optionalTime(d.NextTry),
		Answer:       d.Answer,
		Response:     d.Response,
		Error:        d.Error,
		CreatedAt:    d.CreatedAt,
		TriedAt:      optionalTime(d.TriedAt),
		Resends:      d.Resends,
	}
}

type listDeliveriesOutput struct {
	Body struct {
		Deliveries []delivery `json:"deliveries"`
		Next       string     `json:"next,omitempty" doc:"The cursor of the next page. Absent at the end."`
	}
}

func (s *service) listOrderDeliveries(ctx context.Context, c caller, in *input.Order) (*listDeliveriesOutput, error) {
	all, err := s.cfg.Deliveries.OfOrder(ctx, c.tenant.storedID(in.OrderID))
	if err != nil {
		return nil, err
	}

	out := &listDeliveriesOutput{}
	out.Body.Deliveries = []delivery{}

	for _, d := range all {
		// Endpoints that the command line has made for several tenants belong to the default tenant.
		if _, own := c.tenant.ownID(d.Endpoint); own {
			out.Body.Deliveries = append(out.Body.Deliveries, c.tenant.showDelivery(d))
		}
	}

	return out, nil
}

type listEndpointDeliveriesInput struct {
	input.Endpoint
	input.Page
	Status string    `query:"status" enum:"PENDING,MISSED" default:"PENDING"`
	Since  time.Time `query:"since" doc:"Only what is due, or was missed, since then."`
}

func (s *service) listEndpointDeliveries(ctx context.Context, c caller, in *listEndpointDeliveriesInput) (*listDeliveriesOutput, error) {
	e, err := s.owned(ctx, c, in.EndpointID)
	if err != nil {
		return nil, err
	}

	out := &listDeliveriesOutput{}
	binding := []string{"deliveries", e.ID, in.Status, strconv.FormatInt(in.Since.UnixNano(), 10)}
	out.Body.Deliveries, out.Body.Next, err = listPage(s, in.Page, binding,
		func(after string, n int) ([]notify.Delivery, string, error) {
			return s.cfg.Deliveries.List(ctx, e.ID, notify.Status(in.Status), in.Since, after, n)
		},
		func(d notify.Delivery) (delivery, bool, error) {
			_, own := c.tenant.ownID(string(d.OrderID))
			return c.tenant.showDelivery(d), own, nil
		})

	return out, err
}

type resendInput struct {
	input.Order
	input.Endpoint
	input.MayBeKeyed
	TransitionID int64 `path:"transitionId" minimum:"1" maximum:"999999999999999"`
}

type deliveryOutput struct {
	input.Repeat
	Body delivery
}

func (s *service) resend(ctx context.Context, c caller, in *resendInput) (*deliveryOutput, error) {
	// Both stored ids contain the tenant, so the delivery cannot be another tenant's.
	id := notify.Delivery{Endpoint: c.tenant.storedID(in.EndpointID)}
	id.OrderID, id.TransitionID = c.tenant.orderID(in.OrderID), transitions.TransitionID(in.TransitionID)

	// Of several orders that had the id one after the other, the newest one's.
	all, err := s.cfg.Deliveries.OfOrder(ctx, string(id.OrderID))
	if err != nil {
		return nil, err
	}

	for _, d := range all {
		if d.Endpoint == id.Endpoint && d.TransitionID == id.TransitionID {
			id.Incarnation = max(id.Incarnation, d.Incarnation)
		}
	}

	// Without one, Resend says that there is no such delivery.
	id.Incarnation = cmp.Or(id.Incarnation, "0")

	d, err := s.cfg.Deliveries.Resend(ctx, id.ID())
	if err != nil {
		return nil, err
	}

	return &deliveryOutput{Body: c.tenant.showDelivery(d)}, nil
}
