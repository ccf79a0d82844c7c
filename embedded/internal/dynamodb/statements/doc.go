// Package statements reads PartiQL statements against the key of a table or an index: the key that a WHERE clause names,
// the ranges of store keys that a SELECT reads and the tokens between its pages, and the rows that it shows. Nothing here
// reads or writes the store.
package statements
