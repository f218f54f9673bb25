package arena

import "math"

// MostQuotas is the maximum number of quotas, which are numbered from 1. A quota is the number of calls that all spots
// with its number may count together: hooks take them one by one, until none is left.
const MostQuotas = layoutQuotasMost

// MakeQuota begins a quota, which has no calls yet.
func (a *Arena) MakeQuota(number uint16) error {
	if err := a.reserve(headerQuotas, MostQuotas*quotaSize); err != nil {
		return err
	}
	return a.quota(number, func(m memory, at uint64) {
		m.put64(at+quotaMost, 0) // first, so that nobody takes from it
		m.put64(at+quotaTaken, 0)
	})
}

// SetQuota sets how many calls a quota has, including calls that were taken.
func (a *Arena) SetQuota(number uint16, most uint64) {
	_ = a.quota(number, func(m memory, at uint64) { m.put64(at+quotaMost, min(most, math.MaxInt64)) })
}

// IsUsedUp reports whether no call of a quota is left. The last calls may not be counted yet.
func (a *Arena) IsUsedUp(number uint16) (isUsedUp bool) {
	_ = a.quota(number, func(m memory, at uint64) { isUsedUp = m.u64(at+quotaTaken) >= m.u64(at+quotaMost) })
	return isUsedUp
}

// quota calls access with the offset of a quota, if there are any.
func (a *Arena) quota(number uint16, access func(m memory, at uint64)) error {
	return a.use(func(m memory) {
		if ref := m.u32(headerQuotas); ref != 0 && number > 0 && number <= MostQuotas {
			access(m, m.piece(ref, MostQuotas*quotaSize)+uint64(number-1)*quotaSize)
		}
	})
}
