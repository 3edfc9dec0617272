// The package as its users get it: packed, installed in a fresh folder, compiled against, and with a channel of their own.
import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { cp, mkdir, mkdtemp, readdir, rm, symlink, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, inject, test } from 'vitest'
import { checkoutRoot } from '../../architecture/source-tree.ts'
import { takeDatabase } from '../../setup/pooled-database.ts'

const run = promisify(execFile)
let folder: string
const children = new Set<ChildProcess>()
const closing: (() => Promise<unknown>)[] = []

/** Types of Node and of Cloudflare come from the checkout, whose versions are pinned; all else from the tarball. */
const linked = ['@types/node', 'undici-types', '@cloudflare/workers-types']

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'parley-installed-'))
  await run(process.execPath, [join(checkoutRoot, 'scripts', 'build-types.js')])
  await run('npm', ['pack', '--ignore-scripts', '--pack-destination', folder], { cwd: checkoutRoot })
  const tarball = (await readdir(folder)).find((name) => /^parley-gateway-.*\.tgz$/.test(name)) ?? ''
  await cp(join(checkoutRoot, 'examples', 'custom-adapter'), folder, {
    recursive: true,
    filter: (path) => !path.includes('node_modules'),
  })
  await run(
    'npm',
    ['install', `./${tarball}`, '--prefer-offline', '--omit=optional', '--ignore-scripts', '--no-audit', '--no-fund'],
    { cwd: folder },
  )
  for (const name of linked) {
    await mkdir(join(folder, 'node_modules', name, '..'), { recursive: true })
    await symlink(join(checkoutRoot, 'node_modules', name), join(folder, 'node_modules', name)).catch(() => {})
  }
}, 400_000)

afterAll(async () => {
  for (const child of children) child.kill('SIGKILL')
  for (const close of closing) await close()
  await rm(folder, { recursive: true, force: true, maxRetries: 10 })
}, 60_000)

const everyEntry = `
import { defineAgent, defineConfig, slack, textOf, type ChannelDefinition, type NormalizedMessage } from 'parley-gateway'
import { createClient } from 'parley-gateway/client'
import { adapterContract, type AdapterFixtures } from 'parley-gateway/testing'
const agent = defineAgent({ slug: 'a', run: (message, context) => { const said: string = textOf(message.parts); return context.principal + said } })
export const config = defineConfig({ agents: [agent], connections: [slack({ botToken: 'x', signingSecret: 'y' })] })
// @ts-expect-error a key that is misspelt
export const wrong = defineConfig({ agent })
export type Used = [AdapterFixtures, ChannelDefinition, NormalizedMessage, typeof adapterContract, typeof createClient]
`
const worker = `import { createWorker } from 'parley-gateway/worker'\nexport const made = createWorker({})\n`

test.each([
  ['bundler', 'esnext'],
  ['nodenext', 'nodenext'],
] as const)(
  'its types hold under moduleResolution %s, and every file of them',
  async (moduleResolution, module) => {
    const shared = { module, moduleResolution, target: 'es2024', strict: true, noEmit: true, skipLibCheck: false }
    const programs = [
      ['every-entry.ts', everyEntry, { ...shared, types: ['node'] }],
      ['worker-entry.ts', worker, { ...shared, lib: ['es2024'], types: ['@cloudflare/workers-types'] }],
    ] as const
    for (const [name, text, compilerOptions] of programs) {
      await writeFile(join(folder, name), text)
      const project = join(folder, `${moduleResolution}-${name}.json`)
      await writeFile(project, JSON.stringify({ compilerOptions, files: [name] }))
      await compile(project)
    }
  },
  120_000,
)

async function compile(project: string): Promise<void> {
  const tsc = join(checkoutRoot, 'node_modules', 'typescript', 'bin', 'tsc')
  const said = await run(process.execPath, [tsc, '-p', project], { cwd: folder }).catch(
    (error: { readonly stdout?: string }) => ({ stdout: error.stdout ?? String(error) }),
  )
  expect(said.stdout).toBe('')
}

test('a channel of another package compiles, and keeps the contract', async () => {
  await compile(join(folder, 'tsconfig.json'))
  const { stdout } = await run(process.execPath, ['--test', 'test/kit.test.ts'], { cwd: folder }).catch(
    (error: { readonly stdout?: string }) => ({ stdout: error.stdout ?? String(error) }),
  )
  expect(stdout).toMatch(/pass \d{2}/)
  expect(stdout).toMatch(/fail 0/)
}, 120_000)

