// Package attr is DynamoDB's data: attribute values, items, exact numbers, their
// sizes, their order, and their encodings.
//
// A [Value] is one attribute value, an [Item] is values by name. Values are
// immutable once built, so they are shared freely: an update copies the maps and
// lists on its path and nothing else.
//
// There are three encodings. AWS JSON ({"S":"x"}) is what travels on the wire
// ([Item.UnmarshalJSONFrom], [Item.AppendJSON]). The binary form is what lies on
// disk ([AppendBinary], [DecodeBinary]): versioned, and the same bytes for the same
// item. The key form ([AppendKey]) keeps the order: comparing two encodings
// byte by byte compares the values as DynamoDB does.
//
// # Numbers
//
// A number is its canonical text: plain decimal digits, no exponent, no leading or
// trailing zeros, no "-0", at most 38 significant digits, magnitude between 1E-130
// and 9.99...E+125. Every N and every member of an NS in this package is canonical;
// [ParseNumber] is the way in. Equal numbers are equal strings.
// Rule: https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/HowItWorks.NamingRulesDataTypes.html
//
// # What decoding refuses
//
// Wrong JSON (a number where a string must stand) fails at once with a
// [SerializationError], as AWS does before it looks at any value. A value that is
// JSON but not data ({"N":"abc"}, {}) decodes to a Value of kind [Invalid] that
// carries DynamoDB's words; [Item.Err] and [Value.Err] bring them out as a
// [ValidationError]. So the caller can decode a whole request in one pass and
// still report faults in DynamoDB's order ("ExpressionAttributeValues contains
// invalid value: ... for key :x"). Call Err on every item, key and value that came
// from outside before using it: AppendBinary and AppendKey panic on Invalid.
package attr
