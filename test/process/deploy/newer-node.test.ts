// A machine whose Node is too old: a newer one is fetched once, from a registry that these tests run, and does the work.
import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { checkoutRoot } from '../../architecture/source-tree.ts'

const scratch = mkdtempSync(join(tmpdir(), 'parley-newer-node-'))
const timeoutMs = 60_000
// Makes this Node look old to the launcher, and not to the program that it starts.
const pretendOld = `if (process.env.PARLEY_RELAUNCHED !== '1') Object.defineProperty(process, 'versions', { value: { ...process.versions, node: '20.20.2' } })`

type Ended = { readonly code: number | null; readonly stdout: string; readonly stderr: string }
type Registry = { readonly url: string; readonly tarballs: () => number; readonly close: () => Promise<void> }

const nodeProgram = `#!/bin/sh\nexec "${process.execPath}" "$@"\n`

/** Every platform's package in every version is the same here: a script that runs this Node. */
function packNode(): Buffer {
  const folder = join(scratch, 'package')
  mkdirSync(join(folder, 'bin'), { recursive: true })
  writeFileSync(join(folder, 'package.json'), JSON.stringify({ name: 'any-node', version: '24.21.0' }))
  writeFileSync(join(folder, 'bin', 'node'), nodeProgram, { mode: 0o755 })
  const pack = ['pack', '--silent', '--pack-destination', scratch]
  execFileSync('npm', pack, { cwd: folder })
  return readFileSync(join(scratch, 'any-node-24.21.0.tgz'))
}

