package context

// facts are what a call was given, as its log has it.
type facts struct {
	number, amount, weight int
	order                  *order
	text                   *string
}

// order is what testdata/support/Order.java has by the same number.
type order struct {
	amount   int
	tier     *string
	customer *customer
}

type customer struct {
	rank int
	name *string
}

const (
	orderCount = 12
	textCount  = 6
)

// words are the texts of the program; the first is null.
var words = [textCount]string{"", "gold", "silver", "bronze", "", "Ärger 中"}

func textAt(index int) *string {
	if index = index % textCount; index == 0 {
		return nil
	}
	return &words[index]
}

// orderAt is the order of a number as logs have it: 0 is none.
func orderAt(number int) *order {
	if number == 0 {
		return nil
	}
	return &orders[number-1]
}

var orders = func() (all [orderCount]order) {
	for i := range all {
		all[i] = order{amount: i * 37 % 101, tier: textAt(i)}
		if i%4 != 0 {
			all[i].customer = &customer{rank: i % 5, name: textAt(i + 1)}
		}
	}
	return all
}()
