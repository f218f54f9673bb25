/** A program in a named module that opens nothing to anybody. */
module live.modular {
}
