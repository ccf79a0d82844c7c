package api

import (
	"context"
	"net/http"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"ratchet/api/auth"
)

// routes registers every operation, resource by resource.
func (s *service) routes(h huma.API) {
	s.healthRoutes(h)
	s.orderRoutes(h)
	s.scheduledRoutes(h) // before the transitions, which name the events in the schemas of both
	s.transitionRoutes(h)
	s.editRoutes(h)
	s.watchRoutes(h)
	s.refusalRoutes(h)
	s.stuckRoutes(h)
	s.previewRoutes(h)
	s.inventoryRoutes(h)
	s.actionRoutes(h)
	s.claimRoutes(h)
	s.accountRoutes(h)
	s.transferRoutes(h)
	s.paymentRoutes(h)
	s.parkedRoutes(h)
	s.executionRoutes(h)
	s.executionReadRoutes(h)
	s.shipmentRoutes(h)
	s.streamRoutes(h)
	s.handlerRoutes(h)
	s.erasureRoutes(h)
	s.jobRoutes(h)
	s.questionRoutes(h)
	s.replayRoutes(h)
	s.deadLetterRoutes(h)
	s.endpointRoutes(h)
	s.deliveryRoutes(h)
	s.statusRoutes(h)
	s.rateRoutes(h)
	s.quotaRoutes(h)
	s.workflowRoutes(h)
	s.migrationRoutes(h)
	s.actRoutes(h)

	describe(h, func(doc *huma.OpenAPI) {
		describeMasks(doc, doc.Components.Schemas.Map()["Problem"], reflect.TypeFor[problem]())
	})
}

// route describes one operation: its place in the document, and who may call it.
type route struct {
	id, method, path string
	tag              string
	summary          string
	description      string

	// scope must be included in the credential, unless the route is public.
	scope  auth.Scope
	public bool
	// probe exempts the operation from every limit of its callers. It must cost next to nothing.
	probe bool

	// mutates says that the operation may change something: it writes an audit line, with
	// the path parameters in auditParams.
	mutates     bool
	auditParams []string
	// repeats says how a repeat of the operation gets the first answer. With
	// contentIsIdentity, a request with other content is another request, whether or not
	// the domain package then refuses it.
	repeats           repetition
	contentIsIdentity bool
	// keyed says that the operation has an Idempotency-Key, and pathNames are the
	// parameters of its path. register sets both.
	keyed     bool
	pathNames []string

	// personal says that only a caller with the grant for personal data may call it: its effect would show
	// such data elsewhere.
	personal bool

	// body says that the operation takes a JSON body.
	body bool
	// rawBody leaves the body to the handler, which checks a signature over its bytes.
	rawBody bool
	// anyJSON is the JSON pointer of the body's member that may be any JSON value.
	anyJSON string
	// streams exempts the operation from requestTimeout.
	streams bool

	// status is the status of success. alsoStatus are other statuses with the same body.
	// errors are the error statuses that not every operation may return.
	status     int
	alsoStatus []int
	errors     []int
	links      map[string]*huma.Link
}

// adminVerb describes an operation of an administrator on something that may not exist. Each
// request is a new one, unless it is keyed.
func adminVerb(tag, id, method, path, summary, description string, auditParams ...string) route {
	return route{
		id:          id,
		method:      method,
		path:        path,
		tag:         tag,
		scope:       auth.Admin,
		mutates:     true,
		repeats:     ifKeyed,
		auditParams: auditParams,
		status:      http.StatusOK,
		errors:      []int{http.StatusNotFound},
		summary:     summary,
		description: strings.TrimSpace(description + " Each request is a new one, unless it repeats one with the same Idempotency-Key."),
	}
}

// mayConflict returns the operation with 409 as a further answer.
func (r route) mayConflict() route {
	r.errors = append(r.errors, http.StatusConflict)
	return r
}

// withGrant returns the operation for callers with the grant for personal data only.
func (r route) withGrant() route {
	r.personal = true
	return r
}

// withBody returns the operation with a JSON body.
func (r route) withBody() route {
	r.body = true
	return r
}

// caller is the principal of a request, as the handlers see it.
type caller struct {
	auth.Principal
	tenant tenant
}

// operation is a route of a service: its steps before the handler, and the handler.
type operation struct {
	middleware func(huma.Context, func(huma.Context))
	handle     any // handleFunc of the operation's types
}

