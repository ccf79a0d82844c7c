// Package keys says where the records of Step Functions lie in the store, and gives out the numbers in
// their keys.
//
// A key is the prefix of Step Functions, a byte for its kind, and what identifies the record: a name, or
// numbers. Numbers are big-endian, so that keys sort by them. They come from one [Sequence], grow and are
// never reused, so that a list of executions by number is a list by age.
package keys
