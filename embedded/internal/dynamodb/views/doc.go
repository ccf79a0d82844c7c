// Package views has what a Query, a Scan or a SELECT reads: a table or one of its indexes, with the checks of projections,
// filters, conditions and start keys that depend on which it is. Nothing here reads the store.
package views
