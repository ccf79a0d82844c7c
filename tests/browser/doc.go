// Package browser uses a real browser: pages of other origins get nothing from any listener of a process, and a person
// acts in the console by mouse and keyboard, under the policy of its pages. The tests need Chromium
// (chromium-headless-shell): make browser.
package browser
