// Package listeners knows from whom a connection or a request comes, also behind proxies, and limits open connections.
//
// Behind a load balancer every connection has the balancer's address. [Proxies] names the addresses that are believed
// when they say whose request they pass on, and the one place where they say it: the header Forwarded, the header
// X-Forwarded-For, or the PROXY protocol at the beginning of the connection. What other peers say is ignored, and so
// are the other places.
//
//	proxies, err := listeners.NewProxies("x-forwarded-for", "10.0.0.0/8")
//	...
//	listener = listeners.Limit(listener, proxies, 4096, 1024)
//	err = http.Serve(listener, proxies.Handler(handler))
//
// Then [http.Request.RemoteAddr] has the address of the client.
package listeners
