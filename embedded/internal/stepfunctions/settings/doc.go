// Package settings has what requests say about machines and activities beside their definitions: tags,
// encryption, logging and tracing. Each is checked as the service checks it, stored, and described. Nothing
// but the description depends on it.
package settings