// register adds an operation to the service or, with h, to the surface of all services like this one. The handler gets
// the caller, because only the caller's tenant can make stored ids.
func register[I, O any](s *service, h huma.API, r route, handle handleFunc[I, O]) {
	// Derived from the input, so that no route can forget it.
	r.keyed, r.pathNames = isKeyed(reflect.TypeFor[I]()), pathNames(r.path)

	if h == nil {
		s.operations[r.id] = operation{s.middleware(r), withRepeats(s, r, handle)}
		return
	}

	id := r.id
	op := huma.Operation{
		OperationID:     id,
		Method:          r.method,
		Path:            r.path,
		Summary:         r.summary,
		Description:     r.description,
		Tags:            []string{r.tag},
		DefaultStatus:   r.status,
		Errors:          s.errorStatuses(r),
		BodyReadTimeout: -1, // the middleware reads the body
		MaxBodyBytes:    maxBody + 1,
		Middlewares: huma.Middlewares{func(hc huma.Context, next func(huma.Context)) {
			callOf(hc.Context()).service.operations[id].middleware(hc, next)
		}},
	}
	if s.needsCredential(r) {
		op.Security = []map[string][]string{{"bearer": {string(r.scope)}}}
	}

	var members map[string]bool // of the body; known after the registration
	huma.Register(h, op, func(ctx context.Context, in *I) (*O, error) {
		// The surface is shared: the call says whose handler it is.
		c := callOf(ctx)
		handle := c.service.operations[id].handle.(handleFunc[I, O])
		by := caller{c.caller, tenant(c.caller.Tenant)}

		out, err := handle(ctx, by, in)
		if err != nil {
			p := c.service.asProblem(ctx, err, members)
			by.maskAnswer(p)
			c.code = p.Code

			return nil, p
		}

		// Only now: what is stored for repeats is the whole answer.
		by.maskAnswer(out)

		return out, nil
	})

	registered := operationOf(h.OpenAPI().Paths[r.path], r.method)
	members = bodyMembers(h.OpenAPI(), registered)
	completeOperation(registered, r)

	if body, has := reflect.TypeFor[O]().FieldByName("Body"); has && registered.Responses[strconv.Itoa(r.status)].Content["application/json"] != nil {
		describeMasks(h.OpenAPI(), registered.Responses[strconv.Itoa(r.status)].Content["application/json"].Schema, body.Type)
	}
}

// isKeyed reports whether the input of an operation has the header Idempotency-Key.
func isKeyed(in reflect.Type) bool {
	for _, field := range reflect.VisibleFields(in) {
		if field.Tag.Get("header") == idempotencyKey {
			return true
		}
	}

	return false
}

func (s *service) needsCredential(r route) bool { return !r.public && !s.cfg.Dev }

// errorStatuses returns the error statuses that the operation may answer with.
func (s *service) errorStatuses(r route) []int {
	statuses := []int{
		http.StatusTooManyRequests,
		http.StatusServiceUnavailable,
		http.StatusInternalServerError,
		http.StatusUnprocessableEntity,
		http.StatusBadRequest,
		http.StatusForbidden,
		http.StatusMisdirectedRequest,
	}
	statuses = append(statuses, r.errors...)

	// Another program may have written the order, so that it cannot be read.
	if strings.HasPrefix(r.path, "/v1/orders") && !slices.Contains(statuses, http.StatusConflict) {
		statuses = append(statuses, http.StatusConflict)
	}

	if s.needsCredential(r) {
		statuses = append(statuses, http.StatusUnauthorized)
	}

	if r.body {
		statuses = append(statuses, http.StatusRequestTimeout, http.StatusRequestEntityTooLarge, http.StatusUnsupportedMediaType)
	}

	return statuses
}

func operationOf(item *huma.PathItem, method string) *huma.Operation {
	switch method {
	case http.MethodGet:
		return item.Get
	case http.MethodPost:
		return item.Post
	case http.MethodPut:
		return item.Put
	default:
		return item.Delete
	}
}

// completeOperation adds the parts of the document that huma cannot derive from the types:
// links, further statuses and headers.
func completeOperation(op *huma.Operation, r route) {
	success := op.Responses[strconv.Itoa(op.DefaultStatus)]
	success.Links = r.links

	for _, status := range r.alsoStatus {
		also := *success
		also.Description = http.StatusText(status)
		op.Responses[strconv.Itoa(status)] = &also
	}

	for _, response := range op.Responses {
		if response.Headers == nil {
			response.Headers = map[string]*huma.Param{}
		}
		response.Headers["X-Request-Id"] = &huma.Param{
			Description: "Identifies this request in the server's log.",
			Schema:      &huma.Schema{Type: "string"},
		}
	}

	for status, header := range map[string]string{
		"401": "WWW-Authenticate",
		"415": "Accept",
		"429": "Retry-After",
		"503": "Retry-After",
	} {
		if response := op.Responses[status]; response != nil {
			response.Headers[header] = &huma.Param{Schema: &huma.Schema{Type: "string"}}
		}
	}

	// checkParameters refuses a parameter without a value.
	for _, parameter := range op.Parameters {
		if one := 1; (parameter.In == "query" || parameter.In == "header") && parameter.Schema.Type == huma.TypeString && parameter.Schema.MinLength == nil {
			parameter.Schema.MinLength = &one
		}
	}

	if r.isAdmin() {
		op.Parameters = append(op.Parameters, reasonParameter())
	}

	// Every operation with a body requires the body.
	if op.RequestBody != nil {
		op.RequestBody.Required = true
	}
}
