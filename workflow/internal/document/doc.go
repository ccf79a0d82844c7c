// Package document reads JSON and YAML files into trees that remember the line of
// every part, so that an error can name the file and the line.
//
// [Read] returns the tree. A [Decoder] takes typed values out of it and keeps the
// first error:
//
//	root, err := document.Read("order.yaml", data)
//	...
//	d := document.Decoder{File: "order.yaml"}
//	name := d.String(root.Get("name"), "name")
//	return d.Err()
//
// The package protects its callers from hostile input: files of more than 4 MiB,
// more than 100 levels, duplicate members, YAML aliases and several documents in one
// file are errors.
package document
