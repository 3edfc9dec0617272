// The proofs at ci scale, through the same command a person uses; the figures of record come from full scale.
import { spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { beforeAll, describe, inject, test } from 'vitest'
import type { Line } from './proof.ts'

const names = [
  ...['loss', 'steps', 'burst', 'replicas', 'embedded', 'long', 'flood', 'outage', 'upgrade', 'approval', 'cancel'],
  'a2a-resume',
  'a2a-hops',
  'mail',
  'fediverse',
]
const script = fileURLToPath(new URL('../../scripts/prove.js', import.meta.url))
const { url, reason } = inject('postgres')

type Outcome = { readonly code: number; readonly broken: readonly Line[]; readonly text: string }

/** Two at a time: a proof mostly waits. */
const atOnce = 2
let free = atOnce
const waiting: (() => void)[] = []

describe.skipIf(url === '').concurrent(`proofs${url === '' ? ` (${reason})` : ''}`, () => {
  // Builds the bundles once, before two runs would do it at the same time.
  beforeAll(async () => void (await run(['--help'])), 60_000)

  test.for(names)('%s holds', { timeout: 1_800_000 }, async (name, { expect }) => {
    const { code, broken, text } = await inTurn(() => run([name, '--scale', 'ci', '--json']))
    expect(broken, text).toEqual([])
    expect(code, text).toBe(0)
  })
})

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
    env: { ...process.env, PROOF_POSTGRES_URL: url },
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
  // Written by prove.ts with --json.
  return JSON.parse(text) as Line
}
