// Package browser shows pages of other origins to a real browser: they get nothing from any listener of a process. The
// test needs Chromium (chromium-headless-shell): make browser.
package browser
