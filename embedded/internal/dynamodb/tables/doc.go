// Package tables has what a table is: the [Record] of its key, its indexes and its settings, and the requests that define
// it. [Create] and [Update] check themselves in the service's order and words and make or change a record; a record
// describes itself. Nothing here reads or writes the store.
package tables
