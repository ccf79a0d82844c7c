// Package indexes has secondary indexes: which items an [Index] covers, what its entries hold, and how a write of an item
// changes them.
//
// An entry has a store key of its own: the key of the index, then the item's primary key. Its value is the part of the
// item that the index projects.
package indexes
