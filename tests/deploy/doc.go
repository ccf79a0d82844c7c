// Package deploy holds the templates below deploy/ to the code.
//
// It records the calls of each part of Ratchet, each part behind a proxy of its own in front of
// the embedded engine, and turns them into permissions: deploy/permissions. The policies of the
// templates must be these permissions, no more and no less. Tables, queues, activities and the
// state machine of the templates must be what `ratchet init` creates, and an order is delivered on
// an engine whose resources come from a template.
package deploy
