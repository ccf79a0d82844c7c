package api_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"ratchet/api"
	"ratchet/api/auth"
	"ratchet/streams"
)

// document is what the tests of personal data read of the OpenAPI document.
type document struct {
	Paths      map[string]map[string]documented
	Components struct{ Schemas map[string]schema }
}

type documented struct {
	OperationID string
	Parameters  []struct {
		Name, In string
		Required bool
		Schema   schema
	}
	RequestBody struct{ Content map[string]content }
	Responses   map[string]struct{ Content map[string]content }
}

type content struct{ Schema schema }

type schema struct {
	Ref        string `json:"$ref"`
	Type       any
	Format     string
	Pattern    string
	Enum       []any
	Items      *schema
	AnyOf      []schema
	Properties map[string]schema
	Additional any    `json:"additionalProperties"`
	Personal   string `json:"x-personal"`
	MaxLength  int
	Examples   []any
}

func readDocument(t testing.TB) document {
	t.Helper()

	d, err := documentOnce()
	if err != nil {
		t.Fatal(err)
	}

	return d
}

var documentOnce = sync.OnceValues(func() (d document, err error) {
	text, err := openAPI()
	if err == nil {
		err = json.Unmarshal(text, &d)
	}

	return d, err
})

func (d document) resolve(s schema) schema {
	for s.Ref != "" {
		s = d.Components.Schemas[s.Ref[strings.LastIndex(s.Ref, "/")+1:]]
	}

	return s
}

// open reports whether the schema has members whose names the sender chooses.
func (s schema) open() bool { _, is := s.Additional.(map[string]any); return is }

// texts calls found for each member of the schema that can hold a free text: a string, a map or any JSON.
func (d document) texts(s schema, pointer string, found func(pointer string, s schema)) {
	s = d.resolve(s)

	switch {
	case s.Personal != "", s.open(), s.Type == nil && s.Properties == nil:
		found(pointer, s)
	case s.Items != nil:
		d.texts(*s.Items, pointer+"/0", found)
	case s.Properties != nil:
		for name, member := range s.Properties {
			d.texts(member, pointer+"/"+name, found)
		}
	case s.Type == "string" && len(s.Enum) == 0 && s.Format == "":
		found(pointer, s)
	}
}

// shown are the texts of answers that are shown without the grant, by the name of the member: none of them can
// hold anything that a person is known by, if ids and codes follow the rule of docs/guides/api.md. A text that is not in
// this list needs the tag personal.
var shown = map[string]string{
	"accountId actionId awaited endpoint eventId failureCode handler hold holdId id key on orderId parcel payee payer paymentId ref sku transferId account report request payment execution": "ids, which callers choose; docs/guides/api.md says that no person may be in them",
	"state previousState from to event code act effect milestone type currency status incarnation source trace shard":                                                                        "names of the definition, codes, and marks that the server makes",
	"resource":                                       "the ARN of an activity, or the name of an integration",
	"secret ticket next":                             "secrets of the caller itself, and cursors",
	"host name owner version reason unread":          "about a process of the service, an order that cannot be read, or a probe",
	"missing note unmet overdue if what text action": "sentences of the server that quote no text of a request; those of a status are masked by themselves",
	"initial place doc startAt awaits how actual order attribute workflow path": "of the definition and its state machine, of the check of both, and of their layouts",
	"skipped":      "why a survey counted nothing, in words of the server",
	"problem":      "a code of a job",
	"kind subject": "a code, and what a slow question has found something about: an id, or a part of the setup",
	"step reservation deadLetter delivery change": "steps, kinds and ids",
	"parent checkpoint gapFrom":                   "of a shard",
	"via":                                         "a word",
	"data":                                        "of an event stream, whose events are masked by themselves",
	"title detail pointer in":                     "of a problem, which repeats no value of a request",
}

// isShown reports whether the member is in the list.
func isShown(pointer string) bool {
	name := pointer[strings.LastIndex(strings.TrimSuffix(pointer, "/0"), "/")+1:]
	name = strings.TrimSuffix(name, "/0")

	for names := range shown {
		if slices.Contains(strings.Fields(names), name) {
			return true
		}
	}

	return false
}

