package tenants

import (
	"io"
	"net/http"
	"strconv"
	"sync"
	"testing"
	"time"
)

// requestLimit bounds a request that hangs; nothing depends on how long one takes.
const requestLimit = 2 * time.Minute

var client = http.Client{Timeout: requestLimit}

// visitors is how many ask at once.
const visitors = 3

var (
	companies = []string{"acme", "globex", "initech"}
	services  = []string{"catalog", "orders", "report"}
)

// visitAll has every tenant ask for everything, some times over, from several
// visitors at once. Requests are numbered from first on.
func (s tomcat) visitAll(t *testing.T, first, rounds int) {
	t.Helper()
	type request struct{ number, path string }
	requests := make(chan request)
	var wait sync.WaitGroup
	for range visitors {
		wait.Go(func() {
			for r := range requests {
				s.ask(t, r.path, r.number)
			}
		})
	}
	number := first
	for range rounds {
		for _, company := range companies {
			for _, service := range services {
				requests <- request{strconv.Itoa(number), company + "/" + service}
				number++
			}
		}
	}
	close(requests)
	wait.Wait()
}

// ask returns an answer. It may be called by any goroutine.
func (s tomcat) ask(t *testing.T, path, number string) string {
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.url+path, http.NoBody)
	if err != nil {
		t.Error(err)
		return ""
	}
	request.Header.Set("X-Number", number)
	response, err := client.Do(request)
	if err != nil {
		t.Error(err)
		return ""
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode != http.StatusOK {
		t.Errorf("%s: %s, %v", path, response.Status, err)
	}
	return string(body)
}
