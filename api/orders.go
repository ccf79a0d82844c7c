package api

import (
	"context"
	"crypto/sha256"
	"encoding/base32"
	"errors"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"ratchet/api/auth"
	"ratchet/api/internal/input"
	"ratchet/operate/inspect"
	"ratchet/transitions"
	"ratchet/workflow"
)

func (s *service) orderRoutes(h huma.API) {
	links := func(body string) map[string]*huma.Link {
		return map[string]*huma.Link{
			"get":     {OperationID: "get-order", Parameters: map[string]any{"orderId": body}},
			"move":    {OperationID: "apply-transition", Parameters: map[string]any{"orderId": body}},
			"explain": {OperationID: "explain-order", Parameters: map[string]any{"orderId": body}},
		}
	}

	register(s, h, route{
		id:          "create-order",
		method:      http.MethodPost,
		path:        "/v1/orders",
		tag:         "orders",
		scope:       auth.Act,
		mutates:     true,
		repeats:     fromAnswer,
		body:        true,
		status:      http.StatusCreated,
		summary:     "Place an order and start its execution",
		description: "The order's id is derived from the Idempotency-Key. Nothing starts twice.",
		links:       links("$response.body#/orderId"),
	}, s.createOrder)

	register(s, h, route{
		id:          "put-order",
		method:      http.MethodPut,
		path:        "/v1/orders/{orderId}",
		tag:         "orders",
		scope:       auth.Act,
		mutates:     true,
		repeats:     fromAnswer,
		body:        true,
		auditParams: []string{"orderId"},
		status:      http.StatusCreated,
		errors:      []int{http.StatusConflict},
		summary:     "Place an order under an id that the caller chooses and start its execution",
		description: "The id makes the request idempotent. Other content is a conflict.",
		links:       links("$response.body#/orderId"),
	}, s.putOrder)

	register(s, h, route{
		id:      "get-order",
		method:  http.MethodGet,
		path:    "/v1/orders/{orderId}",
		tag:     "orders",
		scope:   auth.Read,
		status:  http.StatusOK,
		errors:  []int{http.StatusNotFound},
		summary: "Read an order",
	}, s.getOrder)

	register(s, h, route{
		id:      "list-orders",
		method:  http.MethodGet,
		path:    "/v1/orders",
		tag:     "orders",
		scope:   auth.Read,
		status:  http.StatusOK,
		summary: "List orders, page by page",
		description: "Newest first, if the server keeps lists of orders: by the time at which they entered the state, or, without a state or with a customer or a reference, at which they were placed. Otherwise the table is scanned " +
			"(scanned: true), and the sequence means nothing. A page may be shorter than the limit, even empty, and have a next one. since and until are a range of the lists' keys: " +
			"without lists, or with the time of another list, they are refused with filter_unsupported, and with lists_not_ready while the lists are being built.",
	}, s.listOrders)

	// The registration has made the schemas that these two change.
	describe(h, s.enumerate)
	describe(h, s.describeContent)
}

// describeContent makes the document require the total of a new order if the definition has one. The
// definition itself refuses an order without it, once it is known that the request is no repeat of one that
// was placed under an earlier definition.
func (s *service) describeContent(doc *huma.OpenAPI) {
	if !s.definition().Has(workflow.PartTotal) {
		return
	}

	body := doc.Paths["/v1/orders"].Post.RequestBody.Content["application/json"].Schema
	schema := doc.Components.Schemas.SchemaFromRef(body.Ref)
	onlyDocument(schema, "required", append([]string{"total"}, schema.Required...))
}

// enumerate adds the states of the definition to the document.
func (s *service) enumerate(doc *huma.OpenAPI) {
	var states []any
	for _, state := range s.definition().States() {
		states = append(states, string(state.State))
	}

	for _, parameter := range doc.Paths["/v1/orders"].Get.Parameters {
		if parameter.Name == "state" {
			parameter.Schema.Enum = states
			parameter.Schema.PrecomputeMessages()
		}
	}
}

// definition returns the definition of the orders. Without orders, when only the document is
// made, it returns the built-in definition.
func (s *service) definition() *workflow.Definition {
	if s.cfg.Orders == nil {
		return workflow.Order()
	}
	return s.cfg.Orders.Definition()
}