// lists of answers whose elements are texts of the server's own.
var shownLists = []string{"parts", "states", "events", "content", "from", "if", "next", "orders", "workers", "problems", "commands", "unreadable", "incomplete", "needs", "expected", "steps", "skips"}

func TestEveryTextOfAnAnswerIsDecided(t *testing.T) {
	d := readDocument(t)
	undecided := map[string]string{} // the operation, by the member

	for _, methods := range d.Paths {
		for _, op := range methods {
			for status, response := range op.Responses {
				for _, c := range response.Content {
					d.texts(c.Schema, "", func(pointer string, s schema) {
						parts := strings.Split(pointer, "/")

						switch {
						case s.Personal != "", isShown(pointer):
						case parts[len(parts)-1] == "0" && slices.Contains(shownLists, parts[len(parts)-2]):
						case s.open() && slices.Contains([]string{"rates", "stuckOrders", "counts"}, parts[len(parts)-1]): // numbers
						default:
							undecided[pointer] = op.OperationID + " " + status
						}
					})
				}
			}
		}
	}

	for pointer, where := range undecided {
		t.Errorf("%s of %s: can it hold anything of a person? Give it the tag personal, or list it here", pointer, where)
	}
}

// named are the texts of requests in which no mark is planted: ids, codes and secrets have other rules.
var named = []string{
	"sku", "currency", "event", "from", "code", "handler", "orderId", "payer", "payee", "account", "hold", "ticket", "pin", "secret", "prefix",
	"filter/states/0", "filter/events/0",
	"own/remove/0", "own/if/exists/0", "own/if/missing/0", "own/if/equals", // names of attributes; conditions that would not hold
	"consume-action/holder", "release-action/holder", // they repeat a key
	"create-job/migration/mapping", "create-job/migration/definitions/0", "plan-migration/mapping", "plan-migration/definitions/0", // files of definitions
	"create-job/filter/error", "filter/endpoint", "filter/handler", "ids/0",
	"redrive-dead-letters/error", // it is compared with errors, which no request has written
}

func isNamed(operation, pointer string) bool {
	return slices.ContainsFunc(named, func(n string) bool {
		return strings.HasSuffix(pointer, "/"+n) || operation+pointer == n
	})
}

// planter plants marks into requests.
type planter struct {
	d      document
	number int
	where  map[string]string // by mark
}

var mark = regexp.MustCompile(`PERSON[0-9]+x`)

// mark returns a new mark as a value of the schema.
func (p *planter) mark(at string, s schema) any {
	p.number++
	name := fmt.Sprintf("PERSON%dx", p.number)
	p.where[name] = at

	switch {
	case strings.HasSuffix(at, "/destination"):
		return "https://example.com/hook?of=" + name
	case strings.HasSuffix(at, "/filter/attributes"):
		return map[string]any{"customer": name}
	case strings.HasSuffix(at, "/own"), strings.HasSuffix(at, "/own/set"):
		return map[string]any{"name" + name: map[string]any{"S": name + " of Bonn"}}
	case s.open():
		return map[string]any{"name" + name: name + " of Bonn"}
	case s.Type == nil: // any JSON
		return map[string]any{"name" + name: name + " of Bonn"}
	case s.Pattern != "" && !regexp.MustCompile(strings.ReplaceAll(s.Pattern, `\u`, `\x`)).MatchString(name+" of Bonn"):
		return name
	}

	return name + " of Bonn"
}

