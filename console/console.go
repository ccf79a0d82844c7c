package console

import (
	"bytes"
	"context"
	"crypto/rand"
	"embed"
	"errors"
	"fmt"
	"hash/fnv"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/a-h/templ"

	"ratchet/api"
	"ratchet/console/session"
	"ratchet/workflow/diagram"
)

// Path is where the console is mounted, and begins the paths of all its pages.
const Path = "/console"

// Config configures New. All fields but Login are required.
type Config struct {
	// API is the handler of [api.New], to which the console sends its requests.
	API http.Handler
	// Identify returns who looks at the page that r asks for. It reports false for a stranger.
	Identify func(r *http.Request) (by api.Identity, known bool)
	// Login is where strangers log in. Nil: there are none.
	Login *session.Login
	Log   *slog.Logger
	// Draining is closed when the process stops: pages that follow what happens end.
	Draining <-chan struct{}
}

func (c Config) validate() error {
	var errs []error
	for field, missing := range map[string]bool{
		"API": c.API == nil, "Identify": c.Identify == nil, "Log": c.Log == nil, "Draining": c.Draining == nil,
	} {
		if missing {
			errs = append(errs, fmt.Errorf("console: Config.%s: must not be nil", field))
		}
	}

	return errors.Join(errs...)
}

//go:embed static
var static embed.FS

// asset is an embedded file. Its address has a hash of its content, so a browser keeps it and never has an old
// one.
type asset struct {
	content []byte
	address string
}

// handler serves the console.
type handler struct {
	cfg                 Config
	mux                 *http.ServeMux
	script, style, icon asset
	live                *hub
	keeper              *keeper
	pictures            *pictures
	executions          *executionsSeen
}

// New checks cfg and returns the handler of all paths below [Path]. The listener in front of it checks Host and
// Origin.
func New(cfg Config) (http.Handler, error) {
	if err := cfg.validate(); err != nil {
		return nil, err
	}

	h := &handler{cfg: cfg, mux: http.NewServeMux(), live: newHub(cfg.Draining), keeper: newKeeper(cfg.Draining), pictures: &pictures{drawn: map[string]*diagram.Picture{}}}
	h.executions = &executionsSeen{seen: map[string]seenExecution{}}
	h.script, h.style, h.icon = h.asset("console.js", "text/javascript"), h.asset("style.css", "text/css"), h.asset("icon.svg", "image/svg+xml")

	for _, p := range pages {
		h.mux.HandleFunc("GET "+Path+p.path, func(w http.ResponseWriter, r *http.Request) { h.show(w, r, p) })
		h.mux.HandleFunc("GET "+Path+"/live"+p.path, func(w http.ResponseWriter, r *http.Request) { h.follow(w, r, p) })

		if p.posts {
			h.mux.HandleFunc("POST "+Path+p.path, func(w http.ResponseWriter, r *http.Request) {
				r.Body = http.MaxBytesReader(w, r.Body, maxForm)
				h.show(w, r, p)
			})
		}
	}
	h.actRoutes()
	h.documentRoutes()

	if cfg.Login != nil {
		h.loginRoutes()
	}
	h.mux.HandleFunc("/", h.noPage)

	return h, nil
}

// asset serves an embedded file.
func (h *handler) asset(name, kind string) asset {
	content, err := static.ReadFile("static/" + name)
	if err != nil {
		panic(err) // it was embedded when this program was built
	}
	sum := fnv.New64a()
	_, _ = sum.Write(content) // never fails

	a := asset{content, fmt.Sprintf("%s/static/%x/%s", Path, sum.Sum64(), name)}
	h.mux.HandleFunc("GET "+a.address, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", kind+"; charset=utf-8")
		w.Header().Set("Cache-Control", "public, max-age=31536000, immutable")
		_, _ = w.Write(a.content) // fails only if the client is gone
	})

	return a
}

// ServeHTTP sets the headers that every answer has.
func (h *handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	header := w.Header()
	header.Set("X-Content-Type-Options", "nosniff")
	// Not "no-referrer": browsers would send forms without their origin.
	header.Set("Referrer-Policy", "same-origin")
	header.Set("Cross-Origin-Opener-Policy", "same-origin")
	header.Set("Cross-Origin-Resource-Policy", "same-origin")
	header.Set("Content-Security-Policy", policy(""))
	header.Set("Cache-Control", "no-store")

	if changes(r) && !samePage(r) {
		http.Error(w, "only pages of the console may send this request", http.StatusForbidden)
		return
	}

	h.mux.ServeHTTP(w, r)
}

// changes reports whether the request may change something.
func changes(r *http.Request) bool { return r.Method != http.MethodGet && r.Method != http.MethodHead }

