package listeners

import "net/http"

// CloseChunked returns a handler that ends the connection after a request in chunks. Such a request may also have a length,
// by which a proxy in front reads it otherwise: what follows on the connection would be a request that no client has sent. A
// server must end it then (RFC 9112, 6.1), and net/http does not say whether there was a length.
func CloseChunked(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.ProtoMajor == 1 && len(r.TransferEncoding) > 0 {
			w.Header().Set("Connection", "close")
		}

		next.ServeHTTP(w, r)
	})
}
