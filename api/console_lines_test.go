package api_test

import (
	"html"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"ratchet/api"
	"ratchet/api/auth"
	"ratchet/console"
)

var commandLine = regexp.MustCompile(`ratchet [a-z]+[^<]*`)

// TestCommandLinesNameTheTenant: the command line works for all tenants, so without the tenant's name it would act on the
// order of another one, or on none. That of the default tenant has no name.
func TestCommandLinesNameTheTenant(t *testing.T) {
	if testing.Short() {
		t.Skip("one client, and every act of TestEachActOfTheConsole")
	}

	for _, row := range actCases() {
		t.Run(row.name, func(t *testing.T) {
			s := newAPIServer(t, func(c *api.Config) {
				forPages(c)

				if row.change != nil {
					row.change(c)
				}
			})

			query := url.Values{}
			for name, value := range row.setup(s) {
				query.Set(name, value)
			}

			for name, value := range row.fields {
				query.Set(name, value)
			}
			p := s.pages()

			line := func(tenant auth.Tenant) (line string, shown bool) {
				page := p.send(whose(tenant, auth.Admin), "GET", console.Path+"/act/"+row.name+"?"+query.Encode(), nil)

				return html.UnescapeString(commandLine.FindString(page.text)), page.StatusCode == http.StatusOK
			}

			own, shown := line(auth.DefaultTenant)
			if !shown || own == "" || strings.Contains(own, "default") {
				t.Errorf("of the default tenant: %q, shown %t", own, shown)
			}

			// The id of a dead letter is as the command line has it.
			if letter := query.Get("letter"); letter != "" && strings.Contains(own, letter) {
				t.Errorf("the letter is encoded: %q", own)
			}

			// Handlers and the definition belong to all tenants. The commands of questions change nothing.
			other, shown := line("acme")
			if query.Get("handler") != "" || row.name == "orders-migrate" || row.operation == "ask-question" || !shown {
				return
			}

			if named := strings.Contains(other, "acme:") || strings.HasSuffix(other, " --tenant acme") || strings.Contains(other, " --tenant acme "); !named {
				t.Errorf("of another tenant: %q", other)
			}

			for _, name := range []string{"order", "endpoint", "payment"} {
				if id := query.Get(name); id != "" && regexp.MustCompile(`(^|[ /])`+regexp.QuoteMeta(id)+`($|[ /])`).MatchString(other) {
					t.Errorf("%s has no tenant: %q", id, other)
				}
			}
		})
	}
}
