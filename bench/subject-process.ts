// A subject as the driver sees it: a child process that is started, asked for its figures, and ended by its own pid.
import { spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import {
  type Figures,
  type FromSubject,
  type SubjectSettings,
  settingsVariable,
  type ToSubject,
} from './subject-settings.ts'

export type SubjectProcess = {
  readonly port: number
  /** The same where mail comes in at the only one. */
  readonly mailPort: number
  readonly figures: () => Promise<Figures>
  readonly stop: () => Promise<void>
}

export type SubjectOptions = {
  readonly settings: SubjectSettings
  /** Writes a CPU profile into this folder when the subject ends. */
  readonly profileFolder: string | undefined
}

const bundle = fileURLToPath(new URL('./bench-subject.js', import.meta.url))
const startMs = 60_000
const answerMs = 20_000
const stopMs = 8_000

export async function startSubject({ settings, profileFolder }: SubjectOptions): Promise<SubjectProcess> {
  const profiling = profileFolder === undefined ? [] : ['--cpu-prof', `--cpu-prof-dir=${profileFolder}`]
  const child = spawn(process.execPath, [...profiling, bundle], {
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
    env: { PATH: process.env['PATH'] ?? '', [settingsVariable]: JSON.stringify(settings) },
  })
  // Before the folders are removed that it writes into.
  const kill = (): void => void child.kill('SIGKILL')
  process.prependOnceListener('exit', kill)
  const ended = new Promise<void>((resolve) => {
    child.once('exit', () => resolve())
    child.once('error', () => resolve())
  }).finally(() => process.off('exit', kill))
  const next = (ms: number): Promise<FromSubject> =>
    new Promise((resolve, reject) => {
      const fail = (why: string) => () => reject(new Error(`the subject ${why}`))
      const late = setTimeout(fail(`said nothing for ${ms} ms`), ms)
      child.once('message', (message) => {
        clearTimeout(late)
        // Only our own subject speaks on this channel.
        resolve(message as FromSubject)
      })
      void ended.then(fail('has ended'))
    })
  const say = (message: ToSubject): void => void child.send(message)
  const stop = async (): Promise<void> => {
    if (child.connected) say({ type: 'stop' })
    const late = setTimeout(kill, stopMs)
    await ended
    clearTimeout(late)
  }
  try {
    const first = await next(startMs)
    if (first.type !== 'ready') throw new Error(first.type === 'refused' ? first.why : 'the subject spoke out of turn')
    const { port, mailPort = port } = first
    return { port, mailPort, figures: () => askFigures(next, say), stop }
  } catch (error) {
    kill()
    await ended
    throw error
  }
}

async function askFigures(
  next: (ms: number) => Promise<FromSubject>,
  say: (message: ToSubject) => void,
): Promise<Figures> {
  const answer = next(answerMs)
  say({ type: 'figures' })
  const message = await answer
  if (message.type !== 'figures') throw new Error('the subject told no figures')
  return message.figures
}
