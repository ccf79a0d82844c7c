package api_test

import (
	"encoding/base64"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"

	"ratchet/api"
	"ratchet/api/auth"
	"ratchet/streams"
)

var foreignRequests = flag.Int("foreign-requests", 2_500, "how many requests ask for another tenant's things")

// setUpBelowTheAPI are the operations whose setup writes to the tables itself, so that its things are the default tenant's.
var setUpBelowTheAPI = []string{
	"fail-parked-task", "complete-parked-task", "fail-parked-task-with-error", "redrive-execution", "repair-execution", "book-shipment-again",
	"end-carrier-report", "pause-handler", "resume-handler", "discard-dead-letter", "redrive-dead-letter", "redrive-dead-letters", "replay-order", "resend",
	"change-endpoint", "remove-endpoint", "enable-endpoint", "disable-endpoint", "rotate-endpoint-secret", "test-endpoint",
}

// alsoMade makes what only routes for reading find, beside the setup of an operation, and returns its ids by the parameter.
var alsoMade = map[string]func(*apiServer) map[string]string{
	"book-shipment-again": func(s *apiServer) map[string]string { // an order that is looked at again
		s.serveExecutions()
		placed(s)

		return nil
	},
	"redrive-execution": func(*apiServer) map[string]string { return map[string]string{"execution": "o-1"} },
	"resend": func(*apiServer) map[string]string {
		return map[string]string{"delivery": base64.RawURLEncoding.EncodeToString([]byte("o-1/0/2/shop"))}
	},
}

// missing returns an id of the form of another one, of which there is no thing.
func missing(parameter, id string, n int) string {
	switch {
	case parameter == "delivery":
		return base64.RawURLEncoding.EncodeToString(fmt.Appendf(nil, "nb-%d/0/2/shop", n))
	case len(id) > 20: // the server has made it
		return id[:len(id)-6] + fmt.Sprintf("%06d", n)
	default:
		return fmt.Sprint("nb-", n)
	}
}

// target is an operation, and the ids of things that it finds for their owner.
type target struct {
	operation
	ids  map[string]string // by the parameter of the path
	path string            // the other parameters have values
	body string
	key  bool
}

// with returns the path with the ids.
func (t target) with(ids map[string]string) string {
	path := t.path
	for name, id := range ids {
		path = strings.ReplaceAll(path, "{"+name+"}", id)
	}

	return path
}

// ofThePrograms are parameters that name no thing of a tenant, and why.
var ofThePrograms = map[string]string{
	"handler": "a name in the source of the program, which has the same handlers for all tenants",
}

// queryOf returns the query parameters that the operation requires, with the values of the document's examples.
func queryOf(d document, o operation) string {
	query := url.Values{}
	for _, p := range d.Paths[o.path][strings.ToLower(o.method)].Parameters {
		if p.In == "query" && p.Required {
			query.Set(p.Name, fmt.Sprint(p.Schema.Examples[0]))
		}
	}

	if len(query) == 0 {
		return ""
	}

	return "?" + query.Encode()
}

// idsOf returns the parameters of the operation's path that are ids of things: texts that are none of a few fixed words, and no name of
// the program's.
func idsOf(d document, o operation) (names []string) {
	for _, p := range d.Paths[o.path][strings.ToLower(o.method)].Parameters {
		if p.In == "path" && d.resolve(p.Schema).Type == "string" && len(p.Schema.Enum) == 0 && ofThePrograms[p.Name] == "" {
			names = append(names, p.Name)
		}
	}

	return names
}

// valuesOf returns the values that the path has for the parameters of the template.
func valuesOf(t *testing.T, template, path string) map[string]string {
	t.Helper()

	values := map[string]string{}
	parts := strings.Split(path, "/")

	for i, part := range strings.Split(template, "/") {
		if strings.HasPrefix(part, "{") {
			values[strings.Trim(part, "{}")] = parts[i]
		} else if parts[i] != part {
			t.Fatalf("%s is no path of %s", path, template)
		}
	}

	return values
}

// targetsOf returns the operation of the row with the ids that its setup has made, and each route for reading that takes such ids.
func targetsOf(t *testing.T, d document, s *apiServer, row repeated, result string) (targets []target) {
	t.Helper()

	var own operation
	for _, o := range operations(t) {
		if o.id == row.operation {
			own = o
		}
	}

	in := strings.NewReplacer("$", result)
	values := valuesOf(t, own.path, in.Replace(row.path))

	if more := alsoMade[row.operation]; more != nil {
		maps.Copy(values, more(s))
	}

	for _, o := range operations(t) {
		names := idsOf(d, o)
		known := func(name string) bool { return values[name] != "" }
		unknown := slices.DeleteFunc(parametersOf(o.path), known)

		if len(names) == 0 || len(unknown) > 0 || o.id != own.id && o.method != http.MethodGet {
			continue
		}

		at := target{operation: o, ids: map[string]string{}, path: o.path + queryOf(d, o)}
		for name, value := range values {
			if slices.Contains(names, name) {
				at.ids[name] = value
			} else {
				at.path = strings.ReplaceAll(at.path, "{"+name+"}", value)
			}
		}

		if o.id == own.id {
			at.body, at.key = in.Replace(row.body), row.keyed
		}
		targets = append(targets, at)
	}

	return targets
}

