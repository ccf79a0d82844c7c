package api_test

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"unicode/utf16"
)

// validBodies are bodies that the operations accept. The variants are made from them.
var validBodies = map[string]string{
	"complete-parked-task":        `{"output":{"a":1}}`,
	"erase-order":                 `{"dryRun":true}`,
	"create-job":                  `{"kind":"executions-redrive","dryRun":true,"rate":5}`,
	"plan-migration":              `{"mapping":"migrations: []"}`,
	"repair-execution":            `{"successor":true}`,
	"end-carrier-report":          `{"cause":{"text":"x"}}`,
	"fail-parked-task-with-error": `{"error":"Order.Lost","cause":"x"}`,

	"redrive-dead-letters": `{"since":"2020-01-01T00:00:00Z","error":"503","dryRun":true}`,
	"replay-order":         `{"handler":"notify","again":true,"dryRun":true}`,

	"create-order":              mugs,
	"put-order":                 mugs,
	"ship-parcel":               `{"lines":[{"sku":"mug","quantity":1}]}`,
	"apply-transition":          `{"event":"pay"}`,
	"add-items":                 `{"items":[{"sku":"cup","quantity":1,"price":300}]}`,
	"add-reserved-items":        `{"items":[{"sku":"cup","quantity":1,"price":300}]}`,
	"change-item":               `{"quantity":2,"price":300}`,
	"set-address":               `{"city":"Berlin"}`,
	"add-note":                  `{"text":"x"}`,
	"schedule-transition":       `{"event":"cancel","at":"` + soon + `"}`,
	"move-scheduled-transition": `{"at":"` + soon + `"}`,
	"set-own":                   `{"own":{"set":{"a":{"S":"x"}}}}`,
	"set-stock":                 `{"available":5}`,

	"create-endpoint":        `{"destination":"log"}`,
	"change-endpoint":        `{"destination":"log"}`,
	"rotate-endpoint-secret": `{"windowSeconds":60}`,

	"reserve-stock":     `{"lines":[{"sku":"mug","quantity":1}]}`,
	"create-action":     `{"expiresAt":"2030-01-01T00:00:00Z","maxAttempts":3,"pin":"4711"}`,
	"put-action":        `{"expiresAt":"2030-01-01T00:00:00Z","maxAttempts":3,"pin":"4711"}`,
	"make-actions":      `{"prefix":"SPRING","count":2,"expiresAt":"2030-01-01T00:00:00Z"}`,
	"consume-action":    `{"pin":"4711"}`,
	"reserve-action":    `{"seconds":5}`,
	"release-action":    `{"holder":"h","fence":1}`,
	"claim":             `{"leaseSeconds":5}`,
	"complete-claim":    `{"ticket":"t"}`,
	"extend-claim":      `{"ticket":"t"}`,
	"release-claim":     `{"ticket":"t"}`,
	"fail-claim":        `{"ticket":"t","code":"c"}`,
	"acquire-lock":      `{"holder":"h"}`,
	"open-account":      `{"currency":"EUR"}`,
	"hold-money":        `{"amount":5,"currency":"EUR"}`,
	"post-transfer":     `{"currency":"EUR","legs":[{"account":"a","amount":-5},{"account":"b","amount":5}]}`,
	"authorize-payment": `{"orderId":"o-1","payer":"a","payee":"b","amount":5,"currency":"EUR"}`,
	"capture-payment":   `{"amount":5}`,
	"refund-payment":    `{"amount":5}`,
}

// marker is part of the values that a variant adds. No answer may contain it.
const marker = "ECHO-ME-9f3c"

// variant is a body that must be refused.
type variant struct {
	name, body, contentType string
}

