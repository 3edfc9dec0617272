// The bench through the command a person uses. Speed is not asserted: this machine may be doing anything meanwhile.
import { spawn } from 'node:child_process'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'

const script = fileURLToPath(new URL('../../bench/run.js', import.meta.url))

describe('npm run bench', () => {
  test('measures the floor and the gateway without its commit, as JSON lines', { timeout: 120_000 }, async () => {
    const args = ['accept', '--rounds', '1', '--seconds', '0.2', '--subjects', 'floor,noop', '--json']
    const { code, output, complaint } = await run(args)
    expect(code, complaint).toBe(0)
    const lines: Record<string, unknown>[] = output
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line))
    const samples = lines.filter((line) => line['type'] === 'sample')
    expect(samples.map(({ subject, connections }) => [subject, connections])).toEqual([
      ['floor', 32],
      ['noop', 32],
      ['floor', 1],
      ['noop', 1],
    ])
    for (const each of samples) {
      expect(each['requests']).toBeGreaterThan(0)
      expect(each['cpuMicrosPerRequest']).toBeGreaterThan(0)
    }
    expect(lines.filter((line) => line['type'] === 'verdict').map((line) => line['subject'])).toEqual(['noop'])
  })

  test('measures the loop beside the bare loop of the AI SDK, as JSON lines', { timeout: 120_000 }, async () => {
    const { code, output, complaint } = await run(['loop', '--rounds', '1', '--subjects', 'alone', '--json'])
    expect(code, complaint).toBe(0)
    const lines: Record<string, unknown>[] = output
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line))
    const samples = lines.filter((line) => line['type'] === 'sample')
    expect(samples.map(({ subject }) => subject)).toEqual(['sdk', 'loop', 'sdk-tools', 'loop-tools'])
  })

  test('measures what a decision costs, and judges it at a thousand rules', { timeout: 120_000 }, async () => {
    const { code, output, complaint } = await run(['policy', '--rounds', '1', '--json'])
    expect(code, complaint).toBe(0)
    const lines: Record<string, unknown>[] = output
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line))
    const samples = lines.filter((line) => line['type'] === 'sample')
    expect(samples.map(({ subject }) => subject)).toEqual(['1000 rules', '10000 rules', '100000 rules'])
    for (const each of samples) expect(each['cpuMicrosPerDecision']).toBeGreaterThan(0)
    expect(lines.filter((line) => line['type'] === 'verdict')).toMatchObject([{ subject: '1000 rules', aim: 50 }])
  })

  test('measures answered messages beside a reference, and none is lost or doubled', { timeout: 120_000 }, async () => {
    const folder = await mkdtemp(join(tmpdir(), 'parley-bench-chart-'))
    try {
      const chart = join(folder, 'journey.svg')
      const limits = ['--scale', 'ci', '--json', '--chart', chart]
      const { code, output, complaint } = await run(['journey', ...limits, '--subjects', 'parley,full'])
      expect(code, complaint).toBe(0)
      const lines: Record<string, unknown>[] = output
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line))
      const samples = lines.filter((line) => line['type'] === 'sample')
      expect(samples.map(({ subject, load }) => [subject, load])).toEqual(
        ['32', '1', '8/s'].flatMap((load) => ['parley', 'full'].map((subject) => [subject, load])),
      )
      for (const each of samples) {
        expect(each['gatewayMicros']).toBeGreaterThan(0)
        expect(each['databaseMicros']).toBeGreaterThan(0)
        expect(each['statements']).toBeGreaterThan(0)
      }
      expect(await readFile(chart, 'utf8')).toContain('>parley<')
    } finally {
      await rm(folder, { recursive: true })
    }
  })

  test('measures rendering beside the renderers of others', { timeout: 300_000 }, async ({ skip }) => {
    const subjects = ['parse', 'mrkdwn', 'slackify-markdown']
    const { code, output, complaint } = await run([
      'render',
      '--rounds',
      '1',
      '--json',
      '--subjects',
      subjects.join(','),
    ])
    if (code === 3) skip(complaint)
    expect(code, complaint).toBe(0)
    const lines: Record<string, unknown>[] = output
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line))
    const samples = lines.filter((line) => line['type'] === 'sample')
    expect(samples.map(({ subject }) => subject)).toEqual(subjects)
    for (const each of samples) expect(each['cpuMicrosPerKb']).toBeGreaterThan(0)
    expect(lines.filter((line) => line['type'] === 'verdict')).toMatchObject([{ subject: 'mrkdwn', aim: 1 }])
  })

  test.for([
    ['telegram', 'grammy'],
    ['slack', 'bolt'],
    ['activitypub', 'fedify'],
  ] as const)(
    'measures taking %s in beside a library that keeps nothing',
    { timeout: 300_000 },
    async ([scenario, rival], { skip }) => {
      const limits = ['--rounds', '1', '--seconds', '0.2', '--json']
      const { code, output, complaint } = await run([scenario, ...limits, '--subjects', `${rival},noop`])
      if (code === 3) skip(complaint)
      expect(code, complaint).toBe(0)
      const lines: Record<string, unknown>[] = output
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line))
      const ran = lines.filter((line) => line['type'] === 'sample')
      expect(ran.map(({ subject, connections }) => [subject, connections])).toEqual([
        [rival, 32],
        ['noop', 32],
        [rival, 1],
        ['noop', 1],
      ])
      for (const each of ran) expect(each['cpuMicrosPerRequest']).toBeGreaterThan(0)
    },
  )

  test.each([
    [
      ['nonsense'],
      'name one scenario: a2a, accept, activitypub, email, journey, loop, policy, render, slack, strangers, telegram',
    ],
    [['loop', '--subjects', 'floor'], 'no subject "floor"; there are alone, postgres'],
    [['accept', '--subjects', 'floor,rocket'], 'no subject "rocket"'],
    [['accept', '--rounds', '0'], '--rounds must be a whole number from 1 to 50'],
    [['accept', '--seconds', '3600'], '--seconds must be a number from 0.2 to 30'],
    [['strangers', '--scale', 'huge'], '--scale must be ci or full'],
    [['journey', '--subjects', 'noop'], 'no subject "noop"; there are parley, bare, full'],
    [['accept', '--check', '--subjects', 'noop'], '--check needs the floor'],
  ])('refuses %j and says what to write', { timeout: 60_000 }, async (args, complaint) => {
    const refused = await run(args)
    expect(refused.code).toBe(2)
    expect(refused.complaint).toContain(complaint)
  })
})

type Ended = { readonly code: number | null; readonly output: string; readonly complaint: string }

function run(args: readonly string[]): Promise<Ended> {
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, [script, ...args], { stdio: ['ignore', 'pipe', 'pipe'] })
    let output = ''
    let complaint = ''
    child.stdout.on('data', (chunk: Buffer) => {
      output += chunk.toString('utf8')
    })
    child.stderr.on('data', (chunk: Buffer) => {
      complaint += chunk.toString('utf8')
    })
    child.on('error', reject)
    child.on('close', (code) => resolve({ code, output, complaint }))
  })
}
