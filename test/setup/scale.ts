// How often a test that gets surer with every try tries: `npm run test:all` at full count, everything else at a small one.

const isFull = process.env['PARLEY_TEST_SCALE'] === 'full'

/** fast-check prints its seed when a try fails, so a small count finds over time what a full one finds at once. */
export function scaled(full: number, small: number = Math.max(20, Math.round(full / 10))): number {
  return isFull ? full : Math.min(small, full)
}
