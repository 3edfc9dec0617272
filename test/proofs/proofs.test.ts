// The proofs at ci scale, through the same command a person uses; the figures of record come from full scale.
import { spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { beforeAll, describe, expect, inject, test } from 'vitest'
import type { DatabaseKind, Line } from './proof.ts'

const names = [
  ...['loss', 'steps', 'burst', 'replicas', 'long', 'flood', 'outage', 'upgrade', 'approval', 'cancel'],
  'a2a-resume',
  'a2a-hops',
  'mail',
  'fediverse',
]
const databases: readonly DatabaseKind[] = ['pglite', 'postgres']
const script = fileURLToPath(new URL('../../scripts/prove.js', import.meta.url))

type Outcome = { readonly code: number; readonly broken: readonly Line[]; readonly text: string }

const outcomes = new Map<string, Promise<Outcome>>()

beforeAll(async () => {
  // Builds the bundles once, before two runs would do it at the same time.
  await run(['--help'])
  for (const database of databases) {
    let previous: Promise<unknown> = Promise.resolve()
    for (const name of names) {
      const args = [name, '--scale', 'ci', '--database', database, '--json']
      const outcome = previous.then(() => run(args))
      outcomes.set(`${name} ${database}`, outcome)
      previous = outcome
    }
  }
}, 30_000)

for (const database of databases) {
  const { url, reason } = inject('postgres')
  const isMissing = database === 'postgres' && url === ''
  describe.skipIf(isMissing)(`proofs on ${database}${isMissing ? ` (${reason})` : ''}`, () => {
    test.for(names)('%s holds', { timeout: 900_000 }, async (name) => {
      const outcome = await outcomes.get(`${name} ${database}`)
      expect(outcome?.broken, outcome?.text).toEqual([])
      expect(outcome?.code, outcome?.text).toBe(0)
    })
  })
}

function run(args: readonly string[]): Promise<Outcome> {
  const child = spawn(process.execPath, [script, ...args], {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...process.env, PROOF_POSTGRES_URL: inject('postgres').url },
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
