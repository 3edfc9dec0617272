// The log on Workers: one JSON line per event, with everything that looks like a secret removed.
import type { JsonObject } from '../lib/json-value.ts'
import type { Log } from '../lib/log.ts'

const secretName = /token|secret|authorization|password/i

export function createWorkerLog(): Log {
  const writeConsoleLine =
    (level: 'info' | 'warn' | 'error') =>
    (event: string, facts: JsonObject = {}) =>
      console[level](JSON.stringify({ level, msg: event, ...facts }, hideSecretField))
  return { info: writeConsoleLine('info'), warn: writeConsoleLine('warn'), error: writeConsoleLine('error') }
}

function hideSecretField(key: string, value: unknown): unknown {
  return secretName.test(key) ? '[hidden]' : value
}