// variants returns at least 60 invalid bodies, made from a valid one.
func variants(t *testing.T, text string) []variant {
	t.Helper()

	var members map[string]any
	if err := json.Unmarshal([]byte(text), &members); err != nil {
		t.Fatal(err)
	}
	inner := strings.TrimSuffix(strings.TrimPrefix(text, "{"), "}")
	var all []variant
	add := func(name, body string) { all = append(all, variant{name, body, "application/json"}) }

	// Bodies that are not one JSON value.
	for name, body := range map[string]string{
		"nothing":              "",
		"blanks":               "  \n",
		"half":                 "{" + inner,
		"a word":               marker,
		"two values":           text + text,
		"a value and a comma":  text + ",",
		"a value and a word":   text + marker,
		"a trailing comma":     "{" + inner + ",}",
		"a comment":            "/* " + marker + " */" + text,
		"a line comment":       text + "// x",
		"single quotes":        strings.ReplaceAll(text, `"`, `'`),
		"names without quotes": `{x:"` + marker + `"}`,
		"NaN":                  `{"x":NaN}`,
		"Infinity":             `{"x":Infinity}`,
		"a leading zero":       `{"x":01}`,
		"a plus":               `{"x":+1}`,
		"hex":                  `{"x":0x10}`,
		"an open string":       `{"x":"` + marker,
		"a tab in a string":    "{\"x\":\"\t\"}",
		"a bad escape":         `{"x":"\q"}`,
		"half an escape":       `{"x":"\u12"}`,
		"half a surrogate":     `{"x":"\ud800"}`,
		"bad UTF-8":            "{\"x\":\"\xff\"}",
		"bad UTF-8 in a name":  "{\"\xff\":1}",
		"a byte order mark":    "\ufeff" + text,
		"a zero byte":          "\x00" + text,
		"UTF-16":               utf16of(text),
		"gzip":                 gzipped(t, text),
		"true":                 "tru",
		"a colon too many":     `{"x"::1}`,
		"depth 65":             strings.Repeat(`{"x":`, 65) + "1" + strings.Repeat("}", 65),
		"depth 10,000":         strings.Repeat("[", 10_000) + strings.Repeat("]", 10_000),
	} {
		add(name, body)
	}

	// Other kinds of values.
	for name, body := range map[string]string{
		"null":           "null",
		"an array":       "[" + text + "]",
		"a string":       `"` + marker + `"`,
		"a number":       "7",
		"a truth value":  "true",
		"an empty array": "[]",
	} {
		add(name, body)
	}

	// Members that are duplicates, in other case, of another kind, or unknown.
	for _, name := range slices.Sorted(mapKeys(members)) {
		member, _ := json.Marshal(members[name])
		add(name+" twice", "{"+inner+`,"`+name+`":`+string(member)+"}")
		add(name+" twice, once escaped", "{"+inner+`,"\u00`+hex(name[0])+name[1:]+`":`+string(member)+"}")
		add(name+" in capitals, too", "{"+inner+`,"`+strings.ToUpper(name)+`":`+string(member)+"}")
		add(name+" in capitals", strings.Replace(text, `"`+name+`"`, `"`+strings.ToUpper(name)+`"`, 1))
		add(name+" is null", replaced(members, name, nil))
		add(name+" is an object", replaced(members, name, map[string]any{"unknown": marker}))
		add(name+" is an array", replaced(members, name, []any{marker, []any{}}))

		if _, isText := members[name].(string); isText {
			add(name+" is a number", replaced(members, name, 7))
		} else {
			add(name+" is a text", replaced(members, name, marker))
		}

		if _, isNumber := members[name].(float64); isNumber {
			for label, value := range map[string]string{
				"a fraction":   "1.5",
				"huge":         "1e400",
				"beyond 2^53":  "9007199254740993",
				"beyond int64": "99999999999999999999",
				"negative":     "-7e15",
				"a tiny one":   "1e-999",
				"true":         "true",
			} {
				add(name+" is "+label, rewritten(members, name, value))
			}
		}
	}

	for _, name := range []string{"tenant", "state", "transitionId", "transition_id", "id", "__proto__", "constructor", "$schema", ""} {
		if _, known := members[name]; !known && !(name == "transitionId" && members["event"] != nil) {
			add("a member "+name, "{"+inner+`,"`+name+`":{"x":"`+marker+`"}}`)
		}
	}

	// Other media types.
	for _, kind := range []string{"", "text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x", "application/json; charset=latin1", "text/json", "application/xml", "application/jsonx", "application/problem+json"} {
		all = append(all, variant{"sent as " + kind, text, kind})
	}
	all = append(all, variant{"257 KiB", "{" + inner + `,"x":"` + strings.Repeat("a", 257<<10) + `"}`, "application/json"})

	return all
}

