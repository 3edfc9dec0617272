// The log on Node: pino behind our own three methods, one JSON object per line, nothing in it but known facts.
import pino from 'pino'
import { type Log, type LogFacts, safeFacts } from '../contract/index.ts'

/** `destination` is where lines go; without one, to the standard output. */
export function createLog(level: string, destination?: pino.DestinationStream): Log {
  const options: pino.LoggerOptions = {
    level,
    base: null,
    messageKey: 'event',
    timestamp: pino.stdTimeFunctions.isoTime,
    formatters: { level: (label) => ({ level: label }) },
  }
  const logger = destination === undefined ? pino(options) : pino(options, destination)
  const write =
    (method: 'info' | 'warn' | 'error') =>
    (event: string, facts: LogFacts = {}) => {
      // Below the level nothing is worth a copy.
      if (logger.isLevelEnabled(method)) logger[method](safeFacts(facts), event)
    }
  return { info: write('info'), warn: write('warn'), error: write('error') }
}
