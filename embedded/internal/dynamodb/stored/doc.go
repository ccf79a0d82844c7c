// Package stored has items as the store holds them, in tables and in the entries of indexes: the size by DynamoDB's
// rule, then the encoding. Most reads need the size and the encoding and never decode the item.
package stored