func utf16of(text string) string {
	var out bytes.Buffer
	for _, unit := range utf16.Encode([]rune(text)) {
		out.Write([]byte{byte(unit >> 8), byte(unit)})
	}

	return out.String()
}

func gzipped(t *testing.T, text string) string {
	t.Helper()
	var out bytes.Buffer

	w := gzip.NewWriter(&out)
	if _, err := w.Write([]byte(text)); err != nil {
		t.Fatal(err)
	}

	if err := w.Close(); err != nil {
		t.Fatal(err)
	}

	return out.String()
}

func mapKeys(m map[string]any) func(func(string) bool) {
	return func(yield func(string) bool) {
		for k := range m {
			if !yield(k) {
				return
			}
		}
	}
}

func hex(b byte) string { return string("0123456789abcdef"[b>>4]) + string("0123456789abcdef"[b&15]) }

// replaced returns an object with the members, one of them with another value.
func replaced(members map[string]any, name string, value any) string {
	text, _ := json.Marshal(value)
	return rewritten(members, name, string(text))
}

// rewritten returns an object with the members, one of them with another JSON text.
func rewritten(members map[string]any, name, value string) string {
	var parts []string
	for _, k := range slices.Sorted(mapKeys(members)) {
		text, _ := json.Marshal(members[k])
		if k == name {
			text = []byte(value)
		}
		parts = append(parts, `"`+k+`":`+string(text))
	}

	return "{" + strings.Join(parts, ",") + "}"
}

// Every variant is sent to every operation that takes a body.
func TestAmbiguousBodiesAreRefused(t *testing.T) {
	if testing.Short() {
		t.Skip("one client, and every operation")
	}

	s := newAPIServer(t, dev)
	codes := []string{"malformed_json", "malformed_request", "invalid_request", "unsupported_media_type", "body_too_large"}
	for _, o := range operations(t) {
		if !o.body || strings.HasSuffix(o.id, "-callback") {
			continue
		}

		text, known := validBodies[o.id]
		if !known {
			t.Errorf("%s takes a body, but validBodies has none", o.id)
			continue
		}

		all := variants(t, text)
		if len(all) < 60 {
			t.Errorf("%s: only %d variants", o.id, len(all))
		}

		for k, v := range all {
			if testing.Short() && k%5 > 0 {
				continue // one request comes after the other
			}

			if free := o.id == "set-address" && (strings.HasPrefix(v.name, "a member") || strings.Contains(v.name, "in capitals")); free {
				continue // the caller names the fields of an address
			}

			if o.id == "complete-parked-task" && strings.HasPrefix(v.name, "output is ") {
				continue // the output may be any JSON
			}
			r := httptest.NewRequest(o.method, "http://localhost"+parameter.ReplaceAllString(o.path, "shipping"), strings.NewReader(v.body))
			r.Header.Set("Idempotency-Key", "k")
			r.Header.Set("Ratchet-Reason", "test")

			if v.contentType != "" {
				r.Header.Set("Content-Type", v.contentType)
			}
			rec := httptest.NewRecorder()
			s.handler.ServeHTTP(rec, r)

			a := s.explained(o.id+": "+v.name, answer{rec.Result(), rec.Body.String()})
			if a.StatusCode < 400 || a.StatusCode >= 500 || !slices.Contains(codes, a.code()) || a.Header.Get("Content-Type") != "application/problem+json" {
				t.Errorf("%s: %s: %d %s", o.id, v.name, a.StatusCode, a.text)
			}

			if strings.Contains(a.text, marker) {
				t.Errorf("%s: %s: the answer contains a value of the request: %s", o.id, v.name, a.text)
			}
		}
	}

	if a := s.want(s.ask("GET", "/v1/orders", ""), http.StatusOK, ""); a.field("orders") != "[]" {
		t.Errorf("something was written: %s", a.text)
	}
}