// plant returns the body with a mark in each text that the request can carry.
func (p *planter) plant(op documented, body string) string {
	var members map[string]any
	if body == "" || json.Unmarshal([]byte(body), &members) != nil {
		return body
	}

	p.d.texts(op.RequestBody.Content["application/json"].Schema, "", func(pointer string, s schema) {
		if isNamed(op.OperationID, pointer) {
			return
		}

		if pointer == "" { // the body itself is a map of texts
			maps.Copy(members, p.mark(op.OperationID, s).(map[string]any))
			return
		}

		into, parts := members, strings.Split(pointer[1:], "/")
		for _, name := range parts[:len(parts)-1] {
			inner, is := into[name].(map[string]any)
			if !is {
				inner = map[string]any{}
				into[name] = inner
			}
			into = inner
		}
		into[parts[len(parts)-1]] = p.mark(op.OperationID+pointer, s)
	})

	text, _ := json.Marshal(members)

	return string(text)
}

// pathIDs are the ids of the orders, payments and other things that the setups of the operations create.
var pathIDs = map[string][]string{
	"accountId": {"alice", "bank"}, "holdId": {"h-1"}, "action": {"SPRING-26"}, "key": {"k", "l"}, "handler": {"notify"}, "endpoint": {"shop"},
	"sku": {"mug"}, "paymentId": {"p-1"}, "transferId": {"t-1"}, "orderId": {"o-1", "b-1"}, "execution": {"o-1"}, "state": {"SHIPPED"}, "letter": {"x"}, "delivery": {"d"},
	"scheduledId": {"0123456789abcdef0123456789abcdef"}, // its id is made by the server; the list shows the same members
	"question":    {"doctor", "verify"},
	"job":         {"none"}, // its id is made by the server; the list shows the same members
}

// gets returns the targets of the operation: each id in the path, each value of a parameter with fixed ones.
func (d document) gets(t *testing.T, path string, op documented) []string {
	t.Helper()
	targets := []string{path}

	for _, p := range op.Parameters {
		values := p.Schema.Enum
		if p.In == "path" {
			values = nil
			for _, id := range pathIDs[p.Name] {
				values = append(values, id)
			}

			if len(values) == 0 {
				t.Fatalf("%s: no id for {%s}: add one to pathIDs", op.OperationID, p.Name)
			}
		}

		if len(values) == 0 || p.Name == "state" && p.In == "query" {
			continue
		}

		var more []string
		for _, target := range targets {
			for _, value := range values {
				if p.In == "path" {
					more = append(more, strings.ReplaceAll(target, "{"+p.Name+"}", fmt.Sprint(value)))
				} else {
					more = append(more, target+"?"+p.Name+"="+fmt.Sprint(value))
				}
			}
		}
		targets = more
	}

	return targets
}

