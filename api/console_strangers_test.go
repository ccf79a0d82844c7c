package api_test

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"golang.org/x/net/html"

	"ratchet/api"
	"ratchet/api/auth"
	"ratchet/console"
	"ratchet/operate/processes"
	"ratchet/streams"
	"ratchet/tests/strangers"
)

// TestNoTextOfAStrangerIsCode: 200 orders, each with another piece of code in every text that a request can carry, and every page that
// shows them. The pages are parsed as browsers do it: no element, attribute or address comes from a text.
func TestNoTextOfAStrangerIsCode(t *testing.T) {
	if testing.Short() {
		t.Skip("one client, and many texts")
	}

	event := ""
	s := newAPIServer(t, func(c *api.Config) {
		dev(c)
		c.Handlers = []streams.Handler{{Name: "notify", Handle: refuses}}
		c.LastHour = func() (processes.Hour, error) {
			return processes.Hour{Minutes: []processes.Minute{{Decided: []processes.Decided{{Event: event, Verdict: "Illegal", Count: 1}}}}}, nil
		}
	})
	p, by := s.pages(), whose(auth.DefaultTenant, auth.Admin)

	code := strangers.Code()
	if len(code) != 200 {
		t.Fatalf("%d texts", len(code))
	}

	for i, text := range code {
		event = text
		// An id has neither a colon nor more than 128 bytes.
		id := fmt.Sprintf("o-%d %.100s", i, strings.ReplaceAll(text, ":", ""))
		path := "/v1/orders/" + url.PathEscape(id)

		s.wantAs(by, "PUT", path, fmt.Sprintf(`{"items":[{"sku":"mug","quantity":1,"price":5}],"total":{"amount":5,"currency":"EUR"},
			"metadata":{"note":%[1]s},"shippingAddress":{"name":%[1]s,"city":%[1]s},"billingAddress":{"line1":%[1]s},"cause":{"text":%[1]s},
			"own":{"mine":{"S":%[1]s}}}`, quoted(text)), http.StatusCreated)
		s.wantAs(by, "POST", path+"/notes", fmt.Sprintf(`{"text":%s}`, quoted(text)), http.StatusOK, "Idempotency-Key", fmt.Sprint("note-", i))
		s.wantAs(by, "POST", path+"/transitions", fmt.Sprintf(`{"event":"hold","cause":{"text":%s}}`, quoted(text)), http.StatusOK, "Idempotency-Key", fmt.Sprint("hold-", i))
		// One that is refused.
		s.as(by, "POST", path+"/transitions", fmt.Sprintf(`{"event":"deliver","cause":{"text":%s}}`, quoted(text)), "Idempotency-Key", fmt.Sprint("deliver-", i))

		addresses := []string{"/orders/" + url.PathEscape(id), "/orders?order=" + url.QueryEscape(id), "/act/apply?event=release&order=" + url.QueryEscape(id)}
		if i%10 == 0 {
			q := url.QueryEscape(text)
			addresses = append(addresses, "/", "/orders", "/orders?state="+q, "/refusals", "/executions", "/dead-letters?handler="+q, "/deliveries?endpoint="+q+"&status="+q,
				"/stuck", "/audit?cursor="+q, "/money?account="+q+"&state="+q, "/money?payment="+q, "/stock?sku="+q, "/stock?order="+q, "/once?claim="+q,
				"/docs/search?q="+q, "/jobs", "/login?next="+q, "/"+url.PathEscape(text))
		}

		for _, address := range addresses {
			a := p.send(by, "GET", console.Path+address, nil)
			if a.StatusCode >= 500 && a.StatusCode != http.StatusBadGateway {
				t.Errorf("%s: %d", address, a.StatusCode)
			}
			wantNoCode(t, address, a)
		}

		if i%10 == 0 && !strings.Contains(p.send(by, "GET", console.Path+addresses[0], nil).text, html.EscapeString(text)) {
			t.Errorf("the page of %s does not show its text", id)
		}
	}
}

// wantAs sends a request as the identity, and requires the status.
func (s *apiServer) wantAs(by api.Identity, method, path, body string, status int, headers ...string) {
	s.t.Helper()

	if a := s.as(by, method, path, body, headers...); a.StatusCode != status {
		s.t.Fatalf("%s %s: %d %s", method, path, a.StatusCode, a.text)
	}
}

// wantNoCode parses a page. All that runs on it has the page's nonce, and all that is on it is the console's own.
func wantNoCode(t *testing.T, address string, page answer) {
	t.Helper()

	nonce := ""
	if _, rest, found := strings.Cut(page.Header.Get("Content-Security-Policy"), "'nonce-"); found {
		nonce, _, _ = strings.Cut(rest, "'")
	}

	if policy := page.Header.Get("Content-Security-Policy"); !strings.Contains(policy, "default-src 'none'") || strings.Contains(policy, "unsafe") {
		t.Errorf("%s: policy %q", address, policy)
	}

	root, err := html.Parse(strings.NewReader(page.text))
	if err != nil {
		t.Fatal(err)
	}

	for n := range root.Descendants() {
		if n.Type != html.ElementNode {
			continue
		}

		attributes := map[string]string{}
		for _, a := range n.Attr {
			attributes[a.Key] = a.Val

			switch {
			case a.Key == "data-stranger", strings.HasPrefix(a.Key, "on"), strings.Contains(a.Key, "hx-on"), a.Key == "style", a.Key == "srcdoc":
				t.Errorf("%s: <%s %s=%q>", address, n.Data, a.Key, a.Val)
			case slices.Contains([]string{"href", "src", "action", "formaction", "xlink:href"}, a.Key) && !ownAddress(a.Val):
				t.Errorf("%s: <%s %s=%q> leads elsewhere", address, n.Data, a.Key, a.Val)
			}
		}

		for name := range attributes {
			if strings.HasPrefix(name, "hx-") && attributes["hx-nonce"] != nonce {
				t.Errorf("%s: <%s> has %s without the nonce of the page", address, n.Data, name)
			}
		}

		switch n.Data {
		case "iframe", "object", "embed", "base", "style", "img", "video", "math", "template":
			t.Errorf("%s: <%s>", address, n.Data)
		case "script":
			if attributes["nonce"] != nonce || nonce == "" || attributes["src"] == "" || n.FirstChild != nil {
				t.Errorf("%s: a script with %v", address, attributes)
			}
		}
	}
}

// ownAddress reports whether an address is of the console, or of the pages that it names.
func ownAddress(to string) bool {
	u, err := url.Parse(to)
	if err != nil {
		return false
	}

	return u.Scheme == "" && u.Host == "" || u.Scheme == "https" && strings.HasSuffix(u.Host, ".amazon.com")
}
