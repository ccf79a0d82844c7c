// Package expiries has the index of a table's expiries: an entry for each item whose time to live ends one day, in the
// order of time, so that a sweep reads only what is due.
package expiries