// TestNoMemberShowsAPerson sends each request that changes something with a mark in every text that it can carry, and
// then asks every route. Only callers with the grant see a mark, whether they ask, repeat the request, or search.
func TestNoMemberShowsAPerson(t *testing.T) {
	if testing.Short() {
		t.Skip("one client, and every operation")
	}

	d := readDocument(t)
	p := &planter{d: d, where: map[string]string{}}
	granted, ungranted := person(auth.DefaultTenant, auth.Admin), person(auth.DefaultTenant, auth.Admin)
	granted.Personal = true

	seen, maskedMembers := map[string]bool{}, map[string]bool{}

	for _, row := range repeats {
		s := newAPIServer(t, func(c *api.Config) {
			dev(c)
			withProcesses(t)(c)
			c.Handlers = []streams.Handler{{Name: "notify", Handle: refuses}}
		})

		result := ""
		if row.setup != nil {
			result = row.setup(s)
		}

		path, method, op := "", "", documented{}
		for _, o := range operations(t) {
			if o.id == row.operation {
				path, method, op = o.path, o.method, d.Paths[o.path][strings.ToLower(o.method)]
			}
		}

		if path == "" {
			t.Fatalf("%s is no operation", row.operation)
		}

		if strings.HasSuffix(row.operation, "-callback") { // signed by others
			continue
		}

		before := p.number

		body := p.plant(op, strings.ReplaceAll(row.body, "$", result))
		var headers []string
		if row.keyed {
			headers = []string{"Idempotency-Key", "k-1"}
		}

		send := func(by api.Identity) answer {
			return s.as(by, method, strings.ReplaceAll(row.path, "$", result), body, headers...)
		}
		note := func(a answer) {
			for _, m := range mark.FindAllString(a.text, -1) {
				seen[m] = true
			}
		}
		never := func(what string, a answer) {
			if m := mark.FindString(a.text); m != "" {
				t.Errorf("after %s, %s shows what was planted in %s: %s", row.operation, what, p.where[m], a.text)
			}

			noteMasked(a.text, maskedMembers)
		}

		a := send(granted)
		if a.StatusCode != row.status {
			t.Errorf("%s: %d %s, want %d, with the body %s", row.operation, a.StatusCode, a.text, row.status, body)
			continue
		}
		note(a)

		if !strings.HasSuffix(row.operation, "-endpoint") {
			never("its repeat", send(ungranted))
		}

		if then, has := afterwards[row.operation]; has {
			note(s.as(granted, "POST", then[0], then[1], "Idempotency-Key", "k-2"))
			never("POST "+then[0], s.as(ungranted, "POST", then[0], then[1], "Idempotency-Key", "k-2"))
		}

		if p.number == before { // it can carry no text
			continue
		}

		for path, methods := range d.Paths {
			op, is := methods["get"]
			if !is || op.OperationID == "watch-order" {
				continue
			}

			for _, target := range d.gets(t, path, op) {
				note(s.as(granted, "GET", target, ""))
				never("GET "+target, s.as(ungranted, "GET", target, ""))
			}
		}
	}

	for m, at := range p.where {
		if !seen[m] && !slices.Contains(unseen, at) {
			t.Errorf("no answer shows a caller with the grant what was planted in %s", at)
		}
	}

	for _, member := range []string{"customer", "reference", "metadata", "own", "shippingAddress", "billingAddress", "text", "by", "holder", "result", "message", "payload", "why"} {
		if !maskedMembers[member] {
			t.Errorf("no answer has masked %s", member)
		}
	}
}

// afterwards are requests whose answers show what another one has stored: path and body, by the operation.
var afterwards = map[string][2]string{
	"complete-claim": {"/v1/claims/k", `{"payload":1}`},
	"fail-claim":     {"/v1/claims/k", `{"payload":1}`},
	"put-action":     {"/v1/actions/SPRING-26/consume", `{}`},
}

// unseen are the texts of requests that no answer of the tested routes shows.
var unseen = []string{
	"claim/payload", "apply-transition/values", "schedule-transition/values", // only compared
	"schedule-transition/own/set",                   // kept until its time; the order shows it then
	"create-action/payload", "make-actions/payload", // as that of put-action
	"complete-parked-task/output", "fail-parked-task-with-error/cause", "fail-parked-task-with-error/error", // of an execution
}

var maskedMember = regexp.MustCompile(`"([A-Za-z]+)":("|\["|\{"|"[a-z]+:)\[masked\]`)

// noteMasked notes the members that have the masked value.
func noteMasked(text string, into map[string]bool) {
	for _, m := range maskedMember.FindAllStringSubmatch(text, -1) {
		into[m[1]] = true
	}
}

func quoted(text string) string {
	out, _ := json.Marshal(text)
	return string(out)
}