// parametersOf returns the names of the parameters in a template.
func parametersOf(path string) []string {
	names := parameter.FindAllString(path, -1)
	for i, name := range names {
		names[i] = strings.Trim(name, "{}")
	}

	return names
}

// ofTheMoment are the members of an answer that differ from request to request.
var ofTheMoment = regexp.MustCompile(`"(took|fence|ticket|secret|id|incarnation)":[^,}]*|"code":"SPRING-[^"]*"|"[^"]*\d\d\d\d-\d\d-\d\dT[^"]*"`)

// TestThingsOfOtherTenantsSeemNotToExist sends 2,500 requests, and as many for comparison: each operation of the document whose path
// has an id, with ids of another tenant's things and with guesses of their stored ids. Each gets the same answer as the same request
// for a thing that does not exist. The things are there, and stay as they are: their owner finds them before, and changes them afterwards.
func TestThingsOfOtherTenantsSeemNotToExist(t *testing.T) {
	d := readDocument(t)
	random := rand.New(rand.NewPCG(1, 2))
	found := map[string]bool{} // by the operation: its owner found the thing

	requests := *foreignRequests
	if testing.Short() {
		requests = 300
	}

	for _, row := range repeats {
		s := newAPIServer(t, func(c *api.Config) {
			dev(c)
			withProcesses(t)(c)
			c.Handlers = []streams.Handler{repeatHandler}
		})

		s.tenant = "acme"
		if slices.Contains(setUpBelowTheAPI, row.operation) {
			s.tenant = auth.DefaultTenant
		}

		result := ""
		if row.setup != nil {
			result = row.setup(s)
		}

		targets := targetsOf(t, d, s, row, result)
		if len(targets) == 0 {
			continue
		}

		s.asForeigners(t, targets, found, row, requests/len(repeats)+1, random)
	}

	for _, o := range operations(t) {
		if len(idsOf(d, o)) > 0 && o.scope != "" && !found[o.id] {
			t.Errorf("%s %s: no row of repeats, and none of alsoMade, makes a thing that it finds for its owner", o.method, o.path)
		}
	}
}

// asForeigners sends requests of foreigners for the targets, between those of the owner.
func (s *apiServer) asForeigners(t *testing.T, targets []target, found map[string]bool, row repeated, requests int, random *rand.Rand) {
	t.Helper()

	owner := func(at target) answer {
		if at.key {
			return s.ask(at.method, at.with(at.ids), at.body, "Idempotency-Key", "owner")
		}

		return s.ask(at.method, at.with(at.ids), at.body)
	}

	for _, at := range targets {
		if at.method == http.MethodPut { // it makes the thing
			s.want(owner(at), row.status, "")
		}
	}

	for _, at := range targets {
		switch {
		case at.id == "watch-order": // its answer does not end
			found[at.id] = true
		case at.method == http.MethodGet && owner(at).StatusCode < http.StatusBadRequest:
			found[at.id] = true
		}
	}

	// Reading first: what a foreigner makes under such an id is the foreigner's own.
	slices.SortStableFunc(targets, func(a, b target) int { return strings.Compare(a.method, b.method) })

	each := requests/len(targets) + 1
	for _, at := range targets {
		for n := range each {
			s.asForeigner(t, at, n, random)
		}
	}

	for _, at := range targets {
		if at.id == row.operation {
			s.want(owner(at), row.status, "")
			found[at.id] = true
		}
	}
}

// asForeigner sends a request with the ids of the target, and one with ids that nothing has.
func (s *apiServer) asForeigner(t *testing.T, at target, n int, random *rand.Rand) {
	t.Helper()

	foreigners := []auth.Tenant{auth.Tenant(fmt.Sprint("evil-", n)), auth.Tenant(fmt.Sprintf("%s-%d", s.tenant, n)), s.tenant[:3], auth.DefaultTenant}
	if s.tenant == auth.DefaultTenant {
		foreigners = foreigners[:3]
	}

	by := foreigners[random.IntN(len(foreigners))]
	if at.method != http.MethodGet {
		by = foreigners[random.IntN(2)] // who has made nothing yet
	}

	// The first request has the plain ids.
	format := "%s"
	if n > 0 {
		format = []string{"%s", "acme:%s", "acme%%3A%s", "acme-%s", "acme.%s", "%%3A%s"}[random.IntN(6)]
	}

	theirs, none := map[string]string{}, map[string]string{}
	var back []string // from what nothing has to what is the owner's

	for name, id := range at.ids {
		lacks := missing(name, id, n)
		theirs[name], none[name] = fmt.Sprintf(format, id), fmt.Sprintf(format, lacks)
		back = append(back, lacks, id)
	}

	send := func(key string, ids map[string]string) answer {
		var headers []string
		if at.key {
			headers = []string{"Idempotency-Key", fmt.Sprint(key, n)}
		}

		return s.as(whose(by, auth.Admin), at.method, at.with(ids), at.body, headers...)
	}

	got, want := send("a", theirs), send("b", none)
	gotText := ofTheMoment.ReplaceAllString(got.text, "")
	wantText := ofTheMoment.ReplaceAllString(strings.NewReplacer(back...).Replace(want.text), "")

	if got.StatusCode != want.StatusCode || gotText != wantText {
		t.Errorf("%s of %s by %s: %d %s; for things that do not exist: %d %s", at.with(theirs), at.id, by, got.StatusCode, got.text, want.StatusCode, want.text)
	}
}
