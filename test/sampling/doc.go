// Package sampling tests the kernel's sampler with programs whose stacks are known: each sample is
// compared with what the program logged about itself.
package sampling
