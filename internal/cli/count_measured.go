package cli

import "strings"

// A measured is what hooks have counted so far, by method, or by context where one was
// asked for.
type measured struct {
	rows    []methodRow
	threads int
	dropped uint64
	losses  []string
}

func (m *measured) calls() (calls uint64) {
	for i := range m.rows {
		calls += m.rows[i].Calls
	}
	return calls
}

// measured reads what was measured.
func (r *countRun) measured() (*measured, error) {
	if r.watching.isUsed() {
		return r.measuredByContext()
	}
	sum, err := r.session.Sum()
	if err != nil {
		return nil, err
	}
	m := &measured{threads: sum.Threads, dropped: sum.Dropped}
	for _, method := range r.session.Methods() {
		row := methodRow{class: strings.ReplaceAll(method.Class, "/", "."), name: method.Name, descriptor: method.Descriptor, id: method.ID}
		if totals := sum.Methods[method.ID]; totals != nil {
			row.Totals = *totals
		}
		m.rows = append(m.rows, row)
	}
	return m, nil
}

func (r *countRun) measuredByContext() (*measured, error) {
	results, err := r.watching.Results()
	if err != nil {
		return nil, err
	}
	m := &measured{threads: results.Threads, dropped: results.Dropped, losses: losses(results)}
	byWithin := hasSequences(r.watching.set)
	for i := range results.Rows {
		w := &results.Rows[i]
		m.rows = append(m.rows, methodRow{
			class: strings.ReplaceAll(w.Class, "/", "."), name: w.Name, descriptor: w.Descriptor, id: w.ID,
			watched: w, context: contextText(w, byWithin), Totals: w.Totals,
		})
	}
	return m, nil
}
