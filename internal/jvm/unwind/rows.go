package unwind

import (
	"errors"
	"fmt"
	"sort"
)

// A row has the rules that compute the caller of a frame that executes an instruction: the address
// where the stack of the caller ends, which DWARF calls the CFA, and the registers of the caller.
type row struct {
	cfa           rule
	saved         []savedRegister
	returnAddress int // number of a register
	signal        bool
	err           error // if there is no such row
}

type savedRegister struct {
	register int
	rule     rule
}

// A rule computes a value.
type rule struct {
	kind       ruleKind
	register   int
	offset     int64
	expression []byte
}

type ruleKind byte

const (
	unchanged          ruleKind = iota // no rule: the register has the value of the callee
	undefined                          // the value is lost
	savedAtOffset                      // in memory at CFA + offset
	offsetFromCFA                      // CFA + offset
	offsetFromRegister                 // register + offset
	savedAtExpression                  // in memory at what the expression computes
	byExpression                       // what the expression computes
)

// row returns the row for an instruction. Samples repeat addresses, so it remembers some thousands.
func (l *Library) row(address uint64) *row {
	const mostRows = 8192
	l.lock.Lock()
	defer l.lock.Unlock()
	found := l.rows[address]
	if found == nil {
		if len(l.rows) >= mostRows {
			clear(l.rows)
		}
		found = l.computeRow(address)
		l.rows[address] = found
	}
	return found
}

func (l *Library) computeRow(address uint64) *row {
	i := sort.Search(len(l.functions), func(i int) bool { return l.functions[i].start > address })
	if i == 0 || address >= l.functions[i-1].end {
		return &row{err: ErrUnknown}
	}
	f := l.functions[i-1]
	p := &program{cie: f.cie, location: f.start, target: address}
	err := p.run(cursor{data: f.cie.program})
	p.initial = p.rules
	if err == nil {
		err = p.run(cursor{data: l.frameTable[f.from:f.to], address: l.frameTableAddress + uint64(f.from)})
	}
	switch {
	case err != nil:
		return &row{err: fmt.Errorf("the call frame information of the function at %#x: %w", f.start, err)}
	case p.of[f.cie.returnAddress].kind == undefined:
		return &row{err: ErrOutermost}
	}
	r := &row{cfa: p.cfa, returnAddress: f.cie.returnAddress, signal: f.cie.signal}
	for register, rule := range p.of {
		if rule.kind != unchanged {
			r.saved = append(r.saved, savedRegister{register, rule})
		}
	}
	return r
}

// A program is the state of computing a row.
type program struct {
	*cie
	rules
	initial    rules // after the program of the CIE
	remembered []rules

	location uint64 // of the instruction for which the rules are
	target   uint64 // the instruction whose rules are wanted
}

type rules struct {
	cfa rule
	of  [NumRegisters]rule
}

var (
	errTruncated  = errors.New("an instruction is truncated")
	errRemembered = errors.New("DW_CFA_restore_state has no DW_CFA_remember_state, or these nest too deeply")
)

// run executes instructions until the location is after the target.
func (p *program) run(c cursor) error {
	const mostRemembered = 64
	for c.at < len(c.data) && p.location <= p.target {
		code := byte(c.fixed(1))
		operand := uint64(code & 0x3f)
		switch code >> 6 {
		case 1: // advance_loc
			p.advance(operand)
			continue
		case 2: // offset
			p.set(operand, rule{kind: savedAtOffset, offset: int64(c.uleb()) * p.offsetUnit})
			continue
		case 3: // restore
			p.restore(operand)
			continue
		}
		switch code {
		case 0x00: // nop
		case 0x01: // set_loc
			p.location = c.pointer(p.pointers)
		case 0x02: // advance_loc1
			p.advance(c.fixed(1))
		case 0x03: // advance_loc2
			p.advance(c.fixed(2))
		case 0x04: // advance_loc4
			p.advance(c.fixed(4))
		case 0x05: // offset_extended
			p.set(c.uleb(), rule{kind: savedAtOffset, offset: int64(c.uleb()) * p.offsetUnit})
		case 0x06: // restore_extended
			p.restore(c.uleb())
		case 0x07: // undefined
			p.set(c.uleb(), rule{kind: undefined})
		case 0x08: // same_value
			p.set(c.uleb(), rule{kind: unchanged})
		case 0x09: // register
			p.set(c.uleb(), rule{kind: offsetFromRegister, register: c.register()})
		case 0x0a: // remember_state
			if len(p.remembered) == mostRemembered {
				return errRemembered
			}
			p.remembered = append(p.remembered, p.rules)
		case 0x0b: // restore_state
			last := len(p.remembered) - 1
			if last < 0 {
				return errRemembered
			}
			p.rules, p.remembered = p.remembered[last], p.remembered[:last]
		case 0x0c: // def_cfa
			p.cfa = rule{kind: offsetFromRegister, register: c.register(), offset: int64(c.uleb())}
		case 0x0d: // def_cfa_register
			p.cfa.kind, p.cfa.register = offsetFromRegister, c.register()
		case 0x0e: // def_cfa_offset
			p.cfa.offset = int64(c.uleb())
		case 0x0f: // def_cfa_expression; some code sets a register later and relies on the offset from before
			p.cfa.kind, p.cfa.expression = byExpression, c.take(c.uleb())
		case 0x10: // expression
			p.set(c.uleb(), rule{kind: savedAtExpression, expression: c.take(c.uleb())})
		case 0x11: // offset_extended_sf
			p.set(c.uleb(), rule{kind: savedAtOffset, offset: c.sleb() * p.offsetUnit})
		case 0x12: // def_cfa_sf
			p.cfa = rule{kind: offsetFromRegister, register: c.register(), offset: c.sleb() * p.offsetUnit}
		case 0x13: // def_cfa_offset_sf
			p.cfa.offset = c.sleb() * p.offsetUnit
		case 0x14: // val_offset
			p.set(c.uleb(), rule{kind: offsetFromCFA, offset: int64(c.uleb()) * p.offsetUnit})
		case 0x15: // val_offset_sf
			p.set(c.uleb(), rule{kind: offsetFromCFA, offset: c.sleb() * p.offsetUnit})
		case 0x16: // val_expression
			p.set(c.uleb(), rule{kind: byExpression, expression: c.take(c.uleb())})
		case 0x2c, 0x2d: // AARCH64_negate_ra_state_with_pc, AARCH64_negate_ra_state: Step clears the bits of all return addresses
		case 0x2e: // GNU_args_size
			c.uleb()
		case 0x2f: // GNU_negative_offset_extended
			p.set(c.uleb(), rule{kind: savedAtOffset, offset: -int64(c.uleb()) * p.offsetUnit})
		default:
			return fmt.Errorf("unknown instruction %#x", code)
		}
	}
	if c.bad {
		return errTruncated
	}
	return nil
}

func (p *program) advance(units uint64) { p.location += units * p.codeUnit }

func (p *program) set(register uint64, r rule) {
	if register < NumRegisters {
		p.of[register] = r
	}
}

func (p *program) restore(register uint64) {
	if register < NumRegisters {
		p.of[register] = p.initial.of[register]
	}
}

// register reads the number of a register. All untracked numbers are mapped to one register whose value is never known.
func (c *cursor) register() int { return int(min(c.uleb(), NumRegisters)) }
