// Package console serves pages on which a person sees every order, and why it is where it is.
//
// It is a client of the HTTP API in the same process: what it shows is what the API answers to the person who
// looks, with that person's tenant, scope, grants and limits, and each page shows the requests that it consists
// of. A GET changes nothing. Pages need no JavaScript to be read; with it, they follow what happens.
package console
