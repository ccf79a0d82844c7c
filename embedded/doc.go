// Package embedded is an engine in the same process that speaks the wire
// protocols of DynamoDB, DynamoDB Streams and Step Functions and keeps its data
// on disk.
package embedded
