// Package rawjson reads and changes JSON text without decoding it.
//
// A document is a []byte that [Valid] has accepted; every other function relies on that.
// A value is a part of its document's bytes, so that reading copies nothing, the order of
// members stays, and a number keeps its text: 2^53+1 passes through a workflow unchanged.
//
//	id, ok := rawjson.Member(order, "id")
//	for c := rawjson.Walk(order); c.Next(); {
//		fmt.Printf("%s: %s\n", c.Key, c.Value)
//	}
//
// If an object has a member twice, the last one counts, as on AWS.
package rawjson
