// Package requests has the forms of requests and answers that the operations of Step Functions share: how a
// body is read, how times are written, and how a request is refused as invalid.
package requests
