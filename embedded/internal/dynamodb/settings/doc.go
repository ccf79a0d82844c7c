// Package settings has the throughput of tables and indexes and the keys of encryption: the engine checks, keeps and
// describes them, and they have no other effect.
package settings
