package api

import (
	"context"
	"errors"
	"net"
	"net/http"
	"runtime/debug"
	"slices"
	"strings"
)

// ServeHTTP is everything that comes before a route is known.
func (s *service) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	c := &call{id: requestID(r)}
	rec := &recorder{ResponseWriter: w}
	r = r.WithContext(context.WithValue(r.Context(), callKey{}, c))
	h := rec.Header()
	h.Set("X-Request-Id", c.id)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Cache-Control", "no-store")
	defer s.recovered(rec, r)

	if p := s.admit(r); p != nil {
		p.write(rec)
		return
	}

	if path := r.URL.Path; path != healthPath && path != readyPath { // these answer when nothing else does
		leave, p := s.gate.enter(r.Context())
		if p != nil {
			p.write(rec)
			return
		}
		c.release = leave
		defer leave()
	}
	s.mux.ServeHTTP(rec, r)
}

// recovered answers a panic, in the handler or in huma, without showing it.
func (s *service) recovered(rec *recorder, r *http.Request) {
	cause := recover()
	switch err, _ := cause.(error); {
	case cause == nil:
		return
	case errors.Is(err, http.ErrAbortHandler):
		panic(cause)
	}
	s.cfg.Log.ErrorContext(r.Context(), "panic", "request", callOf(r.Context()).id, "panic", cause, "stack", string(debug.Stack()))

	if rec.status == 0 {
		internal().write(rec)
		return
	}
	panic(http.ErrAbortHandler) // an answer that has begun is cut off, not completed
}

// admit checks what a request says of itself before anybody asks who it is.
func (s *service) admit(r *http.Request) *problem {
	if !s.hostAllowed(r) {
		return newProblem(http.StatusMisdirectedRequest, "host_not_allowed", "This address does not serve that host.")
	}

	if s.origins.Check(r) != nil {
		return newProblem(http.StatusForbidden, "cross_origin", "A page of another origin must not request this.")
	}

	if unclean(r.URL.Path) {
		return notFound("route") // the mux would redirect
	}

	return nil
}

// hostAllowed defends a loopback address from web pages whose name was rebound to it:
// the browser then sends that name as the host.
func (s *service) hostAllowed(r *http.Request) bool {
	address, known := r.Context().Value(http.LocalAddrContextKey).(net.Addr)
	if !s.cfg.Dev && known {
		local, _, err := net.SplitHostPort(address.String())
		if err == nil && !isLoopback(local) {
			return true
		}
	}

	if !s.cfg.Dev && !known {
		return true // called in process
	}

	host := r.Host
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	host = strings.ToLower(strings.Trim(host, "[]"))

	return isLoopback(host) || slices.Contains(s.cfg.Hosts, host)
}

// unclean reports a path that [http.ServeMux] would clean up and redirect to.
func unclean(path string) bool {
	return !strings.HasPrefix(path, "/") || strings.Contains(path, "//") || strings.Contains(path+"/", "/./") || strings.Contains(path+"/", "/../")
}

// unmatched answers what no route takes: 405 where another method would do.
func (s *service) unmatched(w http.ResponseWriter, r *http.Request) {
	var allow []string
	for _, method := range []string{http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete} {
		other := *r
		other.Method = method
		if _, pattern := s.mux.Handler(&other); pattern != "" && pattern != "/" {
			allow = append(allow, method)
		}
	}

	if len(allow) == 0 {
		notFound("route").write(w)
		return
	}
	newProblem(http.StatusMethodNotAllowed, "method_not_allowed", "The route exists, but not with this method.").with("Allow", strings.Join(allow, ", ")).write(w)
}
