// Spans of time as people type them: 45m, 12h, 30d, 8w.
import { wrongUsage } from './exit.ts'

const unitMs = { m: 60_000, h: 3_600_000, d: 86_400_000, w: 604_800_000 } as const

/** Undefined: it is not written like one. */
function parseDurationMs(text: string): number | undefined {
  const [, count = '', unit = ''] = /^(\d{1,5})([mhdw])$/.exec(text) ?? []
  return unit in unitMs ? Number(count) * unitMs[unit as keyof typeof unitMs] : undefined
}

/** What `--expires` says; null: for ever. */
export function expiryMs(expires: string | undefined): number | null {
  if (expires === undefined) return null
  const lifeMs = parseDurationMs(expires) ?? 0
  if (lifeMs === 0) throw wrongUsage('--expires must be a number with m, h, d or w after it, such as 30d')
  return lifeMs
}

/** What `--since` and `--until` say: an instant, or how long ago. */
export function parseTimeFlag(flag: string, text: string): string {
  const spanMs = parseDurationMs(text)
  const at = spanMs === undefined ? Date.parse(text) : Date.now() - spanMs
  if (Number.isNaN(at)) throw wrongUsage(`--${flag} must be a time such as 2026-01-31, or a span such as 12h`)
  return new Date(at).toISOString()
}
