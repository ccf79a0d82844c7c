package main

import (
	"github.com/go-viper/mapstructure/v2"
)

// decoderFor reads settings strictly: an unknown name is an error, durations are
// written like "2s", lists like "1,2", and the environment's strings become numbers.
func decoderFor(target any) *mapstructure.DecoderConfig {
	return &mapstructure.DecoderConfig{
		Result: target, TagName: "koanf", ErrorUnused: true, WeaklyTypedInput: true,
		DecodeHook: mapstructure.ComposeDecodeHookFunc(mapstructure.StringToTimeDurationHookFunc(), mapstructure.StringToSliceHookFunc(",")),
	}
}
