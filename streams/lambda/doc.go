// Package lambda runs the handlers of a poller in a function behind a Lambda event source mapping, with
// partial batch responses. The mapping does the work of a poller: it reads the shards, repeats failed batches
// and counts attempts.
package lambda
