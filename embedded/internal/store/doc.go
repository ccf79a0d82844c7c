// Package store keeps the engine's bytes: one ordered key space on disk, on Pebble.
//
// Each service of the engine owns the keys behind its own prefix byte (see the Prefix
// constants). All changes go through a [Batch], which is applied as a whole or not at
// all. A batch may span services: a DynamoDB write and its stream record are one batch.
//
//	batch := db.NewBatch()
//	batch.Set(key, value)
//	err := batch.Commit() // nil: the batch is on disk
//
// # Guarantees
//
//   - A batch is on disk when Sync or Commit returns nil.
//   - Batches reach the disk in the order in which they were applied. After a crash a
//     batch is there only if all earlier ones are.
//   - Batches that are synced at the same time share one flush of the disk.
//
// # Reading
//
// A read sees every applied batch, even before the batch is on disk. A service calls
// [DB.Barrier] between a read and its answer, so that a crash cannot undo the answer.
//
// # Disks
//
// A disk that fails while writing ends the process: the store cannot know what reached the disk and must
// not acknowledge it. A disk that is nearly full refuses changes with ErrFull. Open refuses files that are
// damaged, or that have lost changes, with ErrDamaged; a read that meets damage returns it. Open
// also refuses data of another format and names both numbers.
package store
