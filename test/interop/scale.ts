// How often a property is tried: as often as the test says, or less often in a run that has to share its minutes.
const isSmall = process.env['PARLEY_TEST_SCALE'] === 'ci'

export function tries(full: number, ci: number): number {
  return isSmall ? ci : full
}
