// The log on Node: pino behind our own three methods, with everything that looks like a secret removed.
import pino from 'pino'
import type { JsonObject, Log } from '../contract/index.ts'

const secretPaths = [
  'token',
  '*.token',
  'secret',
  '*.secret',
  'authorization',
  '*.authorization',
  'password',
  '*.password',
]

export function createLog(level: string): Log {
  const logger = pino({ level, base: null, redact: { paths: secretPaths, censor: '[hidden]' } })
  const write =
    (method: 'info' | 'warn' | 'error') =>
    (event: string, facts: JsonObject = {}) =>
      logger[method](facts, event)
  return { info: write('info'), warn: write('warn'), error: write('error') }
}