// newOrder is an order to place.
type newOrder struct {
	Items []newLine `json:"items,omitempty" maxItems:"1000" doc:"At most 97 different SKUs."`
	// Total is required if the definition has one: see describeContent.
	Total *newMoney `json:"total,omitempty" doc:"What the customer pays."`
	// transitions.NewOrder has the same pattern.
	Customer        string          `json:"customer,omitempty" maxLength:"100" pattern:"^[A-Za-z0-9._:-]+$" doc:"Whose order it is: an id of your system, no personal data."`
	Reference       string          `json:"reference,omitempty" maxLength:"100" pattern:"^[A-Za-z0-9._:-]+$" doc:"The order's number in your system, for searches. It need not be unique."`
	ShippingAddress addressFields   `json:"shippingAddress,omitempty"`
	BillingAddress  addressFields   `json:"billingAddress,omitempty"`
	Metadata        metadataMembers `json:"metadata,omitempty"`
	Own             ownValues       `json:"own,omitempty"`
	Cause           *newCause       `json:"cause,omitempty" doc:"Why. A repeat has the same cause."`
	// Execution is a word and not a boolean, so that other values can be added.
	Execution string `json:"execution,omitempty" enum:"start,none" doc:"Whether to start the order's execution. Default start."`
}

type createOrderInput struct {
	input.Keyed
	Body newOrder
}

type putOrderInput struct {
	input.Order
	Body newOrder
}

type orderOutput struct {
	input.Repeat
	Status   int
	ETag     string `header:"ETag"`
	Location string `header:"Location"`
	Body     order
}

func (s *service) createOrder(ctx context.Context, c caller, in *createOrderInput) (*orderOutput, error) {
	out, verdict, err := s.createAndStart(ctx, c, keyedOrderID(in.Key), in.Body)
	// The id comes from the key, so other content is another use of the key.
	if verdict == transitions.Conflict {
		return nil, keyReused()
	}

	return out, err
}

// keyedOrderID returns the id of the order that a key creates: 130 bits of the key's hash.
func keyedOrderID(key string) string {
	sum := sha256.Sum256([]byte(key))
	return "o-" + strings.ToLower(base32.StdEncoding.EncodeToString(sum[:])[:26])
}

func keyReused() *problem {
	return newProblem(http.StatusConflict, "idempotency_key_reused", detailKeyReused)
}

func (s *service) putOrder(ctx context.Context, c caller, in *putOrderInput) (*orderOutput, error) {
	out, verdict, err := s.createAndStart(ctx, c, in.OrderID, in.Body)
	if verdict == transitions.Conflict {
		return nil, newProblem(http.StatusConflict, "conflict", "The order exists with other content.")
	}

	return out, err
}

// createAndStart creates an order and starts its execution. A repeat returns the existing
// order.
func (s *service) createAndStart(ctx context.Context, c caller, id string, n newOrder) (*orderOutput, transitions.Verdict, error) {
	if p := s.checkPace(); p != nil {
		// A repeat finds its order, and starts what a lost answer has left.
		if _, exists, err := s.cfg.Orders.Get(ctx, c.tenant.orderID(id)); err != nil || !exists {
			return nil, 0, p
		}
	}

	placed := transitions.NewOrder{ID: c.tenant.orderID(id), Items: c.tenant.items(n.Items)}
	placed.Customer, placed.Reference = n.Customer, n.Reference

	placed.Shipping, placed.Billing = transitions.Address(n.ShippingAddress), transitions.Address(n.BillingAddress)
	placed.Cause = c.cause(ctx, n.Cause)
	placed.Metadata, placed.Own = transitions.Metadata(n.Metadata), transitions.Attributes(n.Own)
	if n.Total != nil {
		placed.Total = transitions.Money(*n.Total)
	}

	result, err := s.cfg.Orders.Create(ctx, placed)
	if errors.Is(err, transitions.ErrInvalidRequest) && n.Total == nil && s.definition().Has(workflow.PartTotal) {
		return nil, 0, newProblem(http.StatusUnprocessableEntity, "invalid_request", "An order needs a total.").
			withField("body", "/total", "required by the definition of orders")
	}

	if err != nil || !result.Verdict.Done() {
		return nil, result.Verdict, err
	}

	// A repeat starts the execution, too: the first request may have failed between the two.
	if s.cfg.Start != nil && n.Execution != "none" {
		if err := s.cfg.Start(ctx, placed); err != nil {
			return nil, 0, err
		}
	}

	out := orderAnswer(result.Order, c.tenant.showOrder(result.Order))
	out.Location = "/v1/orders/" + url.PathEscape(id)
	out.Status = http.StatusCreated
	if result.Verdict == transitions.Replayed {
		out.MarkReplayed()
	}

	return out, result.Verdict, nil
}

