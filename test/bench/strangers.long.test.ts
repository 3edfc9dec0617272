// The bench `strangers` at its smaller scale: how the work of strangers grows is judged, how fast this machine is, is not.
import { spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'

const script = fileURLToPath(new URL('../../bench/run.js', import.meta.url))

test('whatever shape a stranger sends, twice the bytes cost about twice as much and /healthz answers meanwhile', {
  timeout: 600_000,
}, async () => {
  const { output, complaint } = await run(['strangers', '--scale', 'ci', '--json'])
  // Before them the program may say that it is built.
  const lines: Record<string, unknown>[] = output
    .split('\n')
    .filter((line) => line.startsWith('{'))
    .map((line) => JSON.parse(line))
  expect(lines.filter((line) => line['type'] === 'sample').length, complaint).toBeGreaterThanOrEqual(40)
  const verdicts = lines.filter((line) => line['type'] === 'verdict')
  expect(verdicts.length).toBeGreaterThan(0)
  expect(verdicts.filter((line) => line['isMet'] !== true)).toEqual([])
})

function run(args: readonly string[]): Promise<{ readonly output: string; readonly complaint: string }> {
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, [script, ...args], { stdio: ['ignore', 'pipe', 'pipe'] })
    let [output, complaint] = ['', '']
    child.stdout.on('data', (chunk: Buffer) => {
      output += chunk.toString('utf8')
    })
    child.stderr.on('data', (chunk: Buffer) => {
      complaint += chunk.toString('utf8')
    })
    child.on('error', reject)
    child.on('close', () => resolve({ output, complaint }))
  })
}
