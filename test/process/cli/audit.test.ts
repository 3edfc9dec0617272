// `parley audit`, as built: decisions listed and followed, what was turned away, and weak settings with an exit code.
import { spawn } from 'node:child_process'
import { chmod } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Finding } from '../../../src/api/audit-config/finding.ts'
import type { AuditEntry } from '../../../src/db/audit.ts'
import type { Rejection } from '../../../src/identity/rejected-requests.ts'
import { createHome, type Home, type Running, until } from './parley.ts'

const bin = fileURLToPath(new URL('../../../bin/parley.js', import.meta.url))
type Lines = { readonly lines: readonly AuditEntry[]; readonly next: number | null }
type Findings = { readonly findings: readonly Finding[] }

describe('parley audit', () => {
  let home: Home
  let gateway: Running
  const list = async (...words: string[]) => (await home.json(['audit', ...words])) as Lines
  const admitted = (count: number) =>
    until(60_000, async () => {
      const { lines } = (await gateway.admin('/admin/audit?action=message.admit')) as Lines
      return lines.length === count ? lines : undefined
    })

  beforeAll(async () => {
    home = await createHome()
    gateway = await home.start()
    await gateway.say('good day')
    await admitted(1)
  }, 240_000)
  afterAll(async () => {
    await home.close()
  }, 60_000)

  test('alone lists decisions as a table: when, who, what, outcome, rule, evidence', async () => {
    const { code, stdout } = await home.parley(['audit'])
    expect(code).toBe(0)
    expect(stdout).toMatch(/^SEQ +TIME +WHO +ABOUT +WHAT +OUTCOME +RULE +EVIDENCE +WHERE +ID\n/)
    expect(stdout).toMatch(/ telegram:42 +- +message\.admit +admitted +allow_list +platform by \S+ +telegram\/default /)
    expect(await list('list')).toEqual(await list())
  })

  test('narrows, and refuses a flag or a time that is none', async () => {
    expect((await list('--principal', 'telegram:42', '--since', '1h')).lines).toHaveLength(1)
    expect((await list('--principal', 'telegram:43')).lines).toEqual([])
    expect((await list('--outcome', 'refused')).lines).toEqual([])
    expect(await home.parley(['audit', '--since', 'yesterday'])).toMatchObject({ code: 2 })
    expect(await home.parley(['audit', '--outcomes', 'x'])).toMatchObject({ code: 2 })
    expect(await home.parley(['audit', 'lists'])).toMatchObject({ code: 2 })
  })

  test('writes down what an operator does from the command line, under the token used', async () => {
    await home.json(['tokens', 'create', '--label', 'ci', '--expires', '1h'])
    expect((await list('--action', 'token')).lines).toMatchObject([
      { action: 'token.create', outcome: 'done', actor: 'operator:first token' },
    ])
  })

  test('follows what is decided from now on, each line once', async () => {
    const words = ['audit', '--action', 'message', '--follow', '--json']
    const child = spawn(process.execPath, [bin, ...words], { cwd: home.folder, env: home.env })
    let output = ''
    child.stdout.on('data', (chunk: Buffer) => {
      output += chunk.toString()
    })
    const seen = () => output.split('\n').filter((line) => line !== '')
    try {
      // It begins at the line that was the last when it looked: so something is said until it shows.
      const before = (await list('--action', 'message')).lines.length
      let said = 0
      await until(90_000, async () => {
        if (seen().length > 1) return true
        said += 1
        await gateway.say(`again ${said}`)
        await admitted(before + said)
        await new Promise((resolve) => setTimeout(resolve, 1_000))
        return undefined
      })
      const seqs = seen().map((line) => (JSON.parse(line) as AuditEntry).seq)
      expect(seqs).toEqual([...new Set(seqs)])
    } finally {
      child.kill('SIGKILL')
    }
  }, 180_000)

  test('shows what was turned away, and explains it by the trace in its answer', async () => {
    const answer = await fetch(`${gateway.url}/hooks/telegram/default`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'x-telegram-bot-api-secret-token': 'canary-wrong' },
      body: '{"canary":1}',
    })
    const trace = answer.headers.get('x-parley-trace') ?? ''
    const { rejected } = (await home.json(['audit', 'rejected'])) as { rejected: readonly Rejection[] }
    expect(rejected).toMatchObject([{ trace, connection: 'telegram/default', reason: 'wrong_credential' }])
    const { code, stdout } = await home.parley(['explain', trace])
    expect(code).toBe(0)
    expect(stdout).toMatch(/^Rejected: its credential is not the one that is configured \(wrong_credential\)\./)
    expect(stdout).toContain('What you can do')
    expect(JSON.stringify(rejected) + stdout).not.toContain('canary')
  })

  test('config: of the running gateway, exit code 1 where something is critical', async () => {
    const first = await home.parley(['audit', 'config', '--json'])
    const { findings } = JSON.parse(first.stdout) as Findings
    // Telegram comes in from outside, and no public URL says that callers on the port may, too.
    expect(first.code).toBe(1)
    expect(findings.map(({ id }) => id)).toEqual(['AC-106', 'AC-001', 'AC-001', 'AC-001', 'AC-103'])
    const env = { PARLEY_PUBLIC_URL: 'https://bot.example' }
    expect((await home.parley(['audit', 'config', '--files'], env)).code).toBe(0)
    await chmod(join(home.folder, 'data'), 0o755)
    const second = await home.parley(['audit', 'config'])
    await chmod(join(home.folder, 'data'), 0o700)
    expect(second.code).toBe(1)
    expect(second.stdout).toMatch(
      /^AC-304 {2}critical {2}PARLEY_DATA_DIR\n {8}the folder .*\(mode 755\)\n {8}do: chmod 700 it\n/m,
    )
  })

  test('config --files: before there is a gateway, from the file and the environment', async () => {
    const env = { PARLEY_DATA_DIR: join(home.folder, 'nowhere'), PARLEY_HOST: '0.0.0.0', PARLEY_METRICS: 'public' }
    const { code, stdout } = await home.parley(['audit', 'config', '--files', '--json'], env)
    const { findings } = JSON.parse(stdout) as Findings
    expect(code).toBe(1)
    expect(findings.map(({ id }) => id)).toEqual(['AC-101', 'AC-102', 'AC-001', 'AC-001', 'AC-001', 'AC-103'])
  })
})