async function startRegistry(tarball: Buffer): Promise<Registry> {
  let tarballs = 0
  const server: Server = createServer((request, response) => {
    const path = request.url ?? '/'
    if (path.endsWith('.tgz')) {
      tarballs += 1
      response.end(tarball)
      return
    }
    const name = decodeURIComponent(path.slice(1))
    const url = `http://${request.headers.host}/${name}.tgz`
    const dist = { tarball: url, integrity: hashOf(tarball) }
    const versions = Object.fromEntries(
      ['24.21.0', '24.18.1', '22.23.2'].map((version) => [version, { name, version, dist }]),
    )
    response.setHeader('content-type', 'application/json')
    response.end(JSON.stringify({ name, 'dist-tags': { latest: '24.21.0' }, versions }))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  const port = typeof address === 'object' && address !== null ? address.port : 0
  return {
    url: `http://127.0.0.1:${port}/`,
    tarballs: () => tarballs,
    close: () =>
      new Promise((resolve) => {
        server.closeAllConnections()
        server.close(() => resolve())
      }),
  }
}

function hashOf(bytes: Buffer): string {
  return `sha512-${createHash('sha512').update(bytes).digest('base64')}`
}

describe('on a Node that is too old', () => {
  let tarball: Buffer
  let registry: Registry
  let checkout: string
  const children = new Set<ChildProcess>()

  beforeAll(() => {
    tarball = packNode()
  }, timeoutMs)
  beforeEach(async () => {
    registry = await startRegistry(tarball)
    checkout = createCheckout(hashOf(tarball))
  })
  afterEach(async () => {
    for (const child of children) child.kill('SIGKILL')
    await registry.close()
  })
  afterAll(() => rmSync(scratch, { recursive: true, force: true }))

  /** The launcher beside a program that says what runs it; `integrity` stands for the pinned hashes. */
  function createCheckout(integrity: string): string {
    const folder = mkdtempSync(join(scratch, 'checkout-'))
    cpSync(join(checkoutRoot, 'bin'), join(folder, 'bin'), { recursive: true })
    mkdirSync(join(folder, 'node_modules'))
    writeFileSync(join(folder, 'package.json'), JSON.stringify({ type: 'module' }))
    const launcher = join(folder, 'bin', 'fetch-node.js')
    const pinned = readFileSync(launcher, 'utf8')
      .replace(/sha512-[\w+/=]+/g, integrity)
      .replace(/(program: ')[0-9a-f]{64}/g, `$1${createHash('sha256').update(nodeProgram).digest('hex')}`)
    writeFileSync(launcher, pinned)
    writeFileSync(
      join(folder, 'program.js'),
      `import { onModernNode } from './bin/modern-node.js'
await onModernNode(async () => {
  if (process.argv[2] === 'wait') {
    process.on('SIGTERM', () => process.exit(5))
    setInterval(() => {}, 1000)
  }
  console.log('pid ' + process.pid + ' on ' + process.versions.node)
  process.exitCode = 7
})`,
    )
    return folder
  }

  function launch(...words: readonly string[]): ChildProcess {
    const old = `data:text/javascript,${encodeURIComponent(pretendOld)}`
    const child = spawn(process.execPath, ['--import', old, join(checkout, 'program.js'), ...words], {
      env: {
        PATH: process.env['PATH'] ?? '',
        HOME: checkout,
        npm_config_registry: registry.url,
        npm_config_cache: join(checkout, 'npm-cache'),
        // What must not switch the check of the hash off.
        npm_config_package_lock: 'false',
      },
    })
    children.add(child)
    return child
  }

  function ended(child: ChildProcess): Promise<Ended> {
    let stdout = ''
    let stderr = ''
    child.stdout?.on('data', (chunk: Buffer) => {
      stdout += chunk.toString()
    })
    child.stderr?.on('data', (chunk: Buffer) => {
      stderr += chunk.toString()
    })
    return new Promise((resolve) => child.on('close', (code) => resolve({ code, stdout, stderr })))
  }

  const firstOutput = (child: ChildProcess): Promise<string> =>
    new Promise((resolve) => child.stdout?.once('data', (chunk: Buffer) => resolve(chunk.toString())))
  const cached = (): readonly string[] => readdirSync(join(checkout, 'node_modules', '.cache', 'parley'))

  test('a newer one is fetched once and runs the program, whose exit code is passed on', {
    timeout: timeoutMs,
  }, async () => {
    const first = await ended(launch())
    expect(first.stderr).toMatch(/^Node 20\.20\.2 is too old for Parley; fetching Node \S+, once \(\d+ MB\) …\n$/)
    expect(first).toMatchObject({ code: 7, stdout: expect.stringContaining(`on ${process.versions.node}`) })
    expect(await ended(launch())).toMatchObject({ code: 7, stderr: '' })
    expect(registry.tarballs()).toBe(1)
  })

  test('two first runs at the same time both succeed and leave one Node', { timeout: timeoutMs }, async () => {
    const both = await Promise.all([ended(launch()), ended(launch())])
    expect(both.map(({ code }) => code)).toEqual([7, 7])
    expect(cached()).toHaveLength(1)
  })

  test('a package whose hash is not the pinned one is refused and leaves nothing', { timeout: timeoutMs }, async () => {
    checkout = createCheckout(hashOf(Buffer.from('another package')))
    const { code, stdout, stderr } = await ended(launch())
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' })
    expect(stderr).toMatch(/could not be fetched: EINTEGRITY\. Install it from https:\/\/nodejs\.org/)
    expect(cached()).toEqual([])
  })

  test('a program that was changed since it was fetched is not started', { timeout: timeoutMs }, async () => {
    expect(await ended(launch())).toMatchObject({ code: 7 })
    const [folder = ''] = cached()
    const kept = join(checkout, 'node_modules', '.cache', 'parley', folder, 'node_modules')
    const [name = ''] = readdirSync(kept).filter((each) => !each.startsWith('.'))
    writeFileSync(join(kept, name, 'bin', 'node'), '#!/bin/sh\necho canary\n', { mode: 0o755 })
    const { code, stdout, stderr } = await ended(launch())
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' })
    expect(stderr).toMatch(/its hash is another\): remove its folder/)
  })

  test('no network gives one line with the way out', { timeout: timeoutMs }, async () => {
    await registry.close()
    const { code, stderr } = await ended(launch())
    expect(code).toBe(1)
    expect(stderr.trim().split('\n').slice(1)).toEqual([
      expect.stringMatching(
        /^Parley needs Node 22\.19 or newer, this is 20\.20\.2, .*ECONNREFUSED.*https:\/\/nodejs\.org/,
      ),
    ])
    expect(cached()).toEqual([])
  })

  test('SIGTERM reaches the program, and kill -9 of the launcher ends it too', { timeout: timeoutMs }, async () => {
    const first = launch('wait')
    await firstOutput(first)
    first.kill('SIGTERM')
    expect(await ended(first)).toMatchObject({ code: 5 })

    const second = launch('wait')
    const pid = Number(/pid (\d+)/.exec(await firstOutput(second))?.[1])
    expect(pid).toBeGreaterThan(0)
    second.kill('SIGKILL')
    await expect.poll(() => isRunning(pid), { timeout: 5000 }).toBe(false)
  })
})

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch {
    return false
  }
}
