// What may be said of an exception: a code, its class, and the line that threw it; of a failed statement its name and SQLSTATE. Its
// message may quote anything.
import { type GatewayError, isGatewayError } from './errors.ts'
import type { LogFields } from './log.ts'

const className = /^[A-Za-z_$][\w$]{0,59}$/
const frame = /^ {4}at (?:.{1,120} \()?((?:file:\/\/)?[^\s()]{1,300}:\d{1,7}:\d{1,7})\)?$/

type ErrorLogFields = Pick<LogFields, 'code' | 'error' | 'at' | 'length' | 'statement' | 'sqlstate'>

export function errorLogFields(error: unknown, otherwise: string): ErrorLogFields {
  if (isGatewayError(error)) return { code: error.code, ...failureDetails(error) }
  const code = otherwise
  if (!(error instanceof Error)) return { code }
  const at = thrownAt(error)
  return { code, error: className.test(error.name) ? error.name : 'Error', ...(at === undefined ? {} : { at }) }
}

/** Without statement and state a full disk, a missing connection and a database that only reads look alike. */
function failureDetails({ details }: GatewayError): Pick<LogFields, 'length' | 'statement' | 'sqlstate'> {
  const { length, statement, sqlstate } = details
  return {
    ...(typeof length === 'number' ? { length } : {}),
    ...(typeof statement === 'string' ? { statement } : {}),
    ...(typeof sqlstate === 'string' && sqlstate !== '' ? { sqlstate } : {}),
  }
}

/** The topmost line of the stack, which begins after the message: a message may look like a stack itself. */
function thrownAt({ name, message, stack }: Error): string | undefined {
  const head = message === '' ? name : `${name}: ${message}`
  if (stack === undefined || !stack.startsWith(head)) return undefined
  for (const line of stack.slice(head.length).split('\n', 12)) {
    const place = frame.exec(line)?.[1]
    if (place !== undefined && !place.includes('node_modules') && !place.startsWith('node:')) return place.slice(-160)
  }
  return undefined
}