type Posted = { readonly path: string; readonly body: { readonly content: string } }

test('it answers what is signed, once, and turns away what is forged', async () => {
  const posted: Posted[] = []
  const platform = createServer((request, response) => {
    let text = ''
    request.on('data', (chunk: Buffer) => {
      text += chunk.toString()
    })
    request.on('end', () => {
      if (request.method === 'POST') posted.push({ path: request.url ?? '', body: JSON.parse(text) })
      response.setHeader('content-type', 'application/json').end(JSON.stringify({ id: String(posted.length) }))
    })
  })
  await new Promise<void>((resolve) => platform.listen(0, '127.0.0.1', resolve))
  closing.push(async () => platform.close())
  const { keyPair, signedHeaders, slashCommand } = (await import(
    /* @vite-ignore */ join(folder, 'test', 'fixtures.ts')
  )) as Fixtures
  const [own, forger] = [await keyPair(), await keyPair()]
  const origin = await startGateway({
    DISCORD_APPLICATION_ID: '900000000000000001',
    DISCORD_PUBLIC_KEY: own.publicKey,
    DISCORD_BOT_TOKEN: 'a.bot.token.of.the.test.at.hand',
    DISCORD_API_ROOT: `http://127.0.0.1:${(platform.address() as AddressInfo).port}`,
  })
  const send = async (key: CryptoKey, payload: unknown): Promise<Response> => {
    const body = new TextEncoder().encode(JSON.stringify(payload))
    const headers = await signedHeaders(key, body, Date.now())
    return fetch(`${origin}/hooks/discord/default`, { method: 'POST', headers, body })
  }
  const ping = await send(own.privateKey, { id: '1', application_id: '900000000000000001', type: 1, token: 'x' })
  expect([ping.status, await ping.json()]).toEqual([200, { type: 1 }])
  const command = slashCommand('1001', 'hello *there*')
  expect((await send(forger.privateKey, command)).status).toBe(401)
  const accepted = await send(own.privateKey, command)
  expect([accepted.status, await accepted.json()]).toEqual([200, { type: 5 }])
  await expect.poll(() => posted.length, { timeout: 20_000 }).toBe(1)
  expect((await send(own.privateKey, command)).status).toBe(200)
  await send(own.privateKey, slashCommand('1002', 'and again'))
  await expect.poll(() => posted.length, { timeout: 20_000 }).toBe(2)
  expect(posted.map(({ path }) => path.split('?')[0])).toEqual([
    '/webhooks/900000000000000001/token-of-1001',
    '/webhooks/900000000000000001/token-of-1002',
  ])
  expect(posted[0]?.body.content).toContain('You said')
}, 180_000)

type Fixtures = {
  readonly keyPair: () => Promise<{ readonly publicKey: string; readonly privateKey: CryptoKey }>
  readonly signedHeaders: (key: CryptoKey, bytes: Uint8Array, atMs: number) => Promise<Record<string, string>>
  readonly slashCommand: (id: string, text: string) => unknown
}

/** The installed program, with the configuration of the example. */
async function startGateway(env: Readonly<Record<string, string>>): Promise<string> {
  const taken = await takeDatabase(inject('postgres').url)
  closing.push(() => taken.drop())
  const child = spawn(join(folder, 'node_modules', '.bin', 'parley'), ['start', '--log-level', 'warn'], {
    cwd: folder,
    env: {
      PATH: process.env['PATH'] ?? '',
      HOME: process.env['HOME'] ?? '',
      DATABASE_URL: taken.url,
      PARLEY_DATA_DIR: join(folder, 'data'),
      PARLEY_PORT: '0',
      EMAIL_CHANNEL: 'off',
      A2A_CHANNEL: 'off',
      ...env,
    },
  })
  children.add(child)
  let output = ''
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (chunk: Buffer) => {
      output += chunk.toString()
    })
  await expect
    .poll(() => /Parley is up at (\S+)/.test(output) || child.exitCode !== null, { timeout: 90_000 })
    .toBe(true)
  return /Parley is up at (\S+)/.exec(output)?.[1] ?? expect.unreachable(output)
}