func TestTheMaskedFormIsRefusedInRequests(t *testing.T) {
	s := newAPIServer(t, dev)
	s.must("PUT", "/v1/orders/o-1", mugs)

	with := func(more string) string { return strings.TrimSuffix(mugs, "}") + "," + more + "}" }

	for _, row := range []struct{ about, method, path, body, in, pointer string }{
		{"a value", "PUT", "/v1/orders/o-2", with(`"metadata":{"a":"[masked]"}`), "body", "/metadata/a"},
		{"a name", "PUT", "/v1/orders/o-2", with(`"metadata":{"[masked]":"a"}`), "body", "/metadata/[masked]"},
		{"a part of a value", "PUT", "/v1/orders/o-2", with(`"shippingAddress":{"city":"at [masked], Bonn"}`), "body", "/shippingAddress/city"},
		{"an escaped value", "PUT", "/v1/orders/o-2", with(`"metadata":{"a":"\u005bmasked\u005d"}`), "body", "/metadata/a"},
		{"JSON in a value", "PUT", "/v1/orders/o-2", with(`"metadata":{"a":"{\"name\":\"[masked]\"}"}`), "body", "/metadata/a"},
		{"escaped JSON in a value", "PUT", "/v1/orders/o-2", with(`"metadata":{"a":"{\"name\":\"\\u005bmasked]\"}"}`), "body", "/metadata/a"},
		{"JSON in JSON in a value", "PUT", "/v1/orders/o-2", with(`"metadata":{"a":` + quoted("["+quoted(`{"n":"\u005bmasked]"}`)+"]") + `}`), "body", "/metadata/a"},
		{"a cause", "POST", "/v1/orders/o-1/transitions", `{"event":"hold","cause":{"text":"[masked]"}}`, "body", "/cause/text"},
		{"a note", "POST", "/v1/orders/o-1/notes", `{"text":"[masked]"}`, "body", "/text"},
		{"an address", "PUT", "/v1/orders/o-1/addresses/billing", `{"name":"[masked]"}`, "body", "/name"},
		{"any JSON", "POST", "/v1/claims/k", `{"payload":[{"a":["[masked]"]}]}`, "body", "/payload/0/a/0"},
		{"a filter", "GET", "/v1/dead-letters/notify?order=%5Bmasked%5D", "", "query", "order"},
		{"the query of a search", "GET", "/v1/audit?who=oidc:%5Bmasked%5D", "", "query", "who"},
	} {
		a := s.ask(row.method, row.path, row.body, "Idempotency-Key", "k")

		var p struct {
			Errors []struct{ In, Pointer, Detail string }
		}
		a.read(t, &p)

		if a.StatusCode != http.StatusUnprocessableEntity || a.code() != "invalid_request" || len(p.Errors) != 1 ||
			p.Errors[0].In != row.in || p.Errors[0].Pointer != row.pointer || !strings.Contains(p.Errors[0].Detail, "must not contain [masked]") {
			t.Errorf("%s: %d %s", row.about, a.StatusCode, a.text)
		}
	}

	a := s.want(s.ask("POST", "/v1/orders/o-1/notes", `{"text":"x"}`, "Idempotency-Key", "a[masked]"), http.StatusUnprocessableEntity, "invalid_request")
	if !strings.Contains(a.text, `"pointer":"Idempotency-Key"`) {
		t.Errorf("a key: %s", a.text)
	}

	// Texts that only look like it are values like others.
	for i, text := range []string{"masked", "[ masked ]", "[Masked]", `\\u005bmasked]`, `{"a": "[masked`, `a \\ b`} {
		if strings.Contains(text, "[masked") { // not the whole form
			text = strings.ReplaceAll(text, `"`, `\"`)
		}
		s.want(s.ask("POST", "/v1/orders/o-1/notes", `{"text":"`+text+`"}`, "Idempotency-Key", fmt.Sprint("n", i)), http.StatusOK, "")
	}
}

// A search by a value that the caller may not see would confirm a guess of it.
func TestASearchByPersonalDataNeedsTheGrant(t *testing.T) {
	s := newAPIServer(t, func(c *api.Config) { c.Handlers = []streams.Handler{{Name: "notify", Handle: refuses}} })
	granted := s.key("acme", auth.Admin)
	ungranted := s.keyOf(auth.NewKey{Tenant: "acme", Scope: auth.Admin})
	s.must("PUT", "/v1/orders/o-1", strings.TrimSuffix(mugs, "}")+`,"customer":"c-1","reference":"r-1"}`, "Authorization", granted)

	for _, request := range []struct{ method, path, body string }{
		{"GET", "/v1/orders?customer=c-1", ""},
		{"GET", "/v1/orders?customer=c-2", ""},
		{"GET", "/v1/orders?reference=r-1", ""},
		{"GET", "/v1/audit?who=oidc:ann", ""},
		{"GET", "/v1/audit?who=cli:ann", ""},
		{"POST", "/v1/dead-letters/notify/redrive", `{"error":"Bonn","dryRun":true}`},
	} {
		s.want(s.ask(request.method, request.path, request.body, "Authorization", ungranted), http.StatusForbidden, "forbidden")
		s.want(s.ask(request.method, request.path, request.body, "Authorization", granted), http.StatusOK, "")
	}

	// The id of a key is no person.
	for _, path := range []string{"/v1/orders?state=PENDING", "/v1/audit?who=key:k7", "/v1/audit?act=set-stock"} {
		s.want(s.ask("GET", path, "", "Authorization", ungranted), http.StatusOK, "")
	}
}

