// One process under test: started, watched through its log, killed, frozen and thawed by its own pid.
import { type ChildProcess, spawn } from 'node:child_process'
import { dirname, join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { type SubjectCommand, type SubjectSettings, settingsVariable } from './subject-settings.ts'

export type LogLine = { readonly level: string; readonly event: string } & Readonly<Record<string, unknown>>

export type GatewayProcess = {
  readonly pid: number
  readonly url: string
  readonly lines: readonly LogLine[]
  /** How often the log said this. */
  readonly count: (event: string, isMeant?: (line: LogLine) => boolean) => number
  readonly isRunning: () => boolean
  /** Resolves with the signal that ended it, or its exit code. */
  readonly ended: Promise<string>
  readonly signal: (name: NodeJS.Signals) => void
  readonly command: (command: SubjectCommand) => void
  /** kill -9, and waits for the end. */
  readonly kill: () => Promise<void>
  /** SIGTERM, and waits; kills what does not go. */
  readonly stop: () => Promise<void>
}

/** A process that refused to start, with the code it gave. */
export class StartRefused extends Error {
  readonly code: string

  constructor(code: string, text: string) {
    super(`the gateway did not start (${code}): ${text}`)
    this.name = 'StartRefused'
    this.code = code
  }
}

/** Which release the process is: ours, or one whose rows are a version older or newer. */
export type Release = 'older' | 'current' | 'newer'

const readyMs = 30_000
const bundles: Readonly<Record<Release, string>> = {
  older: './subject-older.js',
  current: './subject.js',
  newer: './subject-newer.js',
}

export async function startGateway(settings: SubjectSettings, release: Release): Promise<GatewayProcess> {
  const bundle = fileURLToPath(new URL(bundles[release], import.meta.url))
  const memory = settings.heapMegabytes === undefined ? [] : [`--max-old-space-size=${settings.heapMegabytes}`]
  const child = spawn(process.execPath, ['--enable-source-maps', '--expose-gc', ...memory, bundle], {
    stdio: ['pipe', 'pipe', 'pipe'],
    env: {
      PATH: process.env['PATH'] ?? '',
      // The same program is started dozens of times; compiled once it is up a tenth of a second sooner.
      NODE_COMPILE_CACHE: join(dirname(bundle), '.compiled'),
      [settingsVariable]: JSON.stringify(settings),
    },
  })
  const lines: LogLine[] = []
  const ended = new Promise<string>((resolve) => {
    child.once('exit', (code, signal) => resolve(signal ?? String(code)))
  })
  let complaint = ''
  child.stderr.on('data', (chunk: Buffer) => {
    complaint = (complaint + chunk.toString('utf8')).slice(-4000)
  })
  const url = await ready(child, lines, ended, () => complaint)
  const isRunning = (): boolean => child.exitCode === null && child.signalCode === null
  return {
    pid: child.pid ?? 0,
    url,
    lines,
    count: (event, isMeant = () => true) => lines.filter((line) => line.event === event && isMeant(line)).length,
    isRunning,
    ended: ended.then((how) => (how === 'SIGKILL' || how === '0' ? how : `${how} ${complaint}`)),
    signal: (name) => void child.kill(name),
    command: (command) => void child.stdin.write(`${command}\n`),
    async kill() {
      child.kill('SIGKILL')
      await ended
    },
    async stop() {
      child.kill('SIGCONT')
      child.kill('SIGTERM')
      const late = setTimeout(() => child.kill('SIGKILL'), 6000)
      await ended
      clearTimeout(late)
    },
  }
}

function ready(
  child: ChildProcess & { readonly stdout: NodeJS.ReadableStream },
  lines: LogLine[],
  ended: Promise<string>,
  complaint: () => string,
): Promise<string> {
  return new Promise((resolve, reject) => {
    const late = setTimeout(() => child.kill('SIGKILL'), readyMs)
    createInterface({ input: child.stdout }).on('line', (text) => {
      const line = parseLine(text)
      lines.push(line)
      if (line.event === 'ready') {
        clearTimeout(late)
        resolve(String(line['url']))
      }
      if (line.event === 'refused_to_start') reject(new StartRefused(String(line['code']), String(line['text'])))
    })
    void ended.then((how) => {
      clearTimeout(late)
      // The last lines may still be on their way through the pipe.
      setTimeout(() => reject(new StartRefused('ended', `${how} ${complaint()}`)), 50)
    })
  })
}

function parseLine(text: string): LogLine {
  try {
    // Only the subject's own log is written to this pipe.
    return JSON.parse(text) as LogLine
  } catch {
    return { level: 'info', event: 'unreadable', text }
  }
}
