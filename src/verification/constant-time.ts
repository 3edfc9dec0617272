// Comparing secrets without telling by the time taken how much of a guess was right (hop 2).

/** The running time depends on the lengths only, and a wrong length costs as much as a wrong value. */
export function equalInConstantTime(given: string, expected: string): boolean {
  const length = Math.max(given.length, expected.length)
  let difference = given.length ^ expected.length
  for (let index = 0; index < length; index += 1) {
    // charCodeAt past the end is NaN, which the bit operators read as 0; the length difference already decided.
    difference |= given.charCodeAt(index) ^ expected.charCodeAt(index)
  }
  return difference === 0
}
