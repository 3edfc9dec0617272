// Durations for people: two units at most.

const units = [
  { ms: 86_400_000, name: 'd' },
  { ms: 3_600_000, name: 'h' },
  { ms: 60_000, name: 'min' },
] as const

export function durationText(ms: number): string {
  if (ms < 1_000) return `${Math.max(0, Math.round(ms))} ms`
  if (ms < 60_000) return `${Number((ms / 1_000).toFixed(1))} s`
  const index = units.findIndex((unit) => ms >= unit.ms)
  const large = units[index] ?? units[units.length - 1]
  const small = units[index + 1]
  const count = Math.floor(ms / (large?.ms ?? 1))
  const rest = ms - count * (large?.ms ?? 1)
  const left = small === undefined ? Math.floor(rest / 1_000) : Math.floor(rest / small.ms)
  return left === 0 ? `${count} ${large?.name}` : `${count} ${large?.name} ${left} ${small?.name ?? 's'}`
}

export function durationTextBetween(from: string, to: string): string {
  return durationText(Date.parse(to) - Date.parse(from))
}
