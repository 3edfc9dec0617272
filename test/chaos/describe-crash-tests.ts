// Declares crash tests: each is run by the same command that a person uses; the figures of record come from full scale.
import { spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { beforeAll, describe, inject, test } from 'vitest'
import type { Line } from './crash-test.ts'

const script = fileURLToPath(new URL('../../scripts/chaos.js', import.meta.url))
const { url, reason } = inject('postgres')
const isFull = process.env['PARLEY_TEST_CRASH'] === 'full'

type Outcome = { readonly code: number; readonly broken: readonly Line[]; readonly text: string }

/** Two at a time: a crash test mostly waits. */
const atOnce = 2
let free = atOnce
const waiting: (() => void)[] = []

export function describeCrashTests(names: readonly string[]): void {
  describe.skipIf(url === '').concurrent(`crash tests${url === '' ? ` (${reason})` : ''}`, () => {
    // Builds the bundles once, before two runs would do it at the same time.
    beforeAll(async () => void (await run(['--help'])), 60_000)

    test.for(names)('%s holds', { timeout: isFull ? 14_400_000 : 1_800_000 }, async (name, { expect }) => {
      const { code, broken, text } = await inTurn(() => run([name, '--scale', isFull ? 'full' : 'ci', '--json']))
      expect(broken, text).toEqual([])
      expect(code, text).toBe(0)
    })
  })
}

/** Those that the command knows. */
export async function knownCrashTests(): Promise<readonly string[]> {
  const { text } = await run(['--help'])
  return (/<([^>]+)>/.exec(text)?.[1] ?? '').split(' | ').filter((name) => name !== 'all')
}

async function inTurn<T>(work: () => Promise<T>): Promise<T> {
  if (free > 0) free -= 1
  else await new Promise<void>((resolve) => waiting.push(resolve))
  try {
    return await work()
  } finally {
    const next = waiting.shift()
    if (next === undefined) free += 1
    else next()
  }
}

function run(args: readonly string[]): Promise<Outcome> {
  const child = spawn(process.execPath, [script, ...args], {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...process.env, CRASH_TEST_POSTGRES_URL: url },
  })
  let [output, errors] = ['', '']
  child.stdout.on('data', (chunk: Buffer) => {
    output += chunk.toString('utf8')
  })
  child.stderr.on('data', (chunk: Buffer) => {
    errors += chunk.toString('utf8')
  })
  return new Promise((resolve) => {
    child.on('close', (code) => {
      const broken = output
        .split('\n')
        .filter(isLine)
        .map(parseLine)
        .filter((line) => line.ok === false)
      resolve({ code: code ?? 1, broken, text: `${output}\n${errors}` })
    })
  })
}

function isLine(text: string): boolean {
  return text.startsWith('{')
}

function parseLine(text: string): Line {
  // Written by main.ts with --json.
  return JSON.parse(text) as Line
}
