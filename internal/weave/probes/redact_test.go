package probes

import (
	"slices"
	"testing"

	"github.com/sonde-jvm/sonde/internal/spec/spectest"
)

func TestWords(t *testing.T) {
	for name, want := range map[string][]string{
		"cardNumber": {"card", "number"}, "card_number": {"card", "number"}, "APIKey": {"api", "key"}, "myAPIKeyId": {"my", "api", "key", "id"},
		"X-Auth-Token": {"x", "auth", "token"}, "pin2": {"pin"}, "SSN": {"ssn"}, "": nil,
	} {
		if got := words(name); !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
}

func TestDenied(t *testing.T) {
	for name, want := range map[string]string{
		"password": "password", "userPassword": "password", "oldpasswd": "passwd", "getPwd": "pwd", "clientSecret": "secret",
		"accessTokens": "token", "token": "token", "credentials": "credential", "Authorization": "authorization", "Set-Cookie": "cookie",
		"sessionId": "sessionid", "session_id": "sessionid", "JSESSIONID": "jsessionid", "apiKey": "apikey", "API_KEY": "apikey", "privateKey": "privatekey",
		"ssn": "ssn", "cardNumber": "cardnumber", "CVV": "cvv", "iban": "iban", "pinCode": "pin",
		"author": "", "passenger": "", "spinner": "", "session": "", "key": "", "ibanking": "", "compass": "", "customer": "", "tier": "", "cardinality": "", "panel": "",
	} {
		if got := denied(name); want == "" && len(got) > 0 || want != "" && !slices.Contains(got, want) {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
}

func TestAllowedNames(t *testing.T) {
	for _, test := range []struct {
		expression string
		allowed    []string
		want       string
	}{
		{`$1.user.password`, nil, "password"},
		{`$1.headers["X-Auth-Token"]`, nil, "X-Auth-Token"},
		{`$1.headers["X-Auth-Token"]`, []string{"auth"}, "X-Auth-Token"},
		{`$1.headers["X-Auth-Token"]`, []string{"token", "auth"}, ""},
		{`$1.headers["X-Auth-Token"]`, []string{"x-auth-token"}, ""},
		{`$1.cardNumber`, []string{"card number"}, ""},
		{`$1.total`, nil, ""},
		{`tx.token`, nil, "token"},
		{`$secret`, nil, "secret"},
	} {
		names, _ := namesIn(spectest.Expr(test.expression))
		if got := secretIn(names, test.allowed); got != test.want {
			t.Errorf("%s, allowed %q: %q, want %q", test.expression, test.allowed, got, test.want)
		}
	}
	if _, got := namesIn(spectest.Expr("$1.a == $23 && $name")); !slices.Equal(got, []int{0, 22}) {
		t.Error(got)
	}
}
