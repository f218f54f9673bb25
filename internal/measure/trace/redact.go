package trace

import (
	"regexp"
	"slices"
	"strings"
)

// A Redactor takes secrets out of texts: what stands behind a name such as password,
// and what looks like a credential by itself. Captures that are named for a secret
// are not even read; this is for texts that contain one, such as a query string.
type Redactor struct {
	named *regexp.Regexp // nil where every name is allowed
}

// Mask stands where a secret was.
const Mask = "(redacted)"

// secretNames are what secrets are called, as they are found inside longer names too;
// each - may be a hyphen, an underscore, or nothing.
var secretNames = []string{
	"password", "passwd", "passphrase", "pwd", "secret", "token", "credential", "api-key", "access-key", "private-key", "authorization",
	"cookie", "session-id", "jsessionid", "card-number", "cvv", "cvc", "ssn", "iban", "pin-code", "one-time-code",
}

var (
	// bearer is a credential as HTTP has it; address a user and password in a URL;
	// signed three parts of base64 as JSON web tokens are.
	bearer  = regexp.MustCompile(`(?i)\b(bearer)[ \t]+([A-Za-z0-9+/_.~=-]{6,})`)
	address = regexp.MustCompile(`(://[^/\s:@]*):([^/\s@]+)@`)
	signed  = regexp.MustCompile(`\beyJ[A-Za-z0-9_-]{5,}\.[A-Za-z0-9_-]{5,}\.[A-Za-z0-9_-]*`)
)

// NewRedactor lets through what is named as allowed.
func NewRedactor(allow []string) *Redactor {
	r := &Redactor{}
	var names []string
	for _, name := range secretNames {
		if !slices.ContainsFunc(allow, func(a string) bool { return plain(a) == plain(name) }) {
			names = append(names, strings.ReplaceAll(regexp.QuoteMeta(name), "-", "[-_]?"))
		}
	}
	if len(names) > 0 {
		// A name, a sign that gives it a value, and the value: in quotes, or up to
		// where a value ends in query strings, JSON, properties and toString().
		r.named = regexp.MustCompile(`(?i)([\w.-]*(?:` + strings.Join(names, "|") + `)[\w.-]*["']?\s*(?:=>|[=:])\s*)((?:(?:bearer|basic|digest)\s+)?(?:"(?:[^"\\]|\\.)*"?|'(?:[^'\\]|\\.)*'?|[^\s,;&})\]]+))`)
	}
	return r
}

func plain(name string) string {
	return strings.NewReplacer("-", "", "_", "").Replace(strings.ToLower(name))
}

// Text is a text without secrets, and whether it had any. A nil Redactor gives texts
// back as they are.
func (r *Redactor) Text(text string) (string, bool) {
	if r == nil || text == "" {
		return text, false
	}
	clean := text
	if r.named != nil {
		clean = r.named.ReplaceAllStringFunc(clean, r.mask)
	}
	clean = bearer.ReplaceAllString(clean, "$1 "+Mask)
	clean = signed.ReplaceAllLiteralString(clean, Mask)
	clean = address.ReplaceAllString(clean, "$1:"+Mask+"@")
	return clean, clean != text
}

// mask keeps a name and its sign.
func (r *Redactor) mask(found string) string {
	parts := r.named.FindStringSubmatch(found)
	if strings.HasPrefix(parts[2], Mask[:len(Mask)-1]) { // a value ends before a parenthesis
		return found
	}
	return parts[1] + Mask
}

// tags are tags with clean values.
func (r *Redactor) tags(tags map[string]string) map[string]string {
	if r == nil || len(tags) == 0 {
		return tags
	}
	clean := make(map[string]string, len(tags))
	for name, value := range tags {
		clean[name], _ = r.Text(value)
	}
	return clean
}
