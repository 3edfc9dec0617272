// The arithmetic of the bench: medians with their spread, because one number from a shared machine says nothing.

export type Spread = {
  readonly median: number
  readonly min: number
  readonly max: number
  /** The middle half of the values lies between these two. */
  readonly q1: number
  readonly q3: number
}

/** Linear between the two nearest values; NaN of nothing. `share` goes from 0 to 1. */
export function quantile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b)
  const place = share * (sorted.length - 1)
  const below = sorted[Math.floor(place)] ?? Number.NaN
  const above = sorted[Math.ceil(place)] ?? Number.NaN
  return below + (above - below) * (place - Math.floor(place))
}

export function median(values: readonly number[]): number {
  return quantile(values, 0.5)
}

export function spreadOf(values: readonly number[]): Spread {
  return {
    median: median(values),
    min: quantile(values, 0),
    max: quantile(values, 1),
    q1: quantile(values, 0.25),
    q3: quantile(values, 0.75),
  }
}

/** Round by round, so that a slow minute of the machine slows both sides of the fraction. */
export function ratios(values: readonly number[], floor: readonly number[]): readonly number[] {
  return values.slice(0, floor.length).map((value, round) => value / (floor[round] ?? Number.NaN))
}
