// The log on Node: pino behind our own three methods, nothing in it but known facts. One JSON object per line for programs,
// words where a person looks at a terminal.
import pino from 'pino'
import { type Log, type LogFacts, safeFacts } from '../contract/index.ts'
import { oneLine, printableJson } from './printable.ts'

/** `destination` is where lines go; without one, to the standard output, as words if that is a terminal. */
export function createLog(level: string, destination?: pino.DestinationStream): Log {
  const options: pino.LoggerOptions = {
    level,
    base: null,
    messageKey: 'event',
    timestamp: pino.stdTimeFunctions.isoTime,
    // A log is read in a terminal too; the escapes parse to the same values.
    hooks: { streamWrite: printableJson },
    formatters: { level: (label) => ({ level: label }) },
  }
  const target = destination ?? (process.stdout.isTTY ? inWords(process.stdout) : undefined)
  const logger = target === undefined ? pino(options) : pino(options, target)
  const write =
    (method: 'info' | 'warn' | 'error') =>
    (event: string, facts: LogFacts = {}) => {
      // Below the level nothing is worth a copy.
      if (logger.isLevelEnabled(method)) logger[method](safeFacts(facts), event)
    }
  return { info: write('info'), warn: write('warn'), error: write('error') }
}

/** `08:15:02 warn  delivery_failed connection=slack/default code=rate_limited` */
export function inWords(stream: { write: (text: string) => unknown }): pino.DestinationStream {
  return {
    write(line: string) {
      // Our own logger wrote it, from known facts.
      const { level, time, event, ...facts } = JSON.parse(line) as Record<string, string | number>
      const pairs = Object.entries(facts).map(([name, value]) => ` ${name}=${oneLine(String(value))}`)
      stream.write(`${String(time).slice(11, 19)} ${String(level).padEnd(5)} ${event}${pairs.join('')}\n`)
    },
  }
}
