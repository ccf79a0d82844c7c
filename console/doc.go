// Package console serves pages on which a person sees every order, and why it is where it is, and acts on it.
//
// It is a client of the HTTP API in the same process: what it shows is what the API answers to the person who
// looks, with that person's tenant, scope, grants and limits, and each page shows the requests that it consists
// of. A GET changes nothing. An act is one request to the API, with a reason for the audit, and with a key, so that
// a form that is sent twice has one effect. Pages need no JavaScript to be read; with it, they follow what happens.
//
// Package session knows who looks. A listener in front of the console checks Host and Origin; a request that may change
// something must also say that a page of this origin sends it.
package console