// Who may say where notifications go could send personal data there.
func TestEndpointsAreMadeWithTheGrantOnly(t *testing.T) {
	s := newAPIServer(t, nil)
	granted := s.key("acme", auth.Admin)
	ungranted := s.keyOf(auth.NewKey{Tenant: "acme", Scope: auth.Admin})

	const body = `{"destination":"log"}`
	s.want(s.ask("PUT", "/v1/endpoints/shop", body, "Authorization", ungranted), http.StatusForbidden, "forbidden")
	s.want(s.ask("PUT", "/v1/endpoints/shop", body, "Authorization", granted), http.StatusCreated, "")
	s.want(s.ask("POST", "/v1/endpoints/shop/settings", body, "Authorization", ungranted), http.StatusForbidden, "forbidden")
	s.want(s.ask("POST", "/v1/endpoints/shop/disable", "", "Authorization", ungranted), http.StatusOK, "")
}

// Who acted is shown if it is a key or a part of the service, or the caller itself.
func TestActorsThatMayBePersonsAreMasked(t *testing.T) {
	s := newAPIServer(t, nil)

	ann, bob := person(auth.DefaultTenant, auth.Act), person(auth.DefaultTenant, auth.Act)
	bob.ID = "oidc:bob@example.com"
	key := s.keyOf(auth.NewKey{Tenant: auth.DefaultTenant, Scope: auth.Act})

	s.want(s.as(bob, "PUT", "/v1/orders/o-1", mugs), http.StatusCreated, "")
	s.must("PUT", "/v1/orders/o-2", mugs, "Authorization", key)

	for order, want := range map[string]map[string]string{"o-1": {"ann": "oidc:[masked]", "bob": bob.ID}, "o-2": {"ann": "key:"}} {
		for who, actor := range want {
			by := map[string]api.Identity{"ann": ann, "bob": bob}[who]

			if a := s.as(by, "GET", "/v1/orders/"+order, ""); !strings.HasPrefix(a.field("cause", "actor"), actor) || actor == "" {
				t.Errorf("%s sees of %s: %s, want %s", who, order, a.field("cause", "actor"), actor)
			}
		}
	}
}

func TestAnEventStreamMasksCauses(t *testing.T) {
	s := newAPIServer(t, nil)
	s.want(s.as(person(auth.DefaultTenant, auth.Act), "PUT", "/v1/orders/o-1", strings.TrimSuffix(mugs, "}")+`,"cause":{"text":"PERSON1x"}}`), http.StatusCreated, "")
	s.want(s.as(person(auth.DefaultTenant, auth.Act), "POST", "/v1/orders/o-1/transitions", `{"event":"cancel","cause":{"text":"PERSON2x"}}`, "Idempotency-Key", "k"), http.StatusOK, "")

	for _, personal := range []bool{true, false} {
		by := person(auth.DefaultTenant, auth.Read)
		by.Personal = personal

		// The stream of an order in a final state ends by itself.
		a := s.as(by, "GET", "/v1/orders/o-1/events", "")
		if !strings.Contains(a.text, "event: end") || strings.Contains(a.text, "PERSON2x") != personal || strings.Contains(a.text, "[masked]") == personal {
			t.Errorf("with the grant %t: %s", personal, a.text)
		}
	}
}
