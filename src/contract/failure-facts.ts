// What may be said of an exception: a code, its class, and the line that threw it. Its message may quote anything.
import { isGatewayError } from './errors.ts'
import type { LogFacts } from './log.ts'

const className = /^[A-Za-z_$][\w$]{0,59}$/
const frame = /^ {4}at (?:.{1,120} \()?((?:file:\/\/)?[^\s()]{1,300}:\d{1,7}:\d{1,7})\)?$/

export function failureFacts(error: unknown, otherwise: string): Pick<LogFacts, 'code' | 'error' | 'at' | 'length'> {
  const code = isGatewayError(error) ? error.code : otherwise
  if (isGatewayError(error)) {
    const { length } = error.details
    return { code, ...(typeof length === 'number' ? { length } : {}) }
  }
  if (!(error instanceof Error)) return { code }
  const at = thrownAt(error)
  return { code, error: className.test(error.name) ? error.name : 'Error', ...(at === undefined ? {} : { at }) }
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
