// Durations, times and confirmations that several commands share.

import process from 'node:process'
import { CommandError, exitCodes, usageError } from './command-error.ts'
import { printableLine } from './output.ts'

// Durations as people type them: 45m, 12h, 30d, 8w.

const unitMs = { m: 60_000, h: 3_600_000, d: 86_400_000, w: 604_800_000 } as const

/** Undefined: it is not written like one. */
function parseDurationMs(text: string): number | undefined {
  const [, count = '', unit = ''] = /^(\d{1,5})([mhdw])$/.exec(text) ?? []
  return unit in unitMs ? Number(count) * unitMs[unit as keyof typeof unitMs] : undefined
}

/** What `--expires` says; null: for ever. */
export function parseExpiryFlagMs(expires: string | undefined): number | null {
  if (expires === undefined) return null
  const lifeMs = parseDurationMs(expires) ?? 0
  if (lifeMs === 0) throw usageError('--expires must be a number with m, h, d or w after it, such as 30d')
  return lifeMs
}

/** What `--since` and `--until` say: an instant, or how long ago. */
export function parseTimeFlag(flag: string, text: string): string {
  const spanMs = parseDurationMs(text)
  const at = spanMs === undefined ? Date.parse(text) : Date.now() - spanMs
  if (Number.isNaN(at)) throw usageError(`--${flag} must be a time such as 2026-01-31, or a span such as 12h`)
  return new Date(at).toISOString()
}

// A confirmation comes before something that cannot be undone. Without a terminal there is no question: --yes says it beforehand.

export const yesArg = {
  yes: { type: 'boolean', description: 'Do not ask; needed where there is no terminal' },
} as const

export async function confirmOrAbort(question: string, isAgreed: boolean | undefined): Promise<void> {
  if (isAgreed === true) return
  if (process.stdin.isTTY !== true || process.stderr.isTTY !== true)
    throw usageError(`there is no terminal to ask on; add --yes to say: ${question.replace(/\?$/, '')}`)
  const prompts = await import('@clack/prompts')
  const answer = await prompts.confirm({
    message: printableLine(question),
    initialValue: false,
    output: process.stderr,
  })
  if (answer !== true) throw new CommandError(exitCodes.failed, 'declined', 'nothing was changed')
}
