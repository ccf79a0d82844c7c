package door

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
)

// The reasons for which a request is not served.
var (
	// ErrHost refuses a request that names a host which the listener does not serve.
	ErrHost = errors.New("this address does not serve that host: name it in the setting allowed-hosts, or use the address")
	// ErrOrigin refuses a request that a browser sends for a page of another origin.
	ErrOrigin = errors.New("pages of another origin may not send requests to this address")
)

// hostPrefixes are put before the host by AWS SDKs, also before the host of an endpoint that the caller
// chose: Step Functions has "sync-" for StartSyncExecution and TestState.
var hostPrefixes = []string{"sync-"}

// Config says which requests a door lets pass. The zero value is the safe one.
type Config struct {
	// AllowedHosts are names, without ports, that requests may have in their Host header. IP addresses,
	// localhost and names that end in .localhost always pass. On a loopback address nothing else passes
	// unless it is listed here. On other addresses every name passes while the list is empty.
	AllowedHosts []string
	// Probes are the paths of health checks. A GET or HEAD request for one of them always passes, because a
	// load balancer names what it likes.
	Probes []string
}

// Door decides which requests a listener serves. It is safe for concurrent use.
type Door struct {
	hosts, probes []string
}

// New returns a door.
func New(cfg Config) *Door {
	d := &Door{probes: slices.Clone(cfg.Probes)}
	for _, host := range cfg.AllowedHosts {
		d.hosts = append(d.hosts, bare(host))
	}

	return d
}

// Check returns nil if the request may be served, or an error that is ErrHost or ErrOrigin. The host of a request
// that did not come through a socket is not checked.
func (d *Door) Check(r *http.Request) error {
	if d.IsProbe(r) {
		return nil
	}

	return d.refuses(r)
}

// IsProbe reports whether the request is one of a health check.
func (d *Door) IsProbe(r *http.Request) bool {
	return (r.Method == http.MethodGet || r.Method == http.MethodHead) && slices.Contains(d.probes, r.URL.Path)
}

func (d *Door) refuses(r *http.Request) error {
	// Only a server on a socket sets the address, and a browser reaches nothing else than TCP.
	local, ok := r.Context().Value(http.LocalAddrContextKey).(*net.TCPAddr)
	if ok && !d.serves(r.Host, local.IP.IsLoopback()) {
		return fmt.Errorf("host %q: %w", r.Host, ErrHost)
	}

	if isForeign(r) {
		return ErrOrigin
	}

	return nil
}

// serves reports whether a listener serves the host. A web page can make its own name resolve to the address of
// this machine (DNS rebinding), but its browser still sends that name. It cannot make a browser send an IP
// address, or localhost.
func (d *Door) serves(host string, loopback bool) bool {
	if !loopback && len(d.hosts) == 0 {
		return true
	}

	name := bare(host)
	if isLocal(name) || slices.Contains(d.hosts, name) {
		return true
	}

	for _, prefix := range hostPrefixes {
		if rest, found := strings.CutPrefix(name, prefix); found && (isLocal(rest) || slices.Contains(d.hosts, rest)) {
			return true
		}
	}

	return false
}

// isLocal reports whether no page can have the name: an IP address, localhost, or a name below it, which
// browsers and resolvers take for this machine.
func isLocal(name string) bool {
	_, err := netip.ParseAddr(name)
	return err == nil || name == "localhost" || strings.HasSuffix(name, ".localhost")
}

// bare returns a host in lower case, without its port, the brackets of an IPv6 address and the dot at the end.
func bare(host string) string {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}

	host = strings.TrimSuffix(strings.TrimPrefix(host, "["), "]")

	return strings.ToLower(strings.TrimSuffix(host, "."))
}

// isForeign reports whether a browser sends the request for a page of another origin. This holds for reads, too:
// the page may not see the answer, but the request has its effect. Programs send none of these headers.
func isForeign(r *http.Request) bool {
	// Browsers send it to addresses of this machine and over TLS; pages cannot set it.
	switch site := r.Header.Values("Sec-Fetch-Site"); {
	case len(site) > 1:
		return true
	case len(site) == 1:
		return site[0] != "same-origin" && site[0] != "none"
	}

	origins := r.Header.Values("Origin")
	if len(origins) == 0 {
		return false
	}

	origin, err := url.Parse(origins[0])

	return len(origins) > 1 || err != nil || origin.Host == "" || !strings.EqualFold(origin.Host, r.Host)
}

// Status returns the HTTP status for an error of Check.
func Status(err error) int {
	if errors.Is(err, ErrHost) {
		return http.StatusMisdirectedRequest
	}

	return http.StatusForbidden
}

// Handler serves the requests that pass. A probe that would not pass otherwise gets its status and headers without the
// text, so that a page learns nothing from it.
func (d *Door) Handler(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		err := d.refuses(r)

		switch {
		case err == nil:
			next.ServeHTTP(w, r)
		case d.IsProbe(r):
			next.ServeHTTP(textless{w}, r)
		default:
			http.Error(w, err.Error(), Status(err))
		}
	})
}

// textless is a response without its body.
type textless struct{ http.ResponseWriter }

// Write discards p.
func (textless) Write(p []byte) (int, error) { return len(p), nil }
