// Package answer builds the JSON of answers by hand, because reflection would be a measurable part of a call for one
// item.
package answer
