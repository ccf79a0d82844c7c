package system

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"ratchet/api/auth"
	"ratchet/embedded/embeddedtest"
	"ratchet/notify/webhooks"
	"ratchet/server"
)

// serve runs what `ratchet dev` runs, or without dev what `ratchet serve` runs, until the test
// ends. It returns the URL of the API.
func serve(t *testing.T, dev bool) (url string, b *server.Backend) {
	t.Helper()

	cfg := server.Config{
		Data:           filepath.Join(t.TempDir(), "data"),
		CarrierDelay:   time.Millisecond,
		CallbackSecret: server.Secret(webhooks.NewSecret().Reveal()),
		API:            server.APIConfig{WatchFor: 2 * time.Second},
	}
	b, err := server.Embed(cfg, embeddedtest.Quiet(), server.Events{})
	if err != nil {
		t.Fatal(err)
	}

	if err := b.Init(t.Context()); err != nil {
		t.Fatal(err)
	}

	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}

	ctx, stop := context.WithCancel(context.Background())
	var group sync.WaitGroup
	for _, run := range []func(context.Context) error{
		b.Engine.Run,
		b.Carrier.Run,
		func(ctx context.Context) error { return b.Run(ctx, "test") },
		func(ctx context.Context) error { return b.ServeAPI(ctx, listener, dev) },
	} {
		group.Go(func() {
			if err := run(ctx); err != nil {
				t.Errorf("run: %v", err)
			}
		})
	}
	t.Cleanup(func() {
		http.DefaultClient.CloseIdleConnections()
		stop()
		group.Wait()

		if err := b.Close(); err != nil {
			t.Error(err)
		}
	})

	return "http://" + listener.Addr().String(), b
}

// guides are the documents that the examples of HTTP stand in.
const guides = "../../docs/guides"

// listed matches a page in the list of api.md.
var listed = regexp.MustCompile(`\((api/\w[\w-]*\.md)\) \|`)

// pages returns the names of api.md and of the pages that it lists, in the order in which their examples build on each other.
func pages(t *testing.T) []string {
	t.Helper()

	all := []string{"api.md"}
	for _, m := range listed.FindAllStringSubmatch(read(t, "api.md"), -1) {
		all = append(all, m[1])
	}

	found, err := filepath.Glob(filepath.Join(guides, "api", "*.md"))
	if err != nil || len(found) != len(all)-1 {
		t.Fatalf("api.md lists %d pages, docs/guides/api has %d (%v)", len(all)-1, len(found), err)
	}

	return all
}

func read(t *testing.T, page string) string {
	t.Helper()

	text, err := os.ReadFile(filepath.Join(guides, page))
	if err != nil {
		t.Fatal(err)
	}

	return string(text)
}

// TestTheExamplesAnswerAsThePagesSay runs the examples without a key against `ratchet dev`, and
// with a key against `ratchet serve`. The second run uses curl if it is installed.
func TestTheExamplesAnswerAsThePageSays(t *testing.T) {
	curl, _ := exec.LookPath("curl") // "" without curl: the shell below then sends the requests itself

	for _, c := range []struct {
		name, curl string
		dev        bool
	}{
		{name: "dev", curl: "", dev: true},
		{name: "keys", curl: curl, dev: false},
	} {
		t.Run(c.name, func(t *testing.T) {
			url, b := serve(t, c.dev)
			s := &shell{vars: map[string]string{"API": url}, curl: c.curl}
			if !c.dev {
				_, token, err := b.APIKeys.Create(t.Context(), auth.NewKey{
					Name:     "docs",
					Tenant:   "acme",
					Scope:    auth.Admin,
					Personal: true,
				})
				if err != nil {
					t.Fatal(err)
				}
				s.header = "Authorization: Bearer " + string(token)
			}

			count := 0

			for _, page := range pages(t) {
				all := examples(read(t, page))
				count += len(all)
				s.runAll(t, page, all)
			}

			if count < 90 {
				t.Errorf("%d examples found, want at least 90", count)
			}
		})
	}
}

// TestTheHowToOfHTTPAnswersAsItSays runs the commands of docs/guides/http.md, which stand in a list.
func TestTheHowToOfHTTPAnswersAsItSays(t *testing.T) {
	const name = "http.md"

	all := examples(strings.ReplaceAll(read(t, name), "\n   ", "\n"))
	if len(all) < 5 {
		t.Errorf("%d examples found, want at least 5", len(all))
	}

	url, _ := serve(t, true)
	s := &shell{vars: map[string]string{"API": url}}
	s.runAll(t, name, all)
}

// runAll runs the examples of a page in order.
func (s *shell) runAll(t *testing.T, page string, all []example) {
	t.Helper()

	for _, e := range all {
		status, body, err := s.run(t.Context(), e.command)
		if err != nil {
			t.Fatalf("%s:%d: %v", page, e.line, err)
		}

		if err := compareAnswer(e.want, status, body); err != nil {
			t.Errorf("%s:%d: %s\n%v", page, e.line, e.command, err)
		}
	}
}

// compareAnswer checks an answer against the comment below its example: "200 {members of the JSON
// answer}", "200 a part of its text", or "" for any answer.
func compareAnswer(want string, status int, body string) error {
	if want == "" {
		return nil
	}

	code, part, _ := strings.Cut(want, " ")
	if code != fmt.Sprint(status) {
		return fmt.Errorf("%d %s, want %s", status, body, want)
	}

	if !strings.HasPrefix(part, "{") {
		if !strings.Contains(body, part) {
			return fmt.Errorf("%q is not in %s", part, body)
		}
		return nil
	}

	var wanted, got any
	if err := json.Unmarshal([]byte(part), &wanted); err != nil {
		return fmt.Errorf("the page's answer: %w", err)
	}

	if err := json.Unmarshal([]byte(body), &got); err != nil {
		return fmt.Errorf("%w in %s", err, body)
	}

	if !within(wanted, got) {
		return fmt.Errorf("%s is not part of %s", part, body)
	}

	return nil
}

// within reports whether whole has every member of part. Lists must be of equal length.
func within(part, whole any) bool {
	switch p := part.(type) {
	case map[string]any:
		w, ok := whole.(map[string]any)
		for name, v := range p {
			ok = ok && within(v, w[name])
		}

		return ok
	case []any:
		w, ok := whole.([]any)
		ok = ok && len(w) == len(p)
		for i := range p {
			ok = ok && within(p[i], w[i])
		}

		return ok
	}

	return part == whole
}
