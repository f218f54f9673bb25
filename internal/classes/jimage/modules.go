package jimage

// Modules lists the modules of the image, in order of their names. An image
// whose index is damaged has none.
func (im *Image) Modules() []string {
	all, err := im.resources()
	if err != nil {
		return nil
	}
	var modules []string
	for i := range all {
		if n := len(modules); n == 0 || modules[n-1] != all[i].module {
			modules = append(modules, all[i].module)
		}
	}
	return modules
}
