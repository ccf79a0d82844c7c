// Package capacity counts what calls cost by DynamoDB's rules, and writes it as ConsumedCapacity. Nothing is throttled.
package capacity
