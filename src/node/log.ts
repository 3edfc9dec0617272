// The log on Node: pino behind our own three methods, nothing in it but known facts. One JSON object per line for programs,
// words where a person looks at a terminal.
import pino from 'pino'
import { formatThrownError, type ThrownError, toRedactedErrorRecord } from '../lib/errors.ts'
import { errorLogFields, type Log, type LogFields, sanitizeLogFields } from '../lib/log.ts'

/** How much is said of an exception: class, code and place, or its message and stack too. */
export type ErrorsShown = 'place' | 'full'

/** In full to the developer at a terminal. A log that is kept has the places alone, unless it is asked for more. */
export function chooseErrorDetail(
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
    hooks: { streamWrite: escapeInvisibleInJson },
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

// For a terminal, characters that move the cursor, turn the direction of writing or cannot be seen become escapes.

/**
 * C0, DEL and C1 (U+009B begins a control sequence), bidi controls, separators of lines and paragraphs, soft hyphens,
 * zero-width characters, variation selectors and tags: all that Unicode calls control, format, ignorable or a half.
 */
const invisible = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}\p{Default_Ignorable_Code_Point}]/gu
const invisibleButLines = /(?![\n\t])[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}\p{Default_Ignorable_Code_Point}]/gu

/** Values from outside in a line of ours: nothing in them may move the cursor, forge a line or hide. */
export function printableLine(text: string): string {
  return text.replace(/[\n\r\t]+/g, ' ').replace(invisible, escapeInvisibleCharacter)
}

/** The same for text of several lines, which stay lines. */
export function escapeInvisibleKeepingLines(text: string): string {
  return text.replace(invisibleButLines, escapeInvisibleCharacter)
}

/** JSON text that parses to the same value: the characters can only stand in its strings. */
export function escapeInvisibleInJson(json: string): string {
  return json.replace(invisibleButLines, unicodeEscape)
}

function escapeInvisibleCharacter(character: string): string {
  return character.length === 1 ? unicodeEscape(character) : `\\u{${(character.codePointAt(0) ?? 0).toString(16)}}`
}

function unicodeEscape(character: string): string {
  return [...Array(character.length).keys()]
    .map((at) => `\\u${character.charCodeAt(at).toString(16).padStart(4, '0')}`)
    .join('')
}

// The crash log says an uncaught exception without its message, which may quote anything; Node would print all of it.

export function installCrashLogging(log: Log): void {
  // An agent that forgets a promise must not take the gateway down with it; its turn ends by answer or by deadline.
  process.on('unhandledRejection', (reason) =>
    log.error('promise_unhandled', errorLogFields(reason, 'internal'), toRedactedErrorRecord(reason)),
  )
  process.on('uncaughtException', (error) => {
    log.error('process_crashed', errorLogFields(error, 'internal'), toRedactedErrorRecord(error))
    // The state this left behind is unknown. What is stored is safe, and the next start goes on from there.
    process.exit(70)
  })
}
