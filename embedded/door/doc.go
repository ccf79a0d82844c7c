// Package door keeps web pages away from a listener of this machine.
//
// A listener on a loopback address is open to every program of the machine, and a browser is one of them. A page that
// the browser shows may send requests to http://127.0.0.1:PORT, and after DNS rebinding (its own name resolves to
// 127.0.0.1) it may read the answers. A [Door] looks at two headers that a page cannot forge: Host, which
// has the page's name after rebinding, and Sec-Fetch-Site or Origin, which say that a page of another origin
// sends the request.
//
//	d := door.New(door.Config{AllowedHosts: []string{"api.example.com"}})
//	server := &http.Server{Handler: d.Handler(mux)}
//
// A door authenticates no one: a program may send any header.
package door
