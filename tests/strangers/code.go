// Package strangers has the texts of people who mean harm, for the tests of pages that show texts.
package strangers

import "fmt"

// Code returns 200 texts that would become code on a page that does not escape them. What they make has the attribute data-stranger, or
// an address that begins with javascript. What runs adds one to window.ran, and what is fetched has an address with stranger in it.
func Code() (all []string) {
	elements := []string{
		`<script data-stranger>ran=(window.ran||0)+1</script>`,
		`<img src=x data-stranger onerror=ran=(window.ran||0)+1>`,
		`<svg data-stranger onload=ran=(window.ran||0)+1>`,
		`<svg><script data-stranger>ran=(window.ran||0)+1</script></svg>`,
		`<iframe data-stranger srcdoc="<script>ran=(window.ran||0)+1</script>"></iframe>`,
		`<a data-stranger href="javascript:ran=(window.ran||0)+1">x</a>`,
		`<body data-stranger onpageshow=ran=(window.ran||0)+1>`,
		`<details data-stranger open ontoggle=ran=(window.ran||0)+1>`,
		`<input data-stranger autofocus onfocus=ran=(window.ran||0)+1>`,
		`<meta data-stranger http-equiv=refresh content="0;url=javascript:ran=(window.ran||0)+1">`,
		`<base data-stranger href=//stranger.example/>`,
		`<link data-stranger rel=stylesheet href=//stranger.example/x.css>`,
		`<style data-stranger>*{background:url(//stranger.example)}</style>`,
		`<form data-stranger action=//stranger.example><button>x</button></form>`,
		`<object data-stranger data="javascript:ran=(window.ran||0)+1"></object>`,
		`<div data-stranger hx-get="/console/stranger" hx-trigger="load"></div>`,
		`<div data-stranger hx-post="/console/act/stranger" hx-trigger="load"></div>`,
		`<div data-stranger hx-on:load="ran=(window.ran||0)+1"></div>`,
		`<div data-stranger hx-sse:connect="//stranger.example"></div>`,
		`<template data-stranger shadowrootmode=open><script>ran=(window.ran||0)+1</script></template>`,
		`<math data-stranger><mtext></mtext></math>`,
		`<rt-ago data-stranger at="x"></rt-ago>`,
		`<title data-stranger>x</title>`,
		`<button data-stranger formaction="javascript:ran=(window.ran||0)+1">x</button>`,
		`<video data-stranger><source onerror=ran=(window.ran||0)+1></video>`,
	}
	// How a text may leave the place in which it stands.
	ways := []string{"%s", `">%s`, `'>%s`, `</script>%s`, `--><!-- >%s`, `</title></textarea></style>%s`, "]]>%s", `" data-stranger onmouseover="ran=(window.ran||0)+1" x="%s`}

	for _, e := range elements {
		for _, way := range ways {
			all = append(all, fmt.Sprintf(way, e))
		}
	}

	return all
}
