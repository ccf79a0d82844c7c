// Package attr holds DynamoDB's data: attribute values, items, exact numbers, their sizes,
// their order and their encodings.
//
// A [Value] is one attribute value, an [Item] is values by name. Values are immutable
// once built and may be shared: an update copies the maps and lists on its path and
// nothing else.
//
//	var item attr.Item
//	if err := json.Unmarshal(body, &item); err != nil { ... } // wrong JSON
//	if err := item.Err(); err != nil { ... }                  // JSON that is not data
//	stored := attr.AppendBinary(nil, item)
//
// # Encodings
//
//   - AWS JSON ({"S":"x"}) is the form on the wire: [Item.UnmarshalJSONFrom],
//     [Item.AppendJSON].
//   - The binary form is the form on disk: [AppendBinary], [DecodeBinary]. It is versioned,
//     and equal items have equal bytes.
//   - The key form keeps the order: comparing the bytes of two keys compares the values as
//     DynamoDB does ([AppendKey]).
//
// # Numbers
//
// A number is stored as its canonical text: plain decimal digits, no exponent, no leading
// or trailing zeros, no "-0", at most 38 significant digits, magnitude between 1E-130 and
// 9.99...E+125. Every N and every member of an NS is canonical; [ParseNumber] makes them
// so. Equal numbers are equal strings.
// Source: https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/HowItWorks.NamingRulesDataTypes.html
//
// # Errors of decoding
//
// JSON of the wrong shape (a number in the place of a string) fails at once with a
// SerializationException, as on AWS. A value that has the right shape but is not data
// ({"N":"abc"}, {}) decodes to a Value of kind [Invalid] that carries DynamoDB's message;
// [Item.Err] and [Value.Err] return it as a [ValidationError]. So the caller decodes a
// whole request in one pass and still reports faults in DynamoDB's order.
//
// Call Err on every item, key and value from outside before using it: AppendBinary and
// AppendKey panic on Invalid.
package attr
