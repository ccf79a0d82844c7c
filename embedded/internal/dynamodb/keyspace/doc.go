// Package keyspace has the keys of items and of the entries of indexes, and their place in the store.
//
// A [Schema] says which attributes are the key. A [Space] is a table or an index as a range of store keys: its prefix, a
// hash of the partition key, the whole key. It checks keys, and turns conditions on keys and segments into ranges. A
// [Primary] is an item's key that was checked, with its store key, its place in a Scan and its stripe.
//
// All store keys of DynamoDB begin as [StoreKey] and [TablePrefix] have it, with one of the kinds.
package keyspace