func TestIntegersAreReadExactlyInEveryNotation(t *testing.T) {
	s := newAPIServer(t, dev)
	for _, text := range []string{"5", "5.0", "5e0", "50e-1", "0.5e1", "5.000000000000000000"} {
		if a := s.ask("PUT", "/v1/inventory/mug", `{"available":`+text+`}`); a.StatusCode != http.StatusOK || a.field("available") != "5" {
			t.Errorf("%s: %d %s", text, a.StatusCode, a.text)
		}
	}

	for _, text := range []string{"5.1", "5.00000000000000000001", "1e-400", "0.1e-400000000000", "5e-1", "1e10"} {
		s.want(s.ask("PUT", "/v1/inventory/mug", `{"available":`+text+`}`), http.StatusUnprocessableEntity, "invalid_request")
	}

	for _, text := range []string{"0", "-0", "0.0", "0e9", "-0.0e-7"} {
		if a := s.ask("PUT", "/v1/inventory/mug", `{"available":`+text+`}`); a.StatusCode != http.StatusOK || a.field("available") != "0" {
			t.Errorf("%s: %d %s", text, a.StatusCode, a.text)
		}
	}
}

func TestCompressedBodiesAreRefused(t *testing.T) {
	s := newAPIServer(t, dev)
	for _, coding := range []string{"gzip", "br", "GZIP", "identity, gzip", "x"} {
		a := s.want(s.ask("PUT", "/v1/orders/o-1", mugs, "Content-Encoding", coding), http.StatusUnsupportedMediaType, "unsupported_media_type")
		if a.Header.Get("Accept-Encoding") != "identity" {
			t.Errorf("%s: %v", coding, a.Header)
		}
	}
	s.want(s.ask("POST", "/v1/callbacks/payments", "{}", "Content-Encoding", "gzip"), http.StatusUnsupportedMediaType, "unsupported_media_type")
	s.want(s.ask("PUT", "/v1/orders/o-1", mugs, "Content-Encoding", "identity"), http.StatusCreated, "")
}

// The fields break rules that the schema does not contain, or are missing.
func TestDomainErrorsNameTheirField(t *testing.T) {
	s := newAPIServer(t, dev)
	for _, c := range []struct{ method, path, body, pointer string }{
		{"PUT", "/v1/transfers/t-1", `{"currency":"EUR","legs":[{"account":"a","amount":-5},{"account":"b","amount":6}]}`, "/legs"},
		{"PUT", "/v1/orders/o-1/parcels/p-1", `{"lines":[{"sku":"mug","quantity":1},{"sku":"mug","quantity":1}]}`, "/lines/1/sku"},
		{"POST", "/v1/actions", `{"expiresAt":"2020-01-01T00:00:00Z"}`, "/expiresAt"},
		{"PUT", "/v1/reservations/o-1", `{"lines":[{"sku":"mug","quantity":1}],"expiresAt":"2020-01-01T00:00:00Z"}`, "/expiresAt"},
		{"PUT", "/v1/orders/o-1", `{}`, "/total"},
		{"PUT", "/v1/orders/o-1", `{"total":{"currency":"EUR"}}`, "/total/amount"},
		{"PUT", "/v1/orders/o-1", `{"items":[{"sku":"mug","price":1}],"total":{"amount":1,"currency":"EUR"}}`, "/items/0/quantity"},
	} {
		a := s.want(s.ask(c.method, c.path, c.body, "Idempotency-Key", "k"), http.StatusUnprocessableEntity, "invalid_request")
		if !strings.Contains(a.text, `"in":"body","pointer":"`+c.pointer+`"`) || strings.Contains(a.text, "until") {
			t.Errorf("%s %s: %s", c.path, c.body, a.text)
		}
	}
}

func TestSchemaErrorsNameTheirFields(t *testing.T) {
	s := newAPIServer(t, dev)
	a := s.want(s.ask("PUT", "/v1/orders/o-1", `{"items":[{"sku":"mug","quantity":1,"price":1},{"sku":"a b","quantity":0,"price":-1}],"total":{"amount":1,"currency":"euro"}}`), http.StatusUnprocessableEntity, "invalid_request")
	for _, pointer := range []string{`"/items/1/sku"`, `"/items/1/quantity"`, `"/items/1/price"`, `"/total/currency"`} {
		if !strings.Contains(a.text, pointer) {
			t.Errorf("%s is missing in %s", pointer, a.text)
		}
	}

	if a := s.want(s.ask("GET", "/v1/orders?limit=0", ""), http.StatusUnprocessableEntity, "invalid_request"); !strings.Contains(a.text, `"in":"query","pointer":"limit"`) {
		t.Errorf("%s", a.text)
	}
}

