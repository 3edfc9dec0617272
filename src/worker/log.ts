// The log on Workers: one JSON line per event, with everything that looks like a secret removed.
import type { JsonObject, Log } from '../contract/index.ts'

const secretName = /token|secret|authorization|password/i

export function createLog(): Log {
  const write =
    (level: 'info' | 'warn' | 'error') =>
    (event: string, facts: JsonObject = {}) =>
      console[level](JSON.stringify({ level, msg: event, ...facts }, hideSecrets))
  return { info: write('info'), warn: write('warn'), error: write('error') }
}

function hideSecrets(key: string, value: unknown): unknown {
  return secretName.test(key) ? '[hidden]' : value
}
