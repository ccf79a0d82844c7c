package asl

func (b *builder) compileWait(s *State, o *object) {
	which := "exactly one of the fields Seconds, SecondsPath, Timestamp, TimestampPath is required"
	if s.JSONata {
		which = "exactly one of the fields Seconds, Timestamp is required"
	}

	o.exclusive("Seconds", "SecondsPath", "Timestamp", "TimestampPath")

	switch {
	case o.has("Seconds") || o.has("SecondsPath"):
		s.Seconds = o.seconds("Seconds", 0, maxSeconds)
	case o.has("Timestamp"):
		if s.Timestamp.Query = o.query("Timestamp"); s.Timestamp.Query != nil {
			return
		}

		s.Timestamp.Value = o.text("Timestamp")
		if _, err := ParseTimestamp(s.Timestamp.Value); err != nil {
			b.fault(codeSchema, o.at+"/Timestamp", "String does not match RFC3339 timestamp")
		}
	case o.has("TimestampPath"):
		s.Timestamp.Path = o.path("TimestampPath")
	default:
		b.fault(codeSchema, o.at, "%s", which)
	}
}