// samePage reports whether a page of this origin has sent the request, in the words of the browser. A request that does
// not say where it comes from is no browser's, and the cookie is for browsers only.
func samePage(r *http.Request) bool {
	site, origin := r.Header.Values("Sec-Fetch-Site"), r.Header.Values("Origin")
	if len(site) > 1 || len(origin) > 1 || len(site)+len(origin) == 0 {
		return false
	}

	if len(site) == 1 && site[0] != "same-origin" {
		return false
	}

	if len(origin) == 0 {
		return true
	}
	from, err := url.Parse(origin[0])

	return err == nil && from.Host != "" && strings.EqualFold(from.Host, r.Host)
}

// policy allows what the console's pages need: their own style, the script with the page's nonce, and requests
// to where they come from.
func policy(nonce string) string {
	script := "'none'"
	if nonce != "" {
		script = "'nonce-" + nonce + "'"
	}

	return "default-src 'none'; script-src " + script + "; style-src 'self'; img-src 'self'; connect-src 'self'; form-action 'self'; " +
		"base-uri 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types htmx"
}

// page is one kind of page.
type page struct {
	path string // below Path, as a pattern of http.ServeMux
	nav  string // the entry of the navigation to which it belongs
	// load asks the API for what the page shows.
	load func(context.Context, *visit) (content, error)
	// every says how often a page that is followed is looked at again, 0 for one that does not change.
	every time.Duration
	// mark returns a text that changes when the page does, for a page that costs much more than that. What changes
	// without it is seen after markedFor.
	mark func(context.Context, *visit) (string, error)
	// posts says that the page is also shown for a form that is sent as POST, because it has a secret.
	posts bool
}

// content is what stands on a page.
type content struct {
	title string
	body  templ.Component
}

// visit is one look at a page.
type visit struct {
	*client
	request  *http.Request
	pictures *pictures
	keeper   *keeper

	executions *executionsSeen
	// followed: a page is looked at again, and the order on it has not changed.
	followed bool
}

// again returns a further visit, which has its own list of requests.
func (v *visit) again() *visit {
	again := *v
	again.client = &client{api: v.api, by: v.by}

	return &again
}

// query returns a parameter of the address.
func (v *visit) query(name string) string { return v.request.URL.Query().Get(name) }

// begin returns the visit of who looks. It answers strangers.
func (h *handler) begin(w http.ResponseWriter, r *http.Request) (*visit, bool) {
	by, known := h.cfg.Identify(r)
	if !known {
		h.stranger(w, r)
		return nil, false
	}

	return &visit{client: &client{api: h.cfg.API, by: by}, request: r, pictures: h.pictures, keeper: h.keeper, executions: h.executions}, true
}

// show answers with a whole page.
func (h *handler) show(w http.ResponseWriter, r *http.Request, p page) {
	v, ok := h.begin(w, r)
	if !ok {
		return
	}

	c, status := h.load(r.Context(), v, p)
	s := h.shellOf(v, c.title)
	s.nav = p.nav

	if p.every > 0 && status == http.StatusOK {
		s.follow = Path + "/live" + strings.TrimPrefix(r.URL.RequestURI(), Path)
	}
	h.write(w, r, status, s, c.body, v.curl())
}

// write writes a whole page.
func (h *handler) write(w http.ResponseWriter, r *http.Request, status int, s shell, body templ.Component, curl []string) {
	s.nonce, s.script, s.style, s.icon = rand.Text(), h.script.address, h.style.address, h.icon.address

	var b bytes.Buffer
	if err := document(s, body, curl).Render(r.Context(), &b); err != nil {
		h.cfg.Log.ErrorContext(r.Context(), "a page of the console cannot be written", "path", r.URL.Path, "err", err)
		http.Error(w, "the page cannot be written", http.StatusInternalServerError)

		return
	}

	w.Header().Set("Content-Security-Policy", policy(s.nonce))
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(status)
	_, _ = w.Write(b.Bytes()) // fails only if the client is gone
}

// load asks for the content of a page. A refusal is shown on the page, in the API's words.
func (h *handler) load(ctx context.Context, v *visit, p page) (content, int) {
	c, err := p.load(ctx, v)
	if err == nil {
		return c, http.StatusOK
	}

	var refused *problem
	if !errors.As(err, &refused) {
		h.cfg.Log.ErrorContext(ctx, "a page of the console cannot be read", "path", v.request.URL.Path, "err", err)
		refused = &problem{Status: http.StatusBadGateway, Code: "unreadable", Detail: "The API's answer cannot be read. The log has the reason."}
	}

	return content{title: refused.title(), body: problemPage(refused)}, refused.Status
}

func (h *handler) noPage(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		w.Header().Set("Allow", "GET, HEAD")
		http.Error(w, "this page only reads", http.StatusMethodNotAllowed)

		return
	}

	h.show(w, r, page{load: func(context.Context, *visit) (content, error) {
		return content{}, &problem{Status: http.StatusNotFound, Code: "page_not_found", Detail: "There is no such page."}
	}})
}
