package session

import (
	"net"
	"net/http"
	"slices"
	"strings"
	"time"
)

// The names of the cookies. With this prefix a browser takes them only over TLS or from this machine, for all paths, and
// from no other host, so that a page below the same domain cannot plant one.
const (
	sessionCookie = "__Host-ratchet-session"
	loginCookie   = "__Host-ratchet-login"
)

func setCookie(w http.ResponseWriter, name, value string, until time.Time) {
	http.SetCookie(w, &http.Cookie{
		Name: name, Value: value, Path: "/", Expires: until.UTC(), MaxAge: max(1, int(time.Until(until).Seconds())),
		// Lax: the browser comes back from the provider with them.
		Secure: true, HttpOnly: true, SameSite: http.SameSiteLaxMode,
	})
}

func clearCookie(w http.ResponseWriter, name string) {
	http.SetCookie(w, &http.Cookie{Name: name, Path: "/", MaxAge: -1, Secure: true, HttpOnly: true, SameSite: http.SameSiteLaxMode})
}

// cookie returns the value of the only cookie of the name. Of two, one was planted.
func cookie(r *http.Request, name string) (string, bool) {
	found := r.CookiesNamed(name)
	if len(found) != 1 {
		return "", false
	}

	return found[0].Value, true
}

// checkPlain returns ErrPlain if others could read the request on its way.
func (l *Login) checkPlain(r *http.Request) error {
	if r.TLS != nil {
		return nil
	}

	// A proxy in front speaks TLS to browsers at this host, or the host is the browser's own machine.
	if l.host != "" && strings.EqualFold(r.Host, l.host) {
		return nil
	}

	// The connection ends on this machine.
	if local, ok := r.Context().Value(http.LocalAddrContextKey).(*net.TCPAddr); ok && local.IP.IsLoopback() {
		return nil
	}

	return ErrPlain
}

// origin is where browsers reach the console.
func (l *Login) origin(r *http.Request) string {
	switch {
	case l.cfg.URL != "":
		return l.cfg.URL
	case r.TLS != nil:
		return "https://" + r.Host
	}

	return "http://" + r.Host
}

// Local returns a path of the console to go back to after a login, and the console's first page for everything
// else: other hosts, other paths, and what a browser could take for them.
func Local(path string) string {
	const console = "/console/"

	// Browsers read a backslash as a slash, and leave tabs and line feeds out.
	for _, c := range []byte(path) {
		if c <= ' ' || c == '\\' || c == 0x7f {
			return console
		}
	}

	below, query, _ := strings.Cut(path, "?")
	// Browsers read %2e as a dot.
	segments := strings.Split(strings.ReplaceAll(strings.ToLower(below), "%2e", "."), "/")
	if !strings.HasPrefix(path, console) || strings.Contains(below, "//") || slices.Contains(segments, "..") || slices.Contains(segments, ".") ||
		strings.Contains(query, "#") || strings.HasPrefix(below, console+"login") || strings.HasPrefix(below, console+"logout") || strings.HasPrefix(below, console+"live/") {
		return console
	}

	return path
}
