package console

import (
	"errors"
	"net/http"
	"strings"

	"ratchet/console/session"
)

// maxLogin bounds the body of a login, in bytes.
const maxLogin = 8 << 10

func (h *handler) loginRoutes() {
	h.mux.HandleFunc("GET "+Path+"/login", h.loginForm)
	h.mux.HandleFunc("POST "+Path+"/login", h.loginWithKey)
	h.mux.HandleFunc("GET "+Path+"/login/provider", h.loginAtProvider)
	h.mux.HandleFunc("GET "+session.CallbackPath, h.loginFinished)
	h.mux.HandleFunc("POST "+Path+"/logout", h.logout)
}

// loginAddress is the page on which a stranger logs in, and comes back to the path.
func loginAddress(back string) string { return with(Path+"/login", "return", back) }

// stranger answers a request without a login.
func (h *handler) stranger(w http.ResponseWriter, r *http.Request) {
	// A stream and a form cannot go to another page and come back.
	if h.cfg.Login == nil || changes(r) || strings.HasPrefix(r.URL.Path, Path+"/live") {
		h.write(w, r, http.StatusUnauthorized, shell{title: "Log in"}, endedPage(loginAddress("")), nil)
		return
	}

	http.Redirect(w, r, loginAddress(session.Local(r.URL.RequestURI())), http.StatusSeeOther)
}

func (h *handler) loginForm(w http.ResponseWriter, r *http.Request) {
	h.writeLogin(w, r, http.StatusOK, r.URL.Query().Get("return"), "")
}

func (h *handler) writeLogin(w http.ResponseWriter, r *http.Request, status int, back, fault string) {
	h.write(w, r, status, shell{title: "Log in"}, loginPage(session.Local(back), h.cfg.Login.HasProvider(), fault), nil)
}

func (h *handler) loginWithKey(w http.ResponseWriter, r *http.Request) {
	r.Body = http.MaxBytesReader(w, r.Body, maxLogin)
	back := r.PostFormValue("return")

	if err := h.cfg.Login.WithKey(w, r, r.PostFormValue("key")); err != nil {
		h.loginFailed(w, r, back, err)
		return
	}

	http.Redirect(w, r, session.Local(back), http.StatusSeeOther) //nolint:gosec // G710: Local leads to the console only
}

func (h *handler) loginAtProvider(w http.ResponseWriter, r *http.Request) {
	back := r.URL.Query().Get("return")

	address, err := h.cfg.Login.Begin(w, r, back)
	if err != nil {
		h.loginFailed(w, r, back, err)
		return
	}

	http.Redirect(w, r, address, http.StatusSeeOther) //nolint:gosec // G710: the address of the configured provider
}

func (h *handler) loginFinished(w http.ResponseWriter, r *http.Request) {
	back, err := h.cfg.Login.Finish(w, r)
	if err != nil {
		h.loginFailed(w, r, "", err)
		return
	}

	// A page, and no redirect: the browser would still say that the provider's page sends it.
	h.write(w, r, http.StatusOK, shell{title: "Logged in", next: back}, loggedInPage(back), nil)
}

// loginFailed shows the form again. Why a login was refused is in the log only.
func (h *handler) loginFailed(w http.ResponseWriter, r *http.Request, back string, err error) {
	status, fault := http.StatusBadGateway, "The login cannot be checked now. Try again."

	switch {
	case errors.Is(err, session.ErrRefused):
		status, fault = http.StatusUnauthorized, "This login is not accepted. The log of the server says why."
	case errors.Is(err, session.ErrTooMany):
		w.Header().Set("Retry-After", "60")
		status, fault = http.StatusTooManyRequests, "Too many logins were refused. Wait a minute."
	case errors.Is(err, session.ErrPlain):
		status, fault = http.StatusForbidden, "A login needs HTTPS, unless the browser is on the same machine as the server (settings tls-cert, console-url)."
	default:
		h.cfg.Log.ErrorContext(r.Context(), "a login to the console cannot be checked", "err", err)
	}

	h.writeLogin(w, r, status, back, fault)
}

func (h *handler) logout(w http.ResponseWriter, r *http.Request) {
	h.cfg.Login.Forget(w)
	http.Redirect(w, r, Path+"/login", http.StatusSeeOther)
}
