// Package streams polls DynamoDB Streams.
package streams
