// The log interface: an event name and facts from a closed list. Never a body, a token, a name or an address.
import { type GatewayError, isGatewayError, type ThrownError } from './errors.ts'

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
  'crashes',
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

// What may be said of an exception: a code, its class, and the line that threw it; of a failed statement its name and SQLSTATE. Its
// message may quote anything.

const className = /^[A-Za-z_$][\w$]{0,59}$/
const frame = /^ {4}at (?:.{1,120} \()?((?:file:\/\/)?[^\s()]{1,300}:\d{1,7}:\d{1,7})\)?$/

type ErrorLogFields = Pick<LogFields, 'code' | 'error' | 'at' | 'length' | 'statement' | 'sqlstate'>

export function errorLogFields(error: unknown, otherwise: string): ErrorLogFields {
  if (isGatewayError(error)) return { code: error.code, ...pickDatabaseErrorDetails(error) }
  const code = otherwise
  if (!(error instanceof Error)) return { code }
  const at = findThrowLine(error)
  return { code, error: className.test(error.name) ? error.name : 'Error', ...(at === undefined ? {} : { at }) }
}

/** Without statement and state a full disk, a missing connection and a database that only reads look alike. */
function pickDatabaseErrorDetails({ details }: GatewayError): Pick<LogFields, 'length' | 'statement' | 'sqlstate'> {
  const { length, statement, sqlstate } = details
  return {
    ...(typeof length === 'number' ? { length } : {}),
    ...(typeof statement === 'string' ? { statement } : {}),
    ...(typeof sqlstate === 'string' && sqlstate !== '' ? { sqlstate } : {}),
  }
}

/** The topmost line of the stack, which begins after the message: a message may look like a stack itself. */
function findThrowLine({ name, message, stack }: Error): string | undefined {
  const head = message === '' ? name : `${name}: ${message}`
  if (stack === undefined || !stack.startsWith(head)) return undefined
  for (const line of stack.slice(head.length).split('\n', 12)) {
    const place = frame.exec(line)?.[1]
    if (place !== undefined && !place.includes('node_modules') && !place.startsWith('node:')) return place.slice(-160)
  }
  return undefined
}
