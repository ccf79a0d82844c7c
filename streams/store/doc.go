// Package store has what the rooms of streams write into the lease and dead-letter tables: the keys of the
// rows, the numbers of their formats, the encoding of records and of their parts, and conditional writes,
// alone or fenced by the check of a lease.
package store
