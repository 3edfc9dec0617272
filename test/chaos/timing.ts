// Figures about durations. Ratios are between parts of one run on one machine; nothing here judges a machine.

function quantile(values: readonly number[], at: number): number {
  const sorted = values.toSorted((a, b) => a - b)
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * at))] ?? Number.NaN
}

export function median(values: readonly number[]): number {
  return quantile(values, 0.5)
}

export function milliseconds(value: number): string {
  return `${value.toFixed(1)} ms`
}

export function spread(values: readonly number[]): string {
  return `median ${milliseconds(median(values))}, p95 ${milliseconds(quantile(values, 0.95))}`
}
