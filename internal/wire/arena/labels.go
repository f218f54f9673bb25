package arena

// LabelOther stands for all labels for which there was no number left.
const LabelOther = layoutLabelOther

// IsLabel tells whether an id is a label's number: of values that tags had together, or
// of callers in a row. An arrival of this id says which; LabelOther has none. What the
// calls of a spot did under a label is in a node of the spot's id below the label's,
// and nowhere else.
func IsLabel(id uint32) bool {
	return id >= layoutLabelsFirst && id-layoutLabelsFirst < layoutLabelsMost
}
