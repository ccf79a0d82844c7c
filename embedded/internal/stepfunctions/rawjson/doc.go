// Package rawjson reads and changes JSON text without decoding it.
//
// A document is a []byte that Valid has accepted once; every other function
// trusts that. Values are sub-slices of their document, so looking something
// up copies nothing, member order survives, and a number keeps its text: 2^53+1
// goes through a workflow unharmed. Where an object names a member twice, the
// last one counts, as it does for AWS.
package rawjson
