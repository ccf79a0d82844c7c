// Package lambda lets tasks invoke functions of the embedding program, as AWS Lambda would: a payload and a
// result are JSON, and an error has a type.
package lambda
