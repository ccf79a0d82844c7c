package server_test

import (
	"reflect"
	"strings"
	"testing"

	"ratchet/server"
)

// TestNoSettingShowsAPassword puts a URL with a marked password, and broken URLs like it, into each setting that takes
// text, and searches the error.
func TestNoSettingShowsAPassword(t *testing.T) {
	refused := 0

	for _, marked := range []string{"http://user:marked-secret@", "ftp://user:marked-secret@host", "://user:marked-secret@host:x", "user:marked-secret@ host"} {
		cfg := server.Config{}
		for _, field := range textFields(reflect.ValueOf(&cfg).Elem()) {
			one := server.Config{}
			into := reflect.ValueOf(&one).Elem().FieldByIndex(field)

			if into.Kind() == reflect.String {
				into.SetString(marked)
			} else {
				into.Set(reflect.ValueOf([]string{marked}))
			}

			err := one.WithDefaults().Validate()
			if err == nil {
				continue
			}
			refused++

			if strings.Contains(err.Error(), "marked-secret") {
				t.Errorf("%s: %v", reflect.TypeFor[server.Config]().FieldByIndex(field).Name, err)
			}
		}
	}

	if refused < 20 {
		t.Errorf("only %d values were refused", refused)
	}
}

// textFields returns the indices of the fields, also of structs inside, that are text or lists of text.
func textFields(v reflect.Value) (fields [][]int) {
	for _, field := range reflect.VisibleFields(v.Type()) {
		switch {
		case field.Tag.Get("koanf") == "-":
		case field.Type.Kind() == reflect.String, field.Type == reflect.TypeFor[[]string]():
			fields = append(fields, field.Index)
		case field.Type.Kind() == reflect.Struct:
			for _, inner := range textFields(v.FieldByIndex(field.Index)) {
				fields = append(fields, append(append([]int{}, field.Index...), inner...))
			}
		}
	}

	return fields
}
