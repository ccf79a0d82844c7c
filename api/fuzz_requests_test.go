package api_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"ratchet/api"
	"ratchet/streams"
)

// extremes are values that break rules, or are at their bounds.
var extremes = []string{
	`null`, `true`, `0`, `-1`, `1`, `1.5`, `1e3`, `9007199254740991`, `9223372036854775807`, `-9223372036854775808`, `1000000000000000`, `1e400`,
	`""`, `"a"`, `"EUR"`, `"XXX"`, `"\u0000"`, `"\ud83d\ude00"`, `"a:b"`, `"a#payment"`, `"0001-01-01T00:00:00Z"`, `"9999-12-31T23:59:59Z"`, `"2030-01-01T00:00:00+23:59"`,
	`[]`, `[[]]`, `{}`, `{"a":{"b":[null]}}`, `"` + long + `"`, `{"a":"` + long + `","` + long + `":"a"}`,
}

// long is longer than each text of the document may be, but for those that have no bound of their own.
var long = strings.Repeat("x", 3000)

// variations returns the body with each of its members, at all levels, replaced by each of
// the extremes, removed, and in lists repeated.
func variations(t testing.TB, body string) []string {
	t.Helper()

	if body == "" {
		return []string{"", "{}", "x"}
	}

	var parsed any
	if err := json.Unmarshal([]byte(body), &parsed); err != nil {
		t.Fatalf("%v in %s", err, body)
	}

	var out []string
	text := func() {
		b, err := json.Marshal(parsed)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, string(b))
	}

	var vary func(value any, set func(any))
	vary = func(value any, set func(any)) {
		for _, extreme := range extremes {
			set(json.RawMessage(extreme))
			text()
		}
		set(value)

		switch v := value.(type) {
		case map[string]any:
			for name, member := range v {
				vary(member, func(to any) { v[name] = to })
				delete(v, name)
				text()
				v[name] = member
			}
		case []any:
			set(append(append([]any{}, v...), v...))
			text()

			many := []any{}
			for range 120 {
				many = append(many, v[0])
			}
			set(many)
			text()
			set(v)
			vary(v[0], func(to any) { v[0] = to })
		}
	}
	vary(parsed, func(to any) { parsed = to })

	return out
}

// FuzzRequests sends requests of every operation to an API whose data store works. No answer
// is a 5xx: what is wrong with a request is always said, in a detail and in a rule for each field.
func FuzzRequests(f *testing.F) {
	s := newAPIServer(f, func(c *api.Config) { dev(c); c.Handlers = []streams.Handler{repeatHandler} })
	byID := map[string]operation{}
	for _, o := range operations(f) {
		byID[o.id] = o
	}

	s.must("PUT", "/v1/inventory/mug", `{"available":1000}`)
	placed(s)
	funded(s)
	s.authorize("p-1")
	coupon(s)
	ticket := claimed(s)

	for i, row := range repeats {
		in := strings.NewReplacer("$", ticket)
		if strings.Contains(row.body, `"fence":$`) {
			in = strings.NewReplacer("$", "1")
		}

		for k, body := range variations(f, in.Replace(row.body)) {
			if testing.Short() && k%10 > 0 {
				continue // one request comes after the other
			}
			f.Add(uint8(i), "", body, "key", `"t1.c0"`)
		}
	}

	for i := range repeats {
		if testing.Short() && i%10 > 0 {
			continue
		}

		for _, id := range []string{"..", ".", "a:b", "#", "a#payment", "%00", "%", " ", strings.Repeat("a", 39), strings.Repeat("a", 96), strings.Repeat("a", 300), "ü"} {
			f.Add(uint8(i), id, "{}", "key", "*")
		}
		f.Add(uint8(i), "", "", strings.Repeat("k", 256), `W/"t1.c0"`)
		f.Add(uint8(i), "", "{}", "\x7f", `"t999999999999999.c999999999999999"`)
	}

	f.Fuzz(func(t *testing.T, n uint8, id, body, key, match string) {
		row := repeats[int(n)%len(repeats)]

		path := strings.ReplaceAll(row.path, "$", "x")
		if id != "" {
			segments := strings.Split(path, "/")
			segments[min(3, len(segments)-1)] = url.PathEscape(id)
			path = strings.Join(segments, "/")
		}

		r := httptest.NewRequest(byID[row.operation].method, "http://localhost/", strings.NewReader(body))
		r.URL.Path, r.URL.RawPath = path, path
		if unescaped, err := url.PathUnescape(path); err == nil {
			r.URL.Path = unescaped
		}
		r.Header["Content-Type"] = []string{"application/json"}
		r.Header["Idempotency-Key"] = []string{key}
		r.Header["If-Match"] = []string{match}
		r.Header[api.ReasonHeader] = []string{"test"}

		rec := httptest.NewRecorder()
		s.handler.ServeHTTP(rec, r)

		s.t = t
		s.explained(r.Method+" "+path+" "+body, answer{rec.Result(), rec.Body.String()})

		if rec.Code >= http.StatusInternalServerError {
			t.Errorf("%s %s %q, key %q, If-Match %q: %d %s\n%s", r.Method, path, body, key, match, rec.Code, rec.Body, s.log.String()[max(0, s.log.Len()-600):])
		}
	})
}