// TestARefusalNamesTheParameter: whatever a stranger asks with, the answer says which part of the request breaks which rule.
func TestARefusalNamesTheParameter(t *testing.T) {
	s := newAPIServer(t, dev)

	long := strings.Repeat("9", 400)
	for _, c := range []struct{ method, path, in, pointer string }{
		{"GET", "/v1/orders?by=entered", "query", "by"},
		{"GET", "/v1/orders?since=2026-01-01T00:00:00Z", "query", "since"},
		{"GET", "/v1/orders?until=2026-01-01T00:00:00Z", "query", "until"},
		{"GET", "/v1/orders?since=yesterday", "query", "since"},
		{"GET", "/v1/orders?limit=" + long, "query", "limit"},
		{"GET", "/v1/orders?limit=1e1", "query", "limit"},
		{"GET", "/v1/orders?limit=5&limit=6", "query", "limit"},
		{"GET", "/v1/orders?cursor=" + long, "query", "cursor"},
		{"GET", "/v1/orders?cursor=%00", "query", "cursor"},
		{"GET", "/v1/orders?state=caf%C3%A9", "query", "state"},
		{"GET", "/v1/orders?State=PENDING", "query", "State"},
		{"GET", "/v1/orders/" + long, "path", "orderId"},
		{"GET", "/v1/orders/%ff%fe", "path", "orderId"},
		{"GET", "/v1/orders/%00", "path", "orderId"},
		{"GET", "/v1/orders/o-1/preview", "query", "event"},
		{"GET", "/v1/orders/o-1/preview?event=pay&transitionId=1", "query", "transitionId"},
		{"GET", "/v1/audit?since=2020-01-01T00:00:00Z", "query", "since"},
		{"GET", "/v1/payments?state=NOPE", "query", "state"},
		{"GET", "/v1/inventory/%F0%9F%98%80", "path", "sku"},
		{"GET", "/v1/executions?limit=21", "query", "limit"},
		{"GET", "/v1/deliveries/%2B", "path", "delivery"},
		{"GET", "/v1/questions/why", "path", "question"},
		{"POST", "/v1/orders", "body", ""},
		{"POST", "/v1/orders/o-1/transitions", "body", ""},
	} {
		a := s.ask(c.method, c.path, "", "Idempotency-Key", "k", "Content-Type", "application/json")
		if a.StatusCode != http.StatusUnprocessableEntity && a.StatusCode != http.StatusBadRequest || !strings.Contains(a.text, fmt.Sprintf(`"in":%q,"pointer":%q,"detail":"`, c.in, c.pointer)) {
			t.Errorf("%s %.60s: %d %s", c.method, c.path, a.StatusCode, a.text)
		}
	}
}

// What the middleware refuses as empty, the document must not call good.
func TestNoParameterOfTheDocumentMayBeEmpty(t *testing.T) {
	text, err := openAPI()
	if err != nil {
		t.Fatal(err)
	}

	var document struct {
		Paths map[string]map[string]struct {
			Parameters []struct {
				Name, In string
				Schema   struct {
					Type      any
					MinLength int
					Enum      []any
				}
			}
		}
	}
	if err := json.Unmarshal(text, &document); err != nil {
		t.Fatal(err)
	}

	texts := 0
	for path, methods := range document.Paths {
		for method, operation := range methods {
			for _, p := range operation.Parameters {
				if p.In == "path" || p.Schema.Type != "string" || len(p.Schema.Enum) > 0 {
					continue
				}

				texts++

				if p.Schema.MinLength < 1 {
					t.Errorf("%s %s: the %s parameter %q may be empty", method, path, p.In, p.Name)
				}
			}
		}
	}

	if texts < 20 {
		t.Errorf("the document has %d parameters that are texts", texts)
	}
}
