// Package pages cuts lists into pages and reads and writes the tokens that lead from one page to the next.
//
// Lists in memory are cut by [Of]. A list that is read from the store takes [Size] entries, and its token
// is the number of the entry where the next page begins ([Token], [Read]).
package pages
