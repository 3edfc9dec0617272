// The log as the stages see it: an event name and facts from a closed list. Never a body, a token, a name or an address.
import type { ThrownError } from './thrown-error.ts'

/** Facts whose values are codes: anything that is none is not shown. */
const codeFields = [
  'state',
  'outcome',
  'reason',
  'code',
  'next',
  'error',
  'hook',
  'database',
  'statement',
  'sqlstate',
] as const
const plainFields = [
  'trace',
  'connection',
  'conversation',
  'inbox',
  'turn',
  'action',
  'outbox',
  'agent',
  'model',
  'tool',
  'at',
  'path',
  'route',
  'problem',
] as const
const numberFields = [
  'ms',
  'delayMs',
  'attempt',
  'deaths',
  'epoch',
  'members',
  'calls',
  'rows',
  'lanes',
  'held',
  'count',
  'length',
  'pid',
] as const

type Text = (typeof codeFields)[number] | (typeof plainFields)[number]

/** Everything a line may say. A new fact is a new name here, and a thought about who reads logs. */
export type LogFields = { readonly [Field in Text]?: string | null } & {
  readonly [Field in (typeof numberFields)[number]]?: number
}

/** `thrown` is for a developer's terminal: a log that is kept shows the facts alone, since an error may quote what it was given. */
type WriteLine = (event: string, facts?: LogFields, thrown?: ThrownError) => void

export type Log = { readonly info: WriteLine; readonly warn: WriteLine; readonly error: WriteLine }

const maxLength = 200
const code = /^[\w.:-]{1,80}$/

/** The second net under the types: unknown fields fall out, codes that are none are hidden, text stays on one short line. */
export function sanitizeLogFields(facts: LogFields): Readonly<Record<string, string | number>> {
  const safe: Record<string, string | number> = {}
  for (const field of plainFields) {
    const value: unknown = facts[field]
    if (typeof value === 'string') safe[field] = value.slice(0, maxLength).replaceAll(/[\u0000-\u001f\u007f]/g, ' ')
  }
  for (const field of codeFields) {
    const value: unknown = facts[field]
    if (typeof value === 'string') safe[field] = code.test(value) ? value : 'hidden'
  }
  for (const field of numberFields) {
    const value: unknown = facts[field]
    if (typeof value === 'number' && Number.isFinite(value)) safe[field] = value
  }
  return safe
}
