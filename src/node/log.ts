// The log on Node: pino behind our own three methods, nothing in it but known facts. One JSON object per line for programs,
// words where a person looks at a terminal.
import pino from 'pino'
import { formatThrownError, type Log, type LogFields, sanitizeLogFields, type ThrownError } from '../contract/index.ts'
import { printableJson, printableLine } from './printable.ts'

/** How much is said of an exception: class, code and place, or its message and stack too. */
export type ErrorsShown = 'place' | 'full'

/** In full to the developer at a terminal. A log that is kept has the places alone, unless it is asked for more. */
export function errorsShown(
  wanted: ErrorsShown | undefined,
  isTerminal = process.stdout.isTTY,
  mode = process.env['NODE_ENV'],
): ErrorsShown {
  return wanted ?? (isTerminal && mode !== 'production' ? 'full' : 'place')
}

/** `destination` is where lines go; without one, to the standard output, as words if that is a terminal. */
export function createNodeLog(level: string, destination?: pino.DestinationStream, errors: ErrorsShown = 'place'): Log {
  const options: pino.LoggerOptions = {
    level,
    base: null,
    messageKey: 'event',
    timestamp: pino.stdTimeFunctions.isoTime,
    // A log is read in a terminal too; the escapes parse to the same values.
    hooks: { streamWrite: printableJson },
    formatters: { level: (label) => ({ level: label }) },
  }
  const target = destination ?? (process.stdout.isTTY ? createTextLogStream(process.stdout) : undefined)
  const logger = target === undefined ? pino(options) : pino(options, target)
  const writeAtLevel =
    (method: 'info' | 'warn' | 'error') =>
    (event: string, facts: LogFields = {}, thrown?: ThrownError) => {
      // Below the level nothing is worth a copy.
      if (!logger.isLevelEnabled(method)) return
      const full = thrown === undefined || errors === 'place' ? {} : { thrown: formatThrownError(thrown) }
      logger[method]({ ...sanitizeLogFields(facts), ...full }, event)
    }
  return { info: writeAtLevel('info'), warn: writeAtLevel('warn'), error: writeAtLevel('error') }
}

/** `08:15:02 warn  delivery_failed connection=slack/default code=rate_limited`, and under it what was thrown. */
export function createTextLogStream(stream: { write: (text: string) => unknown }): pino.DestinationStream {
  return {
    write(line: string) {
      // Our own logger wrote it, from known facts.
      const { thrown = [], ...rest } = JSON.parse(line) as { thrown?: readonly string[] }
      const { level, time, event, ...facts } = rest as Record<string, string | number>
      const pairs = Object.entries(facts).map(([name, value]) => ` ${name}=${printableLine(String(value))}`)
      const under = thrown.map((row) => `         ${printableLine(row)}\n`).join('')
      stream.write(`${String(time).slice(11, 19)} ${String(level).padEnd(5)} ${event}${pairs.join('')}\n${under}`)
    },
  }
}
