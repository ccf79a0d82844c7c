package api_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
)

// pairs are the names of members that bound one range: its beginning and its end.
var pairs = [][2]string{{"since", "until"}, {"activeAt", "expiresAt"}}

// TestARangeHasItsEndsInOrder: each operation of the document that takes both ends of a range refuses one that ends before it begins,
// and names field and rule. It does not answer with an empty page.
func TestARangeHasItsEndsInOrder(t *testing.T) {
	d := readDocument(t)
	s := newAPIServer(t, dev)

	const late, early = "2026-02-01T00:00:00Z", "2026-01-01T00:00:00Z"

	rows := map[string]repeated{}
	for _, row := range repeats {
		rows[row.operation] = row
	}

	asked := map[string]bool{}

	for _, o := range operations(t) {
		op := d.Paths[o.path][strings.ToLower(o.method)]
		path := parameter.ReplaceAllString(o.path, "x")

		for _, pair := range pairs {
			in := map[string]bool{}
			for _, p := range op.Parameters {
				in[p.Name] = p.In == "query"
			}

			if in[pair[0]] && in[pair[1]] {
				asked[o.id] = true
				s.wantRange(o, s.ask(o.method, path+"?"+pair[0]+"="+late+"&"+pair[1]+"="+early, ""), pair, pair[1])
			}

			for object, properties := range d.objectsOf(op) {
				if !hasMember(properties, pair[0]) || !hasMember(properties, pair[1]) {
					continue
				}

				var body map[string]any
				if err := json.Unmarshal([]byte(rows[o.id].body), &body); err != nil {
					t.Fatal(o.id, err)
				}

				into := body
				if object != "" {
					into = map[string]any{}
					body[object] = into
				}
				into[pair[0]], into[pair[1]] = late, early

				text, err := json.Marshal(body)
				if err != nil {
					t.Fatal(err)
				}

				asked[o.id] = true
				s.wantRange(o, s.ask(o.method, rows[o.id].path, string(text), "Idempotency-Key", "k"), pair, strings.TrimSuffix("/"+object, "/")+"/")
			}
		}
	}

	for _, id := range []string{"list-orders", "create-job", "put-action"} {
		if !asked[id] {
			t.Errorf("%s was not asked", id)
		}
	}
}

// objectsOf returns the members of the body, and of those that are objects themselves, by their names.
func (d document) objectsOf(op documented) map[string]map[string]schema {
	body := d.resolve(op.RequestBody.Content["application/json"].Schema)
	all := map[string]map[string]schema{"": body.Properties}

	for name, member := range body.Properties {
		all[name] = d.resolve(member).Properties
	}

	return all
}

func hasMember(properties map[string]schema, name string) bool { _, is := properties[name]; return is }

// wantRange requires a refusal that names one end of the range, whose pointer begins with at.
func (s *apiServer) wantRange(o operation, a answer, pair [2]string, at string) {
	s.t.Helper()

	var p struct {
		Errors []struct{ Pointer, Detail string }
	}
	a.read(s.t, &p)

	named := len(p.Errors) == 1 && strings.HasPrefix(p.Errors[0].Pointer, at) && (strings.HasSuffix(p.Errors[0].Pointer, pair[0]) || strings.HasSuffix(p.Errors[0].Pointer, pair[1]))
	if a.StatusCode != http.StatusUnprocessableEntity || !named || p.Errors[0].Detail == "" {
		s.t.Errorf("%s: %d %s", o.id, a.StatusCode, a.text)
	}
}
