//go:build browser

package browser

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"ratchet/tests/strangers"
)

// ran says what of a stranger's text has become code: how often it ran, how many elements it made, and what was fetched for it.
const ran = `JSON.stringify([window.ran || 0, document.querySelectorAll('[data-stranger]').length, performance.getEntriesByType('resource').map(e => e.name)
	.filter(name => new URL(name).host !== location.host || ['/console/stranger', '/console/act/stranger'].includes(new URL(name).pathname))])`

// TestNoTextOfAStrangerRunsInABrowser: 200 orders, each with another piece of code in each text that a request can carry. None runs on the
// pages that show them, and the policy has nothing to refuse there.
func TestNoTextOfAStrangerRunsInABrowser(t *testing.T) {
	address, _ := openConsole(t)
	page := openTabFor(t, 5*patience)
	all := strangers.Code()

	for i, text := range all {
		id := fmt.Sprintf("x-%d %.100s", i, strings.ReplaceAll(text, ":", ""))
		path := "/v1/orders/" + url.PathEscape(id)
		quoted, _ := json.Marshal(text) // a text is always JSON

		send(t, "PUT", address+path, fmt.Sprintf(`{"items":[{"sku":"mug","quantity":1,"price":5}],"total":{"amount":5,"currency":"EUR"},
			"metadata":{"note":%[1]s},"shippingAddress":{"name":%[1]s,"city":%[1]s},"billingAddress":{"line1":%[1]s},"cause":{"text":%[1]s},
			"own":{"mine":{"S":%[1]s}}}`, quoted), "")
		send(t, "POST", address+path+"/notes", fmt.Sprintf(`{"text":%s}`, quoted), fmt.Sprint("note-", i))
		send(t, "POST", address+path+"/transitions", fmt.Sprintf(`{"event":"hold","cause":{"text":%s}}`, quoted), fmt.Sprint("hold-", i))

		escaped, query := url.PathEscape(id), url.QueryEscape(text)
		pages := []string{"/orders/" + escaped}
		if i%20 == 0 {
			pages = append(pages, "/", "/orders", "/orders?state="+query, "/act/apply?event=release&order="+url.QueryEscape(id), "/audit", "/stock?sku="+query, "/docs/?q="+query, "/"+url.PathEscape(text))
		}

		for _, one := range pages {
			page.open(address + "/console" + one)
			page.until("document.readyState === 'complete' && location.href.includes('/console') && !!document.querySelector('main h1') && !!window.htmx", "true")

			if found := page.look(ran); found != "[0,0,[]]" {
				t.Errorf("%q on %s: %s", text, one, found)
			}
		}

		// The text itself is there.
		if page.open(address + "/console/orders/" + escaped); i%20 == 0 {
			page.until(fmt.Sprintf("document.readyState === 'complete' && document.body.textContent.includes(%s)", quoted), "true")
		}
	}

	page.mu.Lock()
	defer page.mu.Unlock()

	if len(page.refused) > 0 {
		t.Errorf("refused, or failed: %v", page.refused)
	}
}

// TestThePolicyStopsWhatIsNotEscaped: a page with the policy and the script of the console, on which the same texts stand as code. None runs,
// none makes a request by an attribute of htmx, which all lose those attributes, and the reports are those of what the policy stops.
func TestThePolicyStopsWhatIsNotEscaped(t *testing.T) {
	address, _ := openConsole(t)
	broken := httptest.NewServer(brokenPages(address))
	t.Cleanup(broken.Close) // after the browser, which keeps streams open

	page := openTabFor(t, 3*patience)
	reports := map[string]int{}

	for i, text := range strangers.Code() {
		page.open(fmt.Sprintf("%s/?n=%d&text=%s", broken.URL, i, url.QueryEscape(text)))
		page.until(fmt.Sprintf("document.readyState === 'complete' && location.search.startsWith('?n=%d&') && !!window.htmx", i), "true")

		var found [3]any
		if err := json.Unmarshal([]byte(page.look(ran)), &found); err != nil || found[0] != 0.0 {
			t.Errorf("%d, %q: %v, %v", i, text, found, err)
		}
		page.until(withheld, "")

		for _, name := range strings.Fields(page.look("window.violations.join(' ')")) {
			reports[name]++

			if !stopped[name] {
				t.Errorf("%d, %q: the policy refuses %s, which is not of a stranger", i, text, name)
			}
		}
	}
	t.Log(reports)

	for name := range stopped {
		if reports[name] == 0 {
			t.Errorf("the policy has not refused any %s: were the texts code at all?", name)
		}
	}
}

// stopped are the directives by which the policy stops a stranger's code. None is connect-src: without the page's nonce nothing connects.
var stopped = map[string]bool{"script-src-elem": true, "script-src-attr": true, "style-src-elem": true, "base-uri": true}

// withheld are the attributes of htmx and its extensions that a stranger's elements still have.
const withheld = `[...document.querySelectorAll('[data-stranger]')].flatMap(e => [...e.attributes]).map(a => a.name).filter(name => /^(hx|sse)-/.test(name)).join()`

var nonceOf = regexp.MustCompile(`nonce-([A-Z2-7]+)`)

// brokenPages serves pages that do not escape a text, with the policy of the console, and passes on the script that they use.
func brokenPages(console string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		from := "/console/orders"
		if r.URL.Path != "/" {
			from = r.URL.Path
		}

		ask, err := http.NewRequestWithContext(r.Context(), http.MethodGet, console+from, nil)
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}

		answer, err := http.DefaultClient.Do(ask) // the console of the test
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadGateway)
			return
		}
		defer answer.Body.Close()

		for _, name := range []string{"Content-Type", "Content-Security-Policy"} {
			w.Header().Set(name, answer.Header.Get(name))
		}

		text, _ := io.ReadAll(answer.Body)
		nonce := nonceOf.FindStringSubmatch(answer.Header.Get("Content-Security-Policy"))

		if r.URL.Path != "/" || nonce == nil {
			w.WriteHeader(answer.StatusCode)
			_, _ = w.Write(text)

			return
		}

		listen := fmt.Sprintf(`<script nonce="%s">window.violations = []; addEventListener('securitypolicyviolation', e => violations.push(e.effectiveDirective))</script>`, nonce[1])
		body := strings.Replace(string(text), "<head>", "<head>"+listen, 1)
		_, _ = io.WriteString(w, strings.Replace(body, "</main>", r.FormValue("text")+"</main>", 1))
	})
}
