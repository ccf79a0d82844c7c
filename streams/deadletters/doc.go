// Package deadletters keeps the records that a handler gave up on, for 21 days. [Letters] lists, reads,
// redrives, rewrites and deletes them; [Table] is what workers store them with. Records that do not fit into
// a row are stored in parts.
//
// A dead letter has a row under source "streams/<handler>", with the group in front of the handler's name if
// there is one; its id says the stream, the shard and the sequence number.
package deadletters
