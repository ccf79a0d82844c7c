package api

import (
	"context"
	"errors"
	"math"
	"net/http"
	"runtime/debug"
	"strings"
	"time"

	"ratchet/embedded/door"
)

// ServeHTTP does everything that precedes the routing of a request: it recovers panics and
// checks host and origin.
func (s *service) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	began := time.Now()
	c := &call{service: s, id: requestID(r), head: r.Method == http.MethodHead, trace: r.Header.Get("Traceparent")}
	rec := &recorder{ResponseWriter: w}
	r = r.WithContext(context.WithValue(r.Context(), callKey{}, c))

	header := rec.Header()
	header.Set("X-Request-Id", c.id)
	header.Set("X-Content-Type-Options", "nosniff")
	header.Set("Cache-Control", "no-store")

	// Deferred before recoverPanic: Served runs last and sees the status of a recovered panic.
	if s.cfg.Served != nil {
		defer func() { s.cfg.Served(r, r.Pattern, rec.Header(), rec.status, time.Since(began)) }()
	}
	defer s.recoverPanic(rec, r)

	if p := s.checkTarget(r); p != nil {
		p.write(rec)
		return
	}

	s.surface.mux.ServeHTTP(rec, r)
}

// recoverPanic logs a panic and answers 500 without its cause.
func (s *service) recoverPanic(rec *recorder, r *http.Request) {
	cause := recover()
	if cause == nil {
		return
	}

	// A handler that aborts on purpose is no failure: net/http closes the connection.
	if err, isError := cause.(error); isError && errors.Is(err, http.ErrAbortHandler) {
		panic(cause)
	}

	s.cfg.Log.ErrorContext(r.Context(), "panic", "request", callOf(r.Context()).id, "panic", cause, "stack", string(debug.Stack()))

	// An answer that has begun cannot become a problem. Aborting the connection keeps the
	// client from taking it as complete.
	if rec.status != 0 {
		panic(http.ErrAbortHandler)
	}

	internal().write(rec)
}

// checkTarget checks the host, origin and path that the request names.
func (s *service) checkTarget(r *http.Request) *problem {
	err := s.door.Check(r)
	if _, inside := identityOf(r.Context()); inside {
		err = nil // see As
	}

	switch {
	case errors.Is(err, door.ErrHost):
		return newProblem(http.StatusMisdirectedRequest, "host_not_allowed", "This address does not serve that host.")
	case err != nil:
		return newProblem(http.StatusForbidden, "cross_origin", "Pages of another origin may not send this request.")
	}

	if wouldRedirect(r.URL.EscapedPath()) {
		return notFound("route")
	}

	return nil
}

// wouldRedirect reports whether [http.ServeMux] would clean the path and redirect to the
// result. Such a path names no route.
func wouldRedirect(path string) bool {
	return !strings.HasPrefix(path, "/") ||
		strings.Contains(path, "//") ||
		strings.Contains(path+"/", "/./") ||
		strings.Contains(path+"/", "/../")
}

// noRoute answers requests that match no route: 405 if the path has other methods, 404 if
// it has none. Of two routes that match, such as /{handler}/redrive and /{handler}/{letter}, the methods are those of
// the one with fewer parameters, as the document's readers match paths.
func (s *service) noRoute(w http.ResponseWriter, r *http.Request) {
	var allowed []string

	fewest := math.MaxInt
	for _, method := range []string{http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete} {
		// The mux only looks at the copy.
		other := *r
		other.Method = method

		_, pattern := s.surface.mux.Handler(&other)
		if pattern == "" || pattern == "/" {
			continue
		}

		parameters := strings.Count(pattern, "{")
		if parameters < fewest {
			allowed, fewest = nil, parameters
		}

		if parameters == fewest {
			allowed = append(allowed, method)
		}
	}

	if len(allowed) == 0 {
		notFound("route").write(w)
		return
	}

	p := newProblem(http.StatusMethodNotAllowed, "method_not_allowed", "The route does not have this method.")
	p.withHeader("Allow", strings.Join(allowed, ", ")).write(w)
}
