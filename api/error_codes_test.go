package api_test

import (
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"ratchet/api"
	"ratchet/api/auth"
)

// TestAStrangerMayReadWhatACodeMeans: the link of a problem leads to its code on the page.
func TestAStrangerMayReadWhatACodeMeans(t *testing.T) {
	s := newAPIServer(t, nil)

	refused := s.want(s.ask("GET", "/v1/orders/o-1", ""), http.StatusUnauthorized, "unauthenticated")

	path, code, _ := strings.Cut(refused.field("type"), "#")
	page := s.want(s.ask("GET", path, ""), http.StatusOK, "")

	if !strings.Contains(page.text, `<dt id="`+code+`">`) || !strings.Contains(page.text, `<dt id="wrong_state">`) ||
		page.Header.Get("Content-Type") != "text/html; charset=utf-8" {
		t.Errorf("%s: %s", page.Header, page.text)
	}

	if api.HintOf("no_such_code") != "" || api.HintOf(code) == "" {
		t.Error("hints")
	}
}

// TestThePageHasEachCodeOnce with all its statuses: a fragment leads to one place.
func TestThePageHasEachCodeOnce(t *testing.T) {
	s := newAPIServer(t, nil)
	page := s.want(s.ask("GET", api.ErrorsPath, ""), http.StatusOK, "")

	seen := map[string]bool{}
	for _, id := range regexp.MustCompile(`\bid="([^"]*)"`).FindAllStringSubmatch(page.text, -1) {
		if seen[id[1]] {
			t.Errorf("the id %s is there twice", id[1])
		}
		seen[id[1]] = true
	}

	for _, c := range api.ErrorCodes() {
		if !seen[c.Code] {
			t.Errorf("%s is not there", c.Code)
		}

		_, entry, _ := strings.Cut(page.text, `<dt id="`+c.Code+`">`)
		if entry, _, _ = strings.Cut(entry, "<dt"); !strings.Contains(entry, fmt.Sprintf("<dd>%d: ", c.Status)) {
			t.Errorf("%s is there without status %d", c.Code, c.Status)
		}
	}
}

// TestTheHintNamesTheScopes that a key can have.
func TestTheHintNamesTheScopes(t *testing.T) {
	for _, scope := range []auth.Scope{auth.Read, auth.Act, auth.Admin} {
		if hint := api.HintOf("forbidden"); !strings.Contains(hint, " "+string(scope)) {
			t.Errorf("%q does not name %s", hint, scope)
		}
	}
}