// orderAnswer is the answer with an order as it is shown to the caller.
func orderAnswer(o *transitions.Order, shown order) *orderOutput {
	return &orderOutput{Status: http.StatusOK, ETag: etag(o), Body: shown}
}

// getOwnOrder reads an order of the caller's tenant. It fails with order_not_found.
func (s *service) getOwnOrder(ctx context.Context, c caller, id string) (*transitions.Order, error) {
	o, found, err := s.cfg.Orders.Get(ctx, c.tenant.orderID(id))
	if err == nil && !found {
		err = notFound("order")
	}

	return o, err
}

func (s *service) getOrder(ctx context.Context, c caller, in *input.Order) (*orderOutput, error) {
	o, err := s.getOwnOrder(ctx, c, in.OrderID)
	if err != nil {
		return nil, err
	}

	return orderAnswer(o, s.showRead(c.tenant, o)), nil
}

type listOrdersInput struct {
	input.Page
	State     string    `query:"state" doc:"Only orders in this state."`
	Customer  string    `query:"customer" maxLength:"100" pattern:"^[A-Za-z0-9._:-]+$" doc:"Only orders of this customer. It needs the grant for personal data."`
	Reference string    `query:"reference" maxLength:"100" pattern:"^[A-Za-z0-9._:-]+$" doc:"Only orders with this reference. It needs the grant for personal data."`
	Since     time.Time `query:"since" doc:"Only orders since this time."`
	Until     time.Time `query:"until" doc:"Only orders before this time."`
	By        string    `query:"by" enum:"placed,entered" doc:"Which time: at which orders were placed, or have entered the state. Default: that of the list, which is the time of entering for a state alone."`
}

type listOrdersOutput struct {
	Body struct {
		Orders  []order `json:"orders"`
		Next    string  `json:"next,omitempty" doc:"The cursor of the next page. Absent at the end."`
		Scanned bool    `json:"scanned" doc:"Whether the table was scanned."`
		// Only a scan has these.
		Unreadable []unreadableOrder `json:"unreadable,omitempty" doc:"Orders of this page that cannot be read at all, and are not in the list."`
		Stale      int               `json:"stale,omitempty" doc:"How many orders were left out because they have moved since: the lists lag behind the orders."`
	}
}

// unreadableOrder is an order that cannot be read.
type unreadableOrder struct {
	OrderID string `json:"orderId"`
	Reason  string `json:"reason" doc:"Which attribute of the stored order has another form than Ratchet writes."`
}

func (s *service) listOrders(ctx context.Context, c caller, in *listOrdersInput) (*listOrdersOutput, error) {
	for name, value := range map[string]string{"customer": in.Customer, "reference": in.Reference} {
		if p := c.maySearch("query", name, value); p != nil {
			return nil, p
		}
	}

	out := &listOrdersOutput{}
	var err error
	out.Body.Orders, out.Body.Next, err = listPage(s, in.Page, []string{"orders", string(c.tenant), in.State, in.Customer, in.Reference, in.By, in.Since.String(), in.Until.String()},
		func(after string, n int) ([]*transitions.Order, string, error) {
			page, err := inspect.Listed(ctx, s.cfg.Orders, s.cfg.Lists, c.tenant.owner(), inspect.Page{
				State:     workflow.State(in.State),
				Customer:  in.Customer,
				Reference: in.Reference,
				Since:     in.Since,
				Until:     in.Until,
				By:        inspect.Time(in.By),
				After:     storedAfter(after),
				Limit:     n,
			})
			out.Body.Scanned = page.Scanned
			// One page may take several reads.
			out.Body.Stale += page.Stale

			for _, bad := range page.Unreadable {
				if id, own := c.tenant.ownID(string(bad.OrderID)); own {
					out.Body.Unreadable = append(out.Body.Unreadable, unreadableOrder{id, bad.Reason})
				}
			}

			return page.Orders, page.Next, err
		},
		func(o *transitions.Order) (order, bool, error) {
			_, own := c.tenant.ownID(string(o.ID))
			return s.showRead(c.tenant, o), own, nil
		})

	return out, err
}
