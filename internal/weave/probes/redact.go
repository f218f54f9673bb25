package probes

import (
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/sonde-jvm/sonde/internal/spec/expr"
)

// secrets are words that mark a value as secret if a name contains them as whole words, in
// any spelling: cardNumber, card_number, CARDNUMBER.
var secrets = []string{
	"pwd", "pass", "pin", "otp", "totp", "token", "cookie", "bearer", "auth", "authentication", "authorization", "jwt", "csrf", "xsrf",
	"sid", "sessionid", "sessionkey", "jsessionid", "apikey", "accesskey", "privatekey", "secretkey", "signingkey", "encryptionkey", "keystore", "salt",
	"ssn", "socialsecurity", "socialsecuritynumber", "taxid", "passport", "passportnumber", "creditcard", "cardnumber", "cardno", "pan",
	"cvv", "cvc", "iban", "accountnumber",
}

// secretParts mark a value as secret wherever a name contains them.
var secretParts = []string{"password", "passwd", "passphrase", "passcode", "secret", "credential", "authorization", "cookie", "token", "apikey", "privatekey", "sessionid", "cardnumber"}

// secretIn returns the first name that marks a value as secret, or "". A name is not
// secret if it is allowed itself, or if all its secret words are.
func secretIn(names []string, allowed []string) string {
	may := make(map[string]bool, len(allowed))
	for _, name := range allowed {
		may[strings.Join(words(name), "")] = true
	}
	for _, name := range names {
		if may[strings.Join(words(name), "")] {
			continue
		}
		if slices.ContainsFunc(denied(name), func(secret string) bool { return !may[secret] }) {
			return name
		}
	}
	return ""
}

// denied returns the secret words in a name.
func denied(name string) (found []string) {
	parts := words(name)
	for first := range parts {
		joined := ""
		for _, part := range parts[first:] {
			joined += part
			if one := strings.TrimSuffix(joined, "s"); slices.Contains(secrets, joined) {
				found = append(found, joined)
			} else if slices.Contains(secrets, one) {
				found = append(found, one)
			}
		}
	}
	whole := strings.Join(parts, "")
	for _, text := range secretParts {
		if strings.Contains(whole, text) && !slices.Contains(found, text) {
			found = append(found, text)
		}
	}
	return found
}

// words splits a name into words in lower case. A word begins with a capital letter, or
// after a character that is no letter.
func words(name string) (all []string) {
	var word []rune
	end := func() {
		if len(word) > 0 {
			all = append(all, strings.ToLower(string(word)))
		}
		word = nil
	}
	letters := []rune(name)
	for i, r := range letters {
		if !unicode.IsLetter(r) {
			end()
			continue
		}
		// An acronym ends where its last capital begins a word: APIKey.
		startsWord := unicode.IsUpper(r) && (len(word) > 0 && unicode.IsLower(word[len(word)-1]) ||
			len(word) > 0 && i+1 < len(letters) && unicode.IsLower(letters[i+1]))
		if startsWord {
			end()
		}
		word = append(word, r)
	}
	end()
	return all
}

// namesIn returns the names in an expression (steps, parameters, tags, keys of maps), and
// the parameters, from 0, that it refers to by number.
func namesIn(e *expr.Expr) (names []string, numbers []int) {
	for _, p := range e.Paths() {
		if number, err := strconv.Atoi(p.Root); err != nil {
			names = append(names, p.Root)
		} else if number > 0 {
			numbers = append(numbers, number-1)
		}
		for _, s := range p.Steps {
			switch {
			case s.Arg != nil:
				names = append(names, s.Name, s.Arg.Text)
			case s.Index == nil:
				names = append(names, s.Name)
			case s.Index.Kind == expr.String:
				names = append(names, s.Index.Text)
			}
		}
	}
	return names, numbers
}
