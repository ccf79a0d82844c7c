package api_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"

	"ratchet/api"
	"ratchet/api/auth"
	"ratchet/streams"
)

// markedField is in every field and header of these tests, with a number after it.
const markedField = "MARKED-of-more-than-24-characters-"

var fieldMark = regexp.MustCompile(markedField + `[0-9]+x`)

// secretMembers are the members of requests that are secrets: no answer repeats them to any caller.
var secretMembers = []string{"pin", "secret", "ticket", "headers"}

// logged are the members that a log may show: ids and names, which callers choose and in which no secret may be
// (docs/guides/api.md).
var logged = []string{
	"sku", "orderId", "event", "payer", "payee", "account", "hold", "handler", "from", "code", "kind", "prefix", "id", "parcel", "currency", "0",
}

// markedFields returns bodies of the operation, each with a mark in the place of one text, as the schema has it, as a list of
// it, and cut short; and where the mark is.
func markedFields(d document, op documented, body string, number *int) (bodies []string, where []string) {
	d.texts(op.RequestBody.Content["application/json"].Schema, "", func(pointer string, s schema) {
		var members map[string]any
		if json.Unmarshal([]byte(body), &members) != nil || pointer == "" {
			return
		}
		*number++
		text := fmt.Sprintf("%s%dx", markedField, *number)

		var value any = text
		if s.open() || strings.HasSuffix(pointer, "/headers") {
			value = map[string]any{"X-Marked": text}
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

		name := parts[len(parts)-1]
		for _, v := range []any{value, []any{value}} {
			into[name] = v

			whole, _ := json.Marshal(members)
			bodies = append(bodies, string(whole))
			where = append(where, pointer)
		}
		bodies, where = append(bodies, bodies[len(bodies)-2][:len(bodies[len(bodies)-2])-1]), append(where, pointer)
	})

	return bodies, where
}

// TestNoFieldIsLogged sends every operation of the document with a mark in each text of its body, in every parameter and in
// headers: valid, of a wrong type, and cut short. Neither the log at its lowest level nor the audit lines show a mark, but
// for ids; and no answer shows one that was a secret, to any caller.
func TestNoFieldIsLogged(t *testing.T) {
	if testing.Short() {
		t.Skip("one client, and every operation")
	}

	d := readDocument(t)
	number, secrets, planted := 0, map[string]string{}, map[string]string{}
	granted := person(auth.DefaultTenant, auth.Admin)
	granted.Personal = true

	for _, row := range repeats {
		path, method, op := "", "", documented{}
		for _, o := range operations(t) {
			if o.id == row.operation {
				path, method, op = o.path, o.method, d.Paths[o.path][strings.ToLower(o.method)]
			}
		}

		if path == "" || strings.HasSuffix(row.operation, "-callback") { // signed by others
			continue
		}

		s := newAPIServer(t, func(c *api.Config) {
			dev(c)
			c.Handlers = []streams.Handler{{Name: "notify", Handle: refuses}}
		})

		result := ""
		if row.setup != nil {
			result = row.setup(s)
		}

		to := strings.ReplaceAll(row.path, "$", result)
		bodies, where := markedFields(d, op, strings.ReplaceAll(row.body, "$", result), &number)

		var answers strings.Builder
		for i, body := range bodies {
			a := s.as(granted, method, to, body, "Idempotency-Key", fmt.Sprint("k-", i))
			answers.WriteString(a.text)

			for _, m := range fieldMark.FindAllString(body, -1) {
				planted[m] = row.operation + where[i]

				if name := where[i][strings.LastIndex(where[i], "/")+1:]; slices.Contains(secretMembers, name) {
					secrets[m] = planted[m]
				}
			}
		}

		// Headers and parameters of queries.
		for _, name := range []string{"Idempotency-Key", "Prefer", "If-Match", "If-None-Match", "Last-Event-ID", "Traceparent", "Tracestate", "Baggage", "Cookie", "Authorization", "X-Ratchet-Token", "User-Agent", "Referer"} {
			number++
			m := fmt.Sprintf("%s%dx", markedField, number)
			planted[m] = row.operation + " header " + name
			s.as(granted, method, to, row.body, name, m)
		}

		for _, p := range op.Parameters {
			if p.In == "query" {
				number++
				m := fmt.Sprintf("%s%dx", markedField, number)
				planted[m] = row.operation + " parameter " + p.Name
				s.as(granted, method, to+"?"+p.Name+"="+m, row.body)
			}
		}

		if len(secrets) > 0 && slices.ContainsFunc(where, func(pointer string) bool {
			return slices.Contains(secretMembers, pointer[strings.LastIndex(pointer, "/")+1:])
		}) {
			for path, methods := range d.Paths {
				if get, is := methods[strings.ToLower(http.MethodGet)]; is && get.OperationID != "watch-order" {
					for _, target := range d.gets(t, path, get) {
						answers.WriteString(s.as(granted, http.MethodGet, target, "").text)
					}
				}
			}
		}

		for _, m := range fieldMark.FindAllString(answers.String(), -1) {
			if at, is := secrets[m]; is && !strings.HasSuffix(at, "endpoint-secret/secret") && !strings.HasSuffix(at, "-endpoint/secret") { // shown once, to its owner
				t.Errorf("an answer after %s shows the secret of %s: %s", row.operation, at, regexp.MustCompile(`.{0,100}`+m).FindString(answers.String()))
			}
		}

		for line := range strings.Lines(s.log.String()) {
			for _, m := range fieldMark.FindAllString(line, -1) {
				at := planted[m]
				if !slices.Contains(logged, at[strings.LastIndexAny(at, "/ ")+1:]) {
					t.Errorf("the log shows %s: %.400s", at, line)
				}
			}
		}
	}

	if number < 300 || len(secrets) < 6 {
		t.Errorf("only %d marks, %d of them secrets", number, len(secrets))
	}
}
